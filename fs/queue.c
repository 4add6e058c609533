#include "fs/queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/file_internal.h"

struct bale_queue {
    struct bale_volume *volume;
    pthread_mutex_t lock;
    size_t staged, limit; /* bytes */
    struct bale_queue_item *waiting, **waiting_end;
};

int bale_queue_create(struct bale_volume *volume, struct bale_queue **out)
{
    struct bale_queue *queue = calloc(1, sizeof *queue);
    if (!queue) {
        return BALE_E_NOMEM;
    }
    queue->volume = volume;
    queue->limit = (size_t)(bale_memory_cap(volume->memory) / 4);
    queue->waiting_end = &queue->waiting;
    pthread_mutex_init(&queue->lock, NULL);
    *out = queue;
    return BALE_OK;
}

void bale_queue_destroy(struct bale_queue *queue)
{
    if (queue) {
        pthread_mutex_destroy(&queue->lock);
        free(queue);
    }
}

static void run_done(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_queue_item *item =
        (struct bale_queue_item *)(void *)((char *)job - offsetof(struct bale_queue_item, job));
    item->done(item, scratch);
}

static void to_pool(struct bale_queue_item *item)
{
    item->job.run = run_done;
    bale_pool_submit(item->queue->volume->pool, &item->job);
}

static void engine_done(struct bale_item *engine_item)
{
    struct bale_queue_item *item = engine_item->owner;
    if (item->quick || item->queue->volume->engine->ops->done_may_wait) {
        item->done(item, NULL);
    } else {
        to_pool(item);
    }
}

static void to_engine(struct bale_queue_item *item)
{
    item->item.owner = item;
    item->item.done = engine_done;
    item->item.next = NULL;
    bale_engine_submit(item->queue->volume->engine, &item->item);
}

/* Under queue->lock. When nothing is staged one item may go over the limit, and to the heap if the
 * arena is held by others or in pieces: it could never run otherwise. */
static bool stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length)
{
    if (queue->staged > 0 && queue->staged + length > queue->limit) {
        return false;
    }
    item->item.stored = bale_volume_take(queue->volume, length, NULL);
    item->heap = !item->item.stored && queue->staged == 0;
    if (item->heap) {
        item->item.stored = malloc(length);
        bale_memory_count(queue->volume->memory, item->item.stored ? (int64_t)length : 0);
    }
    if (!item->item.stored) {
        return false;
    }
    item->queue = queue;
    item->item.capacity = length;
    queue->staged += length;
    return true;
}

int bale_queue_stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length)
{
    pthread_mutex_lock(&queue->lock);
    /* Those that wait come first. */
    bool ok = !queue->waiting && stage(queue, item, length);
    pthread_mutex_unlock(&queue->lock);
    return ok ? BALE_OK : BALE_E_NOMEM;
}

/* Starts what can be; called whenever staging or memory comes free. */
static void pump(struct bale_queue *queue)
{
    for (;;) {
        pthread_mutex_lock(&queue->lock);
        struct bale_queue_item *item = queue->waiting;
        bool ok = item &&
                  stage(queue, item,
                        bale_frame_bound(item->item.frame.raw_length, item->item.frame.chunk_log2));
        bool stuck = item && !ok && queue->staged == 0;
        if (ok || stuck) {
            queue->waiting = item->next;
            if (!queue->waiting) {
                queue->waiting_end = &queue->waiting;
            }
        }
        pthread_mutex_unlock(&queue->lock);
        if (ok) {
            to_engine(item);
        } else if (stuck) {
            /* Nothing of ours is under way: nobody would pump again. */
            item->queue = queue;
            item->item.stored = NULL;
            item->item.status = BALE_E_NOMEM;
            to_pool(item);
        } else {
            return;
        }
    }
}

void bale_queue_submit(struct bale_queue *queue, struct bale_queue_item *item)
{
    item->item.owner = item;
    if (item->item.kind == BALE_ITEM_DECODE) {
        to_engine(item);
        return;
    }
    item->item.stored = NULL;
    item->next = NULL;
    pthread_mutex_lock(&queue->lock);
    *queue->waiting_end = item;
    queue->waiting_end = &item->next;
    pthread_mutex_unlock(&queue->lock);
    pump(queue);
}

void bale_queue_release(struct bale_queue_item *item)
{
    struct bale_queue *queue = item->queue;
    if (item->item.stored) {
        if (item->heap) {
            free(item->item.stored);
            bale_memory_count(queue->volume->memory, -(int64_t)item->item.capacity);
        } else {
            bale_memory_give(queue->volume->memory, item->item.stored, item->item.capacity);
        }
        pthread_mutex_lock(&queue->lock);
        queue->staged -= item->item.capacity;
        pthread_mutex_unlock(&queue->lock);
    }
    pump(queue);
}
