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
    struct bale_items items;
    unsigned count;
    uint64_t bytes; /* raw */
    uint64_t keep;  /* what workers leave to the other engine */
};

struct bale_waiting {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake;   /* items came, workers may take what they left, or stop was set */
    struct bale_items queues[BALE_PRIORITIES];
    struct bale_items ended; /* done elsewhere: only to be told */
    struct bale_offered offered[BALE_WORKS];
    uint64_t works;    /* bit i: something of work i is offered */
    unsigned last;     /* work from which a worker took last */
    unsigned sleeping; /* workers */
    bool stop;
};

_Static_assert(BALE_WORKS <= 64, "works has too few bits");

void bale_waiting_init(struct bale_waiting *waiting);
void bale_waiting_end(struct bale_waiting *waiting);

/* Takes a list. */
void bale_waiting_push(struct bale_waiting *waiting, struct bale_item *list);

/* All below under mutex. */

/* The next item for a worker; waits for it. ended: it has its status. NULL: stop, and there is
 * nothing left. */
struct bale_item *bale_waiting_pop(struct bale_waiting *waiting, bool *ended);

void bale_waiting_offer(struct bale_waiting *waiting, struct bale_item *item, unsigned work);

/* Takes items of the kind from its end, so many bytes at most but one at least; in order. *count
 * and *bytes: how many and how much. */
struct bale_item *bale_waiting_reap(struct bale_waiting *waiting, unsigned work, uint64_t most,
                                    unsigned *count, uint64_t *bytes);

/* Wakes workers for so many items. */
void bale_waiting_wake(struct bale_waiting *waiting, unsigned items);

#endif
