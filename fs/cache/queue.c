#include "fs/cache/queue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/evict.h"
#include "kernels/base/container_of.h"
#include "kernels/base/lock.h"

/* Items of one list for the engine. With lists it sees a batch where there is one, and it begins
 * before all of a large batch is staged. */
#define LIST_MOST 256u

struct bale_queue {
    struct bale_volume *volume;
    atomic_size_t limit;       /* bytes */
    atomic_size_t staged;      /* bytes, also those that a thread tries to stage just now */
    atomic_size_t decoding;    /* raw bytes of decodes that have their staging */
    atomic_size_t waits;       /* items that wait or are about to */
    pthread_mutex_t lock;      /* guards the rest, but for the users' bytes */
    struct bale_turns waiting; /* use: bytes staged */
};

enum staging {
    STAGED,
    LATER, /* other items are staged: releasing them pumps again */
    NEVER  /* nothing is staged, so nothing would pump again */
};

int bale_queue_create(struct bale_volume *volume, struct bale_queue **out)
{
    struct bale_queue *queue = calloc(1, sizeof *queue);

    if (!queue)
        return BALE_E_NOMEM;
    queue->volume = volume;
    bale_queue_set_limit(queue);
    bale_short_lock_init(&queue->lock);
    *out = queue;
    return BALE_OK;
}

void bale_queue_set_limit(struct bale_queue *queue)
{
    atomic_store(&queue->limit, (size_t)(bale_memory_cap(queue->volume->memory) / 4));
}

void bale_queue_destroy(struct bale_queue *queue)
{
    if (queue) {
        pthread_mutex_destroy(&queue->lock);
        free(queue);
    }
}

/* Counts the item's staging as the user's, or (-1) no longer. */
static void count_staged(struct bale_queue *queue, const struct bale_queue_item *item, int sign)
{
    bale_turns_use(&queue->waiting, item->item.turn.user, sign * (int64_t)item->item.capacity);
}

static void pump(struct bale_queue *queue);

/* A device may still write to the item's staging, which is in the arena: encodes the item again
 * into other staging, before the items that wait. */
static void encode_again(struct bale_queue_item *item)
{
    struct bale_queue *queue = item->queue;

    bale_memory_quarantine(queue->volume->memory, item->item.stored, item->item.capacity);
    item->item.stored = NULL;
    atomic_fetch_sub(&queue->staged, item->item.capacity);
    atomic_fetch_add(&queue->waits, 1);
    pthread_mutex_lock(&queue->lock);
    count_staged(queue, item, -1);
    bale_turns_add_head(&queue->waiting, &item->item.turn);
    pthread_mutex_unlock(&queue->lock);
    pump(queue);
}

static void item_engine_done(struct bale_item *engine_item)
{
    struct bale_queue_item *item = engine_item->owner;

    if (engine_item->kind == BALE_ITEM_ENCODE && engine_item->status == BALE_E_QUARANTINED)
        encode_again(item);
    else
        item->done(item);
}

static struct bale_item *for_engine(struct bale_queue_item *item)
{
    item->item.owner = item;
    item->item.done = item_engine_done;
    item->item.next = NULL;
    return &item->item;
}

/* While nothing is staged, one item may exceed the limit, and use the heap if the arena is full or
 * fragmented: it could never run otherwise. A caller that does not get STAGED must pump: what it
 * counted in staged meanwhile may have made another caller get LATER. */
static enum staging stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length)
{
    size_t before = atomic_fetch_add(&queue->staged, length);

    item->item.stored = NULL;
    item->heap = false;
    if (before == 0)
        item->item.stored = bale_cache_allocate_or_heap(queue->volume, length, &item->heap);
    else if (before + length <= queue->limit)
        item->item.stored = bale_cache_allocate(queue->volume, length, NULL);
    if (!item->item.stored) {
        size_t left = atomic_fetch_sub(&queue->staged, length) - length;
        return before == 0 && left == 0 ? NEVER : LATER;
    }
    item->queue = queue;
    item->item.capacity = length;
    return STAGED;
}

/* Items that wait come first. If a device hangs, it keeps the memory of the decodes under way:
 * because of their limit, that is not most of the memory. */
int bale_queue_stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length,
                     size_t raw)
{
    bool little = atomic_fetch_add(&queue->decoding, raw) + raw <= 2 * queue->limit;

    item->decoding = raw;
    if (little && atomic_load(&queue->waits) == 0) {
        if (stage(queue, item, length) == STAGED) {
            count_staged(queue, item, 1);
            return BALE_OK;
        }
        pump(queue);
    }
    atomic_fetch_sub(&queue->decoding, raw);
    return BALE_E_NOMEM;
}

/* The item that waits and comes next, or NULL. Under queue->lock. */
static struct bale_queue_item *next_waiting(struct bale_queue *queue)
{
    struct bale_turn *turn = bale_turns_next(&queue->waiting, false);

    return turn ? BALE_CONTAINER_OF(turn, struct bale_queue_item, item.turn) : NULL;
}

/* Under queue->lock. */
static void stop_waiting(struct bale_queue *queue, struct bale_queue_item *item)
{
    bale_turns_take(&queue->waiting, &item->item.turn);
    atomic_fetch_sub(&queue->waits, 1);
}

/* Returns a list of items that can be started. If it is empty, *stuck may be an item that never
 * can. Under queue->lock. */
static struct bale_item *stage_some(struct bale_queue *queue, struct bale_queue_item **stuck)
{
    struct bale_item *list = NULL, **end = &list;
    struct bale_queue_item *item;

    *stuck = NULL;
    for (unsigned i = 0; i < LIST_MOST && (item = next_waiting(queue)); i++) {
        const struct bale_frame *frame = &item->item.frame;
        enum staging how =
            stage(queue, item, bale_frame_bound(frame->raw_length, frame->chunk_log2));
        if (how == LATER)
            break;
        stop_waiting(queue, item);
        if (how == NEVER) {
            *stuck = item;
            break;
        }
        count_staged(queue, item, 1);
        *end = for_engine(item);
        end = &item->item.next;
    }
    return list;
}

/* Starts the items that can be; called whenever staging or memory becomes free. */
static void pump(struct bale_queue *queue)
{
    while (atomic_load(&queue->waits) > 0) {
        struct bale_queue_item *stuck;
        pthread_mutex_lock(&queue->lock);
        struct bale_item *list = stage_some(queue, &stuck);
        pthread_mutex_unlock(&queue->lock);
        if (list) {
            bale_engine_submit(queue->volume->engine, list);
        } else if (stuck) {
            stuck->queue = queue;
            stuck->item.status = BALE_E_NOMEM;
            stuck->done(stuck);
        } else {
            return;
        }
    }
}

void bale_queue_decode(struct bale_queue *queue, struct bale_queue_item *list)
{
    struct bale_item *items = NULL, **end = &items;

    for (; list; list = list->next) {
        *end = for_engine(list);
        end = &list->item.next;
    }
    bale_engine_submit(queue->volume->engine, items);
}

void bale_queue_encode(struct bale_queue *queue, struct bale_queue_item *list)
{
    size_t count = 0;

    for (struct bale_queue_item *item = list; item; item = item->next)
        count++;
    atomic_fetch_add(&queue->waits, count);
    pthread_mutex_lock(&queue->lock);
    for (; list; list = list->next) {
        list->item.stored = NULL;
        bale_turns_add(&queue->waiting, &list->item.turn);
    }
    pthread_mutex_unlock(&queue->lock);
    pump(queue);
}

void bale_queue_release(struct bale_queue_item *item)
{
    struct bale_queue *queue = item->queue;

    if (item->item.stored) {
        count_staged(queue, item, -1);
        bale_cache_free(queue->volume, item->item.stored, item->item.capacity, item->heap);
        atomic_fetch_sub(&queue->staged, item->item.capacity);
        atomic_fetch_sub(&queue->decoding, item->decoding);
    }
    pump(queue);
}
