/* The one queue between files and the engine. Staging memory for compressed frames comes from the
 * arena and is bounded; items that find none wait, first in, first out, so that one batch holds
 * items of many files. */
#ifndef BALE_FS_CACHE_QUEUE_H
#define BALE_FS_CACHE_QUEUE_H

#include <stdbool.h>

#include "fs/base/memory.h"
#include "fs/base/pool.h"
#include "kernels/engine/engine.h"

struct bale_queue;

struct bale_queue_item {
    struct bale_item item; /* item.stored and item.capacity are the queue's */
    struct bale_job job;   /* the queue's */
    /* Called when the engine is done with it. On a pool thread; or with scratch NULL on the engine's
     * own, if quick, when it must not block, or if the engine lets it wait for a file. Ends with
     * bale_queue_release. */
    void (*done)(struct bale_queue_item *item, struct bale_scratch *scratch);
    bool quick;
    bool heap;       /* the queue's */
    size_t decoding; /* the queue's */
    void *owner;
    struct bale_queue *queue;
    struct bale_queue_item *next; /* of a list that is handed over; then the queue's */
};

struct bale_volume;
int bale_queue_create(struct bale_volume *volume, struct bale_queue **queue);
void bale_queue_destroy(struct bale_queue *queue); /* nothing is in it */

/* Staging at once, for a decode to raw bytes: BALE_E_NOMEM when there is none to spare, or half of the
 * memory is being decoded to. */
int bale_queue_stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length,
                     size_t raw);

/* Hands over decodes that have their staging, linked by next. */
void bale_queue_decode(struct bale_queue *queue, struct bale_queue_item *list);

/* Hands over encodes, linked by next; they get their staging when there is room. */
void bale_queue_encode(struct bale_queue *queue, struct bale_queue_item *list);

/* Gives the staging back. */
void bale_queue_release(struct bale_queue_item *item);

#endif
