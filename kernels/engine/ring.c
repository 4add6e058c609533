#include "kernels/engine/ring.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/container_of.h"

#define MEMORY ((size_t)512 << 20)
#define PAGE ((size_t)4096)

struct bale_ring {
    struct bale_engine *engine;
    pthread_mutex_t mutex; /* guards the entries' done; the rest is the user's thread's */
    pthread_cond_t wake;   /* an entry is done */
    unsigned first;        /* the oldest entry in use */
    unsigned used;
    unsigned count;
    bool lists; /* the memory is the caller's, and items are submitted in lists */
    struct bale_item *list, **end; /* started, but not submitted yet */
    struct bale_ring_entry entries[];
};

static void ring_item_done(struct bale_item *item)
{
    struct bale_ring *ring = item->owner;
    struct bale_ring_entry *entry = BALE_CONTAINER_OF(item, struct bale_ring_entry, item);

    /* Signals before it unlocks: after that the ring may be gone. */
    pthread_mutex_lock(&ring->mutex);
    entry->done = true;
    pthread_cond_signal(&ring->wake);
    pthread_mutex_unlock(&ring->mutex);
}

static struct bale_ring *create_ring(struct bale_engine *engine, unsigned count)
{
    struct bale_ring *ring = calloc(1, sizeof *ring + count * sizeof ring->entries[0]);

    if (!ring)
        return NULL;
    ring->engine = engine;
    ring->count = count;
    ring->end = &ring->list;
    pthread_mutex_init(&ring->mutex, NULL);
    pthread_cond_init(&ring->wake, NULL);
    return ring;
}

static bool allocate(uint8_t **memory, size_t size)
{
    *memory = size > 0 ? malloc(size) : NULL;
    return size == 0 || *memory;
}

int bale_ring_create(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                     struct bale_ring **out)
{
    struct bale_ring *ring = create_ring(engine, count);

    if (!ring)
        return BALE_E_NOMEM;
    for (unsigned i = 0; i < count; i++) {
        if (!allocate(&ring->entries[i].raw, raw) || !allocate(&ring->entries[i].stored, stored)) {
            bale_ring_destroy(ring);
            return BALE_E_NOMEM;
        }
    }
    *out = ring;
    return BALE_OK;
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

size_t bale_ring_room(unsigned count, size_t raw, size_t stored)
{
    return count * (whole_pages(raw) + whole_pages(stored));
}

int bale_ring_create_in(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                        void *memory, struct bale_ring **out)
{
    struct bale_ring *ring = create_ring(engine, count);
    uint8_t *at = memory;

    if (!ring)
        return BALE_E_NOMEM;
    ring->lists = true;
    for (unsigned i = 0; i < count; i++) {
        ring->entries[i].raw = at;
        ring->entries[i].stored = at + whole_pages(raw);
        at += bale_ring_room(1, raw, stored);
    }
    *out = ring;
    return BALE_OK;
}

void bale_ring_destroy(struct bale_ring *ring)
{
    if (!ring)
        return;
    while (bale_ring_wait(ring))
        bale_ring_release(ring);
    for (unsigned i = 0; i < ring->count && !ring->lists; i++) {
        free(ring->entries[i].raw);
        free(ring->entries[i].stored);
    }
    pthread_cond_destroy(&ring->wake);
    pthread_mutex_destroy(&ring->mutex);
    free(ring);
}

unsigned bale_ring_entry_count(unsigned threads, size_t bytes)
{
    size_t most = MEMORY / bytes;
    size_t count = 2 * (size_t)threads;

    count = count < most ? count : most;
    return count > 2 ? (unsigned)count : 2;
}

static struct bale_ring_entry *next_free(struct bale_ring *ring)
{
    return &ring->entries[(ring->first + ring->used) % ring->count];
}

struct bale_ring_entry *bale_ring_next(struct bale_ring *ring)
{
    struct bale_ring_entry *entry = next_free(ring);

    if (ring->used == ring->count)
        return NULL;
    entry->item =
        (struct bale_item){.priority = BALE_PRIORITY_NORMAL, .done = ring_item_done, .owner = ring};
    entry->done = false;
    return entry;
}

void bale_ring_start(struct bale_ring *ring)
{
    struct bale_ring_entry *entry = next_free(ring);

    ring->used++;
    if (!ring->lists) {
        bale_engine_submit(ring->engine, &entry->item);
        return;
    }
    *ring->end = &entry->item;
    ring->end = &entry->item.next;
}

void bale_ring_submit(struct bale_ring *ring)
{
    struct bale_item *list = ring->list;

    ring->list = NULL;
    ring->end = &ring->list;
    if (list)
        bale_engine_submit(ring->engine, list);
}

struct bale_ring_entry *bale_ring_done(struct bale_ring *ring, unsigned after)
{
    struct bale_ring_entry *entry = &ring->entries[(ring->first + after) % ring->count];

    if (after >= ring->used)
        return NULL;
    pthread_mutex_lock(&ring->mutex);
    bool done = entry->done;
    pthread_mutex_unlock(&ring->mutex);
    return done ? entry : NULL;
}

static void wait_for(struct bale_ring *ring, const struct bale_ring_entry *entry)
{
    pthread_mutex_lock(&ring->mutex);
    while (!entry->done)
        pthread_cond_wait(&ring->wake, &ring->mutex);
    pthread_mutex_unlock(&ring->mutex);
}

void bale_ring_redo(struct bale_ring *ring, struct bale_ring_entry *entry)
{
    entry->done = false;
    entry->item.next = NULL;
    bale_engine_submit(ring->engine, &entry->item);
    wait_for(ring, entry);
}

struct bale_ring_entry *bale_ring_wait(struct bale_ring *ring)
{
    struct bale_ring_entry *entry = &ring->entries[ring->first];

    if (ring->used == 0)
        return NULL;
    if (ring->list && !bale_ring_done(ring, 0))
        bale_ring_submit(ring);
    wait_for(ring, entry);
    return entry;
}

void bale_ring_release(struct bale_ring *ring)
{
    ring->first = (ring->first + 1) % ring->count;
    ring->used--;
}
