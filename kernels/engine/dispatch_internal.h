/* Inside of the dispatcher: dispatch.c has the engine, dispatch_batch.c what goes to the GPU and
 * comes back, dispatch_choose.c decides. */
#ifndef BALE_KERNELS_ENGINE_DISPATCH_INTERNAL_H
#define BALE_KERNELS_ENGINE_DISPATCH_INTERNAL_H

#include "format/reason.h"
#include "kernels/engine/busy.h"
#include "kernels/engine/cpu.h"
#include "kernels/engine/dispatch.h"
#include "kernels/frame/setting.h"

/* One item of a batch. */
struct bale_slot {
    struct bale_batch *batch;
    struct bale_item before; /* as the caller gave it */
};

/* What the GPU engine is given at once: items of one kind of work. */
struct bale_batch {
    struct bale_dispatch *dispatch;
    struct bale_batch *next;
    struct bale_item *list; /* until it is submitted */
    uint64_t number;        /* of those begun */
    unsigned work;
    unsigned count, left; /* items; left to again: under the lock */
    unsigned failed;
    unsigned unable; /* of these, BALE_E_ENGINE and BALE_E_QUARANTINED */
    unsigned again;  /* of these, BALE_E_NO_DEVICE: they say nothing of the engine */
    uint64_t bytes, under_way, begin_ns;
    bool warming; /* the device had to be opened first: its time says nothing */
    bool anew;    /* what is known is too old to be averaged with */
    struct bale_slot slots[];
};

enum { BALE_SCRATCHES = 64 };

/* Where the opener is. */
enum bale_opener { BALE_OPENER_AWAY, BALE_OPENER_BACK, BALE_OPENER_LEFT };

struct bale_dispatch {
    struct bale_engine engine; /* first: the handle is a pointer to it */
    struct bale_engine *cpu;
    struct bale_work_queue *queue; /* the CPU engine's */
    struct bale_dispatch_options options;
    struct bale_costs costs;
    unsigned threads; /* of the CPU engine */

    pthread_t opener;
    bool opening; /* opener has been started */
    bool settled; /* under queue->mutex: how opening ended is known, and it is this */
    int outcome;
    struct bale_reason why;
    atomic_int where; /* enum bale_opener: with the plug-in, back from it, or left behind with it */
    atomic_uint pins; /* threads that are pinning */
    struct bale_dispatch *left; /* another one that was left */
    atomic_bool opened;         /* gpu and device are there */
    atomic_bool asked;          /* and get work */
    const struct bale_gpu *gpu;
    struct bale_engine *device;

    atomic_uint users;                         /* threads that use the two, outside of a batch */
    atomic_uint_fast64_t tried_ns[BALE_WORKS]; /* when a batch of the kind was last begun */
    atomic_uint_fast64_t trust_ns[BALE_WORKS]; /* for so long what is known counts */
    atomic_bool promising[BALE_WORKS];         /* a large batch would be worth it */
    atomic_uint decoded;                       /* kind of the last item that was to be decoded */
    struct bale_busy busy;

    /* Under queue->mutex. */
    pthread_cond_t idle;                      /* users or batches came to 0, or settled */
    unsigned batches, batches_of[BALE_WORKS]; /* under way */
    unsigned batches_in[2];                   /* of these, that encode, and that decode */
    uint64_t under_way;                       /* bytes */
    unsigned untold;       /* items that ended since a worker was woken for that */
    unsigned failures;     /* in a row */
    uint64_t failed_until; /* the last batch begun at the last of them */
    uint64_t batches_begun, redone, unable;
    unsigned scratch_count;
    struct bale_scratch *scratches[BALE_SCRATCHES]; /* for bale_setting_choose */

    struct bale_work_count count; /* done by the GPU */
};

static inline struct bale_dispatch *bale_dispatch_of(struct bale_engine *engine)
{
    return (struct bale_dispatch *)engine;
}

/* ---- dispatch.c: of struct bale_engine_ops ---- */

void bale_dispatch_submit(struct bale_engine *engine, struct bale_item *list);
bool bale_dispatch_run_inline(struct bale_engine *engine, struct bale_item *item,
                              struct bale_scratch *scratch);

/* ---- dispatch_choose.c ---- */

/* Whether an item of the kind that could be decoded at once had better wait with others for a batch.
 * Any thread, no lock. */
bool bale_dispatch_collects_work(struct bale_dispatch *dispatch, unsigned work);

/* Whether the GPU engine is now to get all there is of the kind: it is to have what it can do, or the
 * CPUs are at work anyway and a large batch is faster. Any thread, no lock. */
bool bale_dispatch_wants(struct bale_dispatch *dispatch, unsigned work);

/* Of so many bytes that wait, how many are to be a batch: those with which the GPU engine would be
 * done before the CPU engine with all that is offered; all if the CPUs are at work anyway, and a
 * large batch is faster; or what it takes to find that out. Under the lock. */
uint64_t bale_dispatch_share(struct bale_dispatch *dispatch, unsigned work, uint64_t bytes);

/* A batch is about to begin. */
void bale_dispatch_note(struct bale_dispatch *dispatch, struct bale_batch *batch);

/* The batch is back. Under the lock. */
void bale_dispatch_learn(struct bale_dispatch *dispatch, const struct bale_batch *batch);

/* ---- dispatch_batch.c ---- */

/* Makes batches of what is offered, as long as that is worth it, and sets what the workers leave;
 * bale_dispatch_send takes what it returns. Under the lock. */
struct bale_batch *bale_dispatch_gather(struct bale_dispatch *dispatch);

/* Submits the batches. Not under the lock. */
void bale_dispatch_send(struct bale_dispatch *dispatch, struct bale_batch *batches);

#endif
