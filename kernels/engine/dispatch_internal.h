/* The inside of the dispatcher. Calls go one way: dispatch_life.c (creation, opening the GPU,
 * destruction) calls dispatch.c (submit, the statistics), which calls dispatch_batch.c (batches to
 * the GPU and back), which calls dispatch_choose.c (which engine does what). "The lock" is
 * queue->mutex, the CPU engine's. */
#ifndef BALE_KERNELS_ENGINE_DISPATCH_INTERNAL_H
#define BALE_KERNELS_ENGINE_DISPATCH_INTERNAL_H

#include "format/reason.h"
#include "kernels/base/container_of.h"
#include "kernels/engine/busy.h"
#include "kernels/engine/cpu.h"
#include "kernels/engine/dispatch.h"
#include "kernels/frame/setting.h"

/* One item of a batch. */
struct bale_batch_item {
    struct bale_batch *batch;
    struct bale_item before; /* as the caller submitted it */
};

/* Items of one kind of work that the GPU engine gets together. Allocated by
 * bale_dispatch_gather, freed when the last of its items has come back. failed to no_device: under
 * the lock; the rest is set before the batch is submitted and then only read. */
struct bale_batch {
    struct bale_dispatch *dispatch;
    struct bale_batch *next;
    struct bale_item *list; /* until it is submitted */
    uint64_t number;        /* counted from 1 */
    unsigned work;
    unsigned count;     /* items */
    atomic_uint left;   /* items that are not back yet; who has handed over the last one ends it */
    unsigned failed;    /* items that did not come back with BALE_OK */
    unsigned unable;    /* of these, BALE_E_ENGINE and BALE_E_QUARANTINED */
    unsigned no_device; /* of these, BALE_E_NO_DEVICE: no failure, and no measurement */
    uint64_t bytes;     /* raw */
    uint64_t in_flight; /* bytes of this batch and of those before it that were not back */
    uint64_t begin_ns;
    uint64_t pinned; /* what the GPU engine had pinned as it began */
    bool slowed;     /* and whether more was being pinned */
    bool warming;    /* the device has to be opened first, so the time is no measurement */
    bool stale;      /* the measurements before it are too old to be averaged with */
    struct bale_batch_item items[];
};

enum { BALE_SCRATCHES = 64 };

/* The thread that opens the GPU engine: in the plug-in, returned from it, or abandoned by destroy
 * because it hangs there. The thread that first changes it from RUNNING decides. The opener sets it
 * to RUNNING again under the lock, unless the dispatcher is ending. */
enum bale_opener { BALE_OPENER_RUNNING, BALE_OPENER_RETURNED, BALE_OPENER_ABANDONED };

struct bale_dispatch {
    struct bale_engine engine; /* what the users' handle points to */

    /* Set by bale_dispatch_create and then only read, except options.choice, which is under the
     * lock. */
    struct bale_engine *cpu;
    struct bale_work_queue *queue; /* the CPU engine's */
    struct bale_dispatch_options options;
    unsigned threads; /* of the CPU engine */

    /* Opening the GPU engine. */
    pthread_t opener;                     /* of bale_dispatch_open's caller and destroy */
    bool opening;                         /* opener was started; of the same */
    atomic_int opener_state;              /* enum bale_opener */
    bool ending;                          /* under the lock: as bale_dispatch_end_tries says */
    atomic_bool awaits_work;              /* the opener waits for work before it tries again */
    bool open_decided;                    /* under the lock: opening ended, with this result */
    int open_result;                      /* under the lock */
    struct bale_reason open_reason;       /* under the lock */
    atomic_uint pins;                     /* threads in the plug-in's pin */
    struct bale_dispatch *next_abandoned; /* of dispatch_life.c's list */

    /* Written by the opener before it sets opened, and then only read. */
    const struct bale_gpu *gpu;
    struct bale_engine *device;
    atomic_bool opened; /* gpu and device are set */
    atomic_bool in_use; /* and they get work; cleared under the lock */

    uint64_t
        opening_logged; /* begin_ns of the opening of the GPU that was logged; under the lock */

    atomic_uint gpu_users; /* threads between acquire_gpu and release_gpu */

    /* Measurements, for each kind of work. costs.batch is under the lock. */
    struct bale_costs costs;
    atomic_uint_fast64_t tried_ns[BALE_WORKS]; /* when a batch last began */
    atomic_uint_fast64_t trust_ns[BALE_WORKS]; /* how long after that the costs count */
    atomic_bool promising[BALE_WORKS]; /* a large batch would beat all CPUs; until measured: yes */
    atomic_uint decoded;     /* kind of the last item to decode; BALE_WORKS: not for the GPU */
    bool slowed[BALE_WORKS]; /* what is known of batches is of slowed ones; under the lock */
    struct bale_busy busy;

    /* Under the lock. */
    /* gpu_users or batches came to 0, open_decided or ending was set, or awaits_work cleared. */
    pthread_cond_t idle;
    unsigned batches;                /* in flight */
    unsigned batches_of[BALE_WORKS]; /* of these, by kind of work */
    unsigned batches_in[2];          /* of these, those that encode, and those that decode */
    uint64_t in_flight;              /* bytes of the batches */
    uint64_t wait_ns; /* until the GPU could begin a batch, as it was at looked_ns; 0: it is open */
    uint64_t looked_ns;    /* 0: not yet */
    uint64_t opening_ns;   /* what opening it took the last time; 0: unknown */
    unsigned failures;     /* batches in a row that the GPU engine could not do */
    uint64_t failed_until; /* batches_begun at the last failure that was counted */
    uint64_t batches_begun, redone, unable;
    unsigned scratch_count;
    struct bale_scratch *scratches[BALE_SCRATCHES]; /* free ones, for bale_setting_choose */

    struct bale_work_count count; /* done by the GPU; atomics */
};

static inline struct bale_dispatch *bale_dispatch_of(struct bale_engine *engine)
{
    return BALE_CONTAINER_OF(engine, struct bale_dispatch, engine);
}

/* ---- dispatch.c: operations of struct bale_engine_ops ---- */

void bale_dispatch_submit(struct bale_engine *engine, struct bale_item *list);
bool bale_dispatch_run_inline(struct bale_engine *engine, struct bale_item *item,
                              struct bale_scratch *scratch);

/* ---- dispatch_choose.c ---- */

/* Whether an item of the kind should wait for a batch, although the calling thread could decode
 * it now. background: nobody waits for it. Any thread, without the lock. */
bool bale_dispatch_collects_work(struct bale_dispatch *dispatch, unsigned work, bool background);

/* Whether the GPU engine gets all items of the kind: because the user chose the GPU, or because
 * the CPUs are busy and a large batch is faster. Any thread, with or without the lock. */
bool bale_dispatch_wants(struct bale_dispatch *dispatch, unsigned work);

/* The same for what is offered now: also if nobody waits for it, which saves the CPUs' time. Under
 * the lock. */
bool bale_dispatch_wants_offered(struct bale_dispatch *dispatch, unsigned work);

/* Looks whether the GPU is open, and else how long opening it will take. Under the lock. */
void bale_dispatch_look(struct bale_dispatch *dispatch);

/* How many of the offered bytes become a batch: all if it gets all items of the kind (fewer while
 * they are not measured), or if the GPU engine would finish them before the CPU engine finishes
 * everything that is offered; as many as a trial takes if the costs are unknown or old; else 0. A
 * GPU that is not open gets no more than a trial, which opens it: if the CPUs are busy, or need
 * longer than that takes for what is offered. Under the lock. */
uint64_t bale_dispatch_gpu_share(struct bale_dispatch *dispatch, unsigned work, uint64_t bytes);

/* Notes when and with what knowledge a batch begins. Without the lock, before the batch is
 * submitted. */
void bale_dispatch_batch_begins(struct bale_dispatch *dispatch, struct bale_batch *batch);

/* Adds the time of a batch that is back to the measurements. pinned: what the GPU engine has pinned
 * now. Under the lock. */
void bale_dispatch_learn(struct bale_dispatch *dispatch, const struct bale_batch *batch,
                         uint64_t pinned);

/* ---- dispatch_batch.c ---- */

/* Makes batches of what is offered as long as that is worth it, and sets how much the CPU's
 * workers leave. The caller passes the batches to bale_dispatch_send. Under the lock. */
struct bale_batch *bale_dispatch_gather(struct bale_dispatch *dispatch);

/* Submits the batches to the GPU engine, which owns them from then on. Without the lock. */
void bale_dispatch_send(struct bale_dispatch *dispatch, struct bale_batch *batches);

#endif
