/* Items that wait. The CPU engine's workers take them from here; items that another engine might do
 * are offered: it may take them as a batch, from the end, while workers take them from the head. */
#ifndef BALE_KERNELS_ENGINE_WORK_QUEUE_H
#define BALE_KERNELS_ENGINE_WORK_QUEUE_H

#include <pthread.h>

#include "kernels/engine/item_list.h"

/* Kinds of work, whose speed differs: an item's direction and codec. */
enum { BALE_WORK_CODECS = 32, BALE_WORKS = 2 * BALE_WORK_CODECS };

/* BALE_WORKS: none of them, as BALE_CODEC_AUTO. */
unsigned bale_work_of(const struct bale_item *item);

/* Of one kind of work. */
struct bale_offered {
    struct bale_item_list items;
    unsigned count;
    uint64_t bytes; /* raw */
    uint64_t keep;  /* what workers leave to the other engine */
};

struct bale_work_queue {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake;   /* items came, workers may take what they left, or stop was set */
    struct bale_item_list by_priority[BALE_PRIORITIES];
    struct bale_item_list ended; /* done elsewhere: only to be told */
    struct bale_offered offered[BALE_WORKS];
    uint64_t works;    /* bit i: something of work i is offered */
    unsigned last;     /* work from which a worker took last */
    unsigned sleeping; /* workers */
    bool stop;
};

_Static_assert(BALE_WORKS <= 64, "works has too few bits");

void bale_work_queue_init(struct bale_work_queue *queue);
void bale_work_queue_destroy(struct bale_work_queue *queue);

/* Takes a list. */
void bale_work_queue_push(struct bale_work_queue *queue, struct bale_item *list);

/* All below under mutex. */

/* The next item for a worker; waits for it. ended: it has its status. NULL: stop, and there is
 * nothing left. */
struct bale_item *bale_work_queue_pop(struct bale_work_queue *queue, bool *ended);

void bale_work_queue_offer(struct bale_work_queue *queue, struct bale_item *item, unsigned work);

/* Takes items of the kind from its end, so many bytes at most but one at least; in order. *count
 * and *bytes: how many and how much. */
struct bale_item *bale_work_queue_steal(struct bale_work_queue *queue, unsigned work, uint64_t most,
                                        unsigned *count, uint64_t *bytes);

/* Wakes workers for so many items. */
void bale_work_queue_wake(struct bale_work_queue *queue, unsigned items);

#endif
