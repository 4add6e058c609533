/* The work queue of the CPU engine. Items that another engine might do are offered: that engine
 * steals batches of them from the tail, while the CPU's workers take them from the head. */
#ifndef BALE_KERNELS_ENGINE_WORK_QUEUE_H
#define BALE_KERNELS_ENGINE_WORK_QUEUE_H

#include <pthread.h>

#include "kernels/engine/item_list.h"

/* Kinds of work, whose speed differs: an item's direction, codec, and class of parameters (speed in
 * format/codecs.h). */
enum {
    BALE_WORK_CODECS = 32,
    BALE_WORKS_EACH_WAY = BALE_WORK_CODECS * BALE_SPEEDS,
    BALE_WORKS = 2 * BALE_WORKS_EACH_WAY
};

/* The kind of work of a codec's frames with the parameter. */
static inline unsigned bale_work(enum bale_item_kind kind, unsigned codec, unsigned speed)
{
    return (kind == BALE_ITEM_ENCODE ? 0 : BALE_WORKS_EACH_WAY) + codec * BALE_SPEEDS + speed;
}

/* An item's kind of work. BALE_WORKS: none, because its setting is open or its codec unknown. */
unsigned bale_work_of(const struct bale_item *item);

static inline enum bale_item_kind bale_work_kind(unsigned work)
{
    return work < BALE_WORKS_EACH_WAY ? BALE_ITEM_ENCODE : BALE_ITEM_DECODE;
}

/* A set of kinds of work. */
struct bale_works {
    uint64_t bits[BALE_WORKS / 64];
};

/* The first kind that is in the set and not less than `work`; BALE_WORKS: there is none. To loop
 * over the set, begin with 0 and continue with the last result plus 1; the set may change
 * meanwhile. */
unsigned bale_works_next(const struct bale_works *works, unsigned work);

/* The offered items of one kind of work. */
struct bale_offered {
    struct bale_item_list items;
    unsigned count;
    uint64_t bytes;    /* raw */
    uint64_t awaited;  /* of these, bytes of items that are not in the background */
    uint64_t reserved; /* bytes that workers leave to the other engine */
};

/* Completed items that a worker takes at once: reporting one takes less time than the lock. */
#define BALE_COMPLETED_TOGETHER 8u

struct bale_work_queue {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t wake;   /* items came, fewer bytes are reserved, or stop was set */
    struct bale_turns by_priority[BALE_PRIORITIES]; /* use: nanoseconds of a worker */
    struct bale_item_list completed; /* the other engine did them: workers only call done */
    struct bale_offered offered[BALE_WORKS];
    struct bale_works works; /* of which items are offered */
    unsigned last;           /* the kind that a worker took last */
    unsigned sleeping;       /* workers that wait for wake */
    unsigned workers;        /* set by the owner; 0: nothing is kept for other users */
    unsigned running;        /* workers that have an item */
    bool stop;
};

/* An empty queue. destroy: no worker uses it any more. */
void bale_work_queue_init(struct bale_work_queue *queue);
void bale_work_queue_destroy(struct bale_work_queue *queue);

/* Adds a list. Takes the mutex. */
void bale_work_queue_push(struct bale_work_queue *queue, struct bale_item *list);

/* The caller of the functions below holds the mutex. */

/* Adds one that is not offered. */
void bale_work_queue_add(struct bale_work_queue *queue, struct bale_item *item);

/* The next item for a worker; waits for one. The last worker that has none takes no items but those
 * of a user of whom no worker has one. *completed: it is a list of up to BALE_COMPLETED_TOGETHER
 * items that have their status, and the worker only calls done of each. NULL: stop was set, and no
 * item is left for this worker. */
struct bale_item *bale_work_queue_pop(struct bale_work_queue *queue, bool *completed);

/* A worker that got an item which was not completed has spent so many nanoseconds on it. Priority
 * and user are the item's, which may be gone. */
void bale_work_queue_end(struct bale_work_queue *queue, enum bale_priority priority, uint32_t user,
                         uint64_t ns);

/* Offers an item to the other engine; workers take it as well. */
void bale_work_queue_offer(struct bale_work_queue *queue, struct bale_item *item, unsigned work);

/* Takes items of the kind from its tail, at most `most` bytes but at least one item, and returns
 * them in order, with their number and bytes. At least one is offered. */
struct bale_item *bale_work_queue_steal(struct bale_work_queue *queue, unsigned work, uint64_t most,
                                        unsigned *count, uint64_t *bytes);

/* Offered items of the kinds of which not all are reserved: that many workers, or fewer, find
 * one. */
unsigned bale_work_queue_takable(const struct bale_work_queue *queue);

/* How many workers to wake for so many items: no more than sleep, because a busy one comes back to
 * the queue by itself. */
unsigned bale_work_queue_sleepers(const struct bale_work_queue *queue, unsigned items);

/* Wakes so many. With or without the mutex; without it is better, since waking one takes longer
 * than all else that is done under it, and who is woken wants it at once. */
void bale_work_queue_wake(struct bale_work_queue *queue, unsigned workers);

#endif
