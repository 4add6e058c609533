#include "kernels/engine/ring.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"

#define MEMORY ((size_t)512 << 20)
#define PAGE ((size_t)4096)

struct bale_lanes {
    struct bale_engine *engine;
    pthread_mutex_t mutex; /* guards the lanes' done */
    pthread_cond_t wake;
    unsigned first; /* the oldest that is taken */
    unsigned taken;
    unsigned count;
    bool lists; /* items are given to the engine in lists, from memory that is not the ring's */
    struct bale_item *list, **end; /* started, but not submitted */
    struct bale_lane lanes[];
};

static void finish(struct bale_item *item)
{
    struct bale_lanes *lanes = item->owner;
    struct bale_lane *lane = (struct bale_lane *)item; /* its first member */

    /* Signalled before the mutex is left: after that the ring may be gone. */
    pthread_mutex_lock(&lanes->mutex);
    lane->done = true;
    pthread_cond_signal(&lanes->wake);
    pthread_mutex_unlock(&lanes->mutex);
}

static struct bale_lanes *make(struct bale_engine *engine, unsigned count)
{
    struct bale_lanes *lanes = calloc(1, sizeof *lanes + count * sizeof lanes->lanes[0]);

    if (!lanes)
        return NULL;
    lanes->engine = engine;
    lanes->count = count;
    lanes->end = &lanes->list;
    pthread_mutex_init(&lanes->mutex, NULL);
    pthread_cond_init(&lanes->wake, NULL);
    return lanes;
}

static bool allocate(uint8_t **memory, size_t size)
{
    *memory = size > 0 ? malloc(size) : NULL;
    return size == 0 || *memory;
}

int bale_lanes_create(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                      struct bale_lanes **out)
{
    struct bale_lanes *lanes = make(engine, count);

    if (!lanes)
        return BALE_E_NOMEM;
    for (unsigned i = 0; i < count; i++) {
        if (!allocate(&lanes->lanes[i].raw, raw) || !allocate(&lanes->lanes[i].stored, stored)) {
            bale_lanes_destroy(lanes);
            return BALE_E_NOMEM;
        }
    }
    *out = lanes;
    return BALE_OK;
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

size_t bale_lanes_room(unsigned count, size_t raw, size_t stored)
{
    return count * (whole_pages(raw) + whole_pages(stored));
}

int bale_lanes_create_in(struct bale_engine *engine, unsigned count, size_t raw, size_t stored,
                         void *memory, struct bale_lanes **out)
{
    struct bale_lanes *lanes = make(engine, count);
    uint8_t *at = memory;

    if (!lanes)
        return BALE_E_NOMEM;
    lanes->lists = true;
    for (unsigned i = 0; i < count; i++) {
        lanes->lanes[i].raw = at;
        lanes->lanes[i].stored = at + whole_pages(raw);
        at += bale_lanes_room(1, raw, stored);
    }
    *out = lanes;
    return BALE_OK;
}

void bale_lanes_destroy(struct bale_lanes *lanes)
{
    if (!lanes)
        return;
    while (bale_lanes_wait(lanes))
        bale_lanes_release(lanes);
    for (unsigned i = 0; i < lanes->count && !lanes->lists; i++) {
        free(lanes->lanes[i].raw);
        free(lanes->lanes[i].stored);
    }
    pthread_cond_destroy(&lanes->wake);
    pthread_mutex_destroy(&lanes->mutex);
    free(lanes);
}

unsigned bale_lanes_count(unsigned threads, size_t bytes)
{
    size_t most = MEMORY / bytes;
    size_t count = 2 * (size_t)threads;

    count = count < most ? count : most;
    return count > 2 ? (unsigned)count : 2;
}

static struct bale_lane *last(struct bale_lanes *lanes)
{
    return &lanes->lanes[(lanes->first + lanes->taken) % lanes->count];
}

struct bale_lane *bale_lanes_next(struct bale_lanes *lanes)
{
    struct bale_lane *lane = last(lanes);

    if (lanes->taken == lanes->count)
        return NULL;
    lane->item =
        (struct bale_item){.priority = BALE_PRIORITY_NORMAL, .done = finish, .owner = lanes};
    lane->done = false;
    return lane;
}

void bale_lanes_start(struct bale_lanes *lanes)
{
    struct bale_lane *lane = last(lanes);

    lanes->taken++;
    if (!lanes->lists) {
        bale_engine_submit(lanes->engine, &lane->item);
        return;
    }
    *lanes->end = &lane->item;
    lanes->end = &lane->item.next;
}

void bale_lanes_submit(struct bale_lanes *lanes)
{
    struct bale_item *list = lanes->list;

    lanes->list = NULL;
    lanes->end = &lanes->list;
    if (list)
        bale_engine_submit(lanes->engine, list);
}

struct bale_lane *bale_lanes_done(struct bale_lanes *lanes, unsigned after)
{
    struct bale_lane *lane = &lanes->lanes[(lanes->first + after) % lanes->count];

    if (after >= lanes->taken)
        return NULL;
    pthread_mutex_lock(&lanes->mutex);
    bool done = lane->done;
    pthread_mutex_unlock(&lanes->mutex);
    return done ? lane : NULL;
}

static void wait_for(struct bale_lanes *lanes, const struct bale_lane *lane)
{
    pthread_mutex_lock(&lanes->mutex);
    while (!lane->done)
        pthread_cond_wait(&lanes->wake, &lanes->mutex);
    pthread_mutex_unlock(&lanes->mutex);
}

void bale_lanes_again(struct bale_lanes *lanes, struct bale_lane *lane)
{
    lane->done = false;
    lane->item.next = NULL;
    bale_engine_submit(lanes->engine, &lane->item);
    wait_for(lanes, lane);
}

struct bale_lane *bale_lanes_wait(struct bale_lanes *lanes)
{
    struct bale_lane *lane = &lanes->lanes[lanes->first];

    if (lanes->taken == 0)
        return NULL;
    if (lanes->list && !bale_lanes_done(lanes, 0))
        bale_lanes_submit(lanes);
    wait_for(lanes, lane);
    return lane;
}

void bale_lanes_release(struct bale_lanes *lanes)
{
    lanes->first = (lanes->first + 1) % lanes->count;
    lanes->taken--;
}
