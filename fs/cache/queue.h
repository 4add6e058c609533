/* The one queue between files and the engine. Staging memory for compressed frames comes from the
 * arena and is bounded. Encodes that find none wait, so that one batch holds items of many files;
 * the user whose items have least of it comes first. Any thread. */
#ifndef BALE_FS_CACHE_QUEUE_H
#define BALE_FS_CACHE_QUEUE_H

#include <stdbool.h>

#include "fs/base/memory.h"
#include "kernels/engine/engine.h"

struct bale_queue;

/* The caller owns it, sets item, done and owner, and keeps it until bale_queue_release returns. The
 * other members belong to the queue. */
struct bale_queue_item {
    struct bale_item item; /* item.stored and item.capacity are the queue's: the staging */
    /* Called once, when the engine is done with the item: item.status says how. On a thread of the
     * engine's, or on one that pumps the queue; no lock held. It must not wait for the store: with
     * all of the engine's threads in writes that stall, nothing would be decoded. It, or who it
     * hands the item to, must call bale_queue_release. */
    void (*done)(struct bale_queue_item *item);
    void *owner;

    struct bale_queue_item *next; /* links the list that is handed over; then the queue's */
    struct bale_queue *queue;
    bool heap;       /* the staging is on the heap */
    size_t decoding; /* raw bytes counted in queue->decoding */
};

struct bale_volume;
int bale_queue_create(struct bale_volume *volume, struct bale_queue **queue);
/* After the memory's cap has changed. */
void bale_queue_set_limit(struct bale_queue *queue);
void bale_queue_destroy(struct bale_queue *queue); /* the queue is empty; NULL is fine */

/* Provides staging at once, for a decode to raw bytes. BALE_E_NOMEM: there is none to spare, or
 * decodes to half of the memory are under way. */
int bale_queue_stage(struct bale_queue *queue, struct bale_queue_item *item, size_t length,
                     size_t raw);

/* Hands over decodes that have their staging, linked by next. */
void bale_queue_decode(struct bale_queue *queue, struct bale_queue_item *list);

/* Hands over encodes, linked by next; they get their staging when there is room. May call done
 * before it returns. */
void bale_queue_encode(struct bale_queue *queue, struct bale_queue_item *list);

/* Gives the staging back; items that wait may start then. */
void bale_queue_release(struct bale_queue_item *item);

#endif
