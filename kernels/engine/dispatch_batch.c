#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/engine/dispatch_internal.h"

/* Larger ones gain little, and several are under way at once. */
#define BATCH_BYTES ((uint64_t)128 << 20)
#define BATCHES_MOST 4u /* of a direction, so that reads do not wait for writes */
#define GROWTH_BYTES                                                                               \
    ((uint64_t)16 << 20) /* a batch waits for more of them, the more are under way */
#define TOLD_TOGETHER 8u
#define FAILURES_MOST 3u /* times in a row that the engine could not do a batch */

static void done(struct bale_item *item);

/* While a batch is under way the CPU leaves the next one to grow; what is beyond that is its own,
 * but where the GPU is to do all that it can: the CPUs have enough to do then. */
static void set_keep(struct bale_dispatch *d, unsigned work)
{
    struct bale_offered *offered = &d->queue->offered[work];
    bool asked = atomic_load(&d->asked) && d->batches_of[work] > 0;
    uint64_t before = offered->keep;

    offered->keep = 0;
    if (asked && bale_dispatch_wants(d, work))
        offered->keep = UINT64_MAX;
    else if (asked && atomic_load(&d->promising[work])) /* one only tried may turn out to be slow */
        offered->keep = BATCH_BYTES;
    if (offered->bytes > offered->keep && before > offered->keep)
        bale_work_queue_wake(d->queue, offered->count);
}

/* NULL: no memory, and the CPU does them. */
static struct bale_batch *make_batch(struct bale_dispatch *d, unsigned work, uint64_t most)
{
    unsigned room = d->queue->offered[work].count;
    struct bale_batch *batch = malloc(sizeof *batch + room * sizeof batch->slots[0]);

    if (!batch)
        return NULL;
    *batch = (struct bale_batch){.dispatch = d, .work = work};
    batch->list = bale_work_queue_steal(d->queue, work, most, &batch->count, &batch->bytes);
    batch->left = batch->count;
    d->batches++;
    batch->number = ++d->batches_begun;
    d->batches_of[work]++;
    d->batches_in[work / BALE_WORK_CODECS]++;
    d->under_way += batch->bytes;
    batch->under_way = d->under_way;
    return batch;
}

struct bale_batch *bale_dispatch_gather(struct bale_dispatch *d)
{
    struct bale_batch *batches = NULL;

    for (uint64_t works = d->queue->works; works != 0; works &= works - 1) {
        unsigned work = (unsigned)__builtin_ctzll(works);
        struct bale_offered *offered = &d->queue->offered[work];
        unsigned *under_way = &d->batches_in[work / BALE_WORK_CODECS];
        while (atomic_load(&d->asked) && *under_way < BATCHES_MOST && offered->count > 0 &&
               offered->bytes >= d->batches_of[work] * GROWTH_BYTES) {
            uint64_t bytes = offered->bytes < BATCH_BYTES ? offered->bytes : BATCH_BYTES;
            uint64_t share = bale_dispatch_share(d, work, bytes);
            struct bale_batch *batch = share > 0 ? make_batch(d, work, share) : NULL;
            if (!batch)
                break;
            batch->next = batches;
            batches = batch;
        }
        set_keep(d, work);
    }
    return batches;
}

static void send(struct bale_dispatch *d, struct bale_batch *batch)
{
    struct bale_item *list = batch->list;
    struct bale_slot *slot = batch->slots;

    for (struct bale_item *item = list; item; item = item->next, slot++) {
        *slot = (struct bale_slot){.batch = batch, .before = *item};
        item->done = done;
        item->owner = slot;
    }
    bale_dispatch_note(d, batch);
    bale_engine_submit(d->device, list); /* may free batch */
}

void bale_dispatch_send(struct bale_dispatch *d, struct bale_batch *batches)
{
    while (batches) {
        struct bale_batch *next = batches->next;
        send(d, batches);
        batches = next;
    }
}

static void give_up(struct bale_dispatch *d, const char *what)
{
    char text[BALE_REASON_SIZE];

    snprintf(text, sizeof text,
             "GPU: %s: the CPU does everything until the next mount: see the messages before",
             what);
    d->options.gpu.log(BALE_GPU_ERROR, text);
}

/* Batches that were under way when one failed may fail for the same reason, which counts once. Under the
 * lock. */
static void count_failures(struct bale_dispatch *d, const struct bale_batch *batch)
{
    unsigned tried = batch->count - batch->again;

    if (batch->unable < tried) {
        d->failures = 0;
    } else if (tried > 0 && batch->number > d->failed_until) {
        d->failures++;
        d->failed_until = d->batches_begun;
    }
}

/* Whether the engine is not to be asked again; why, or NULL. */
static const char *judge(struct bale_dispatch *d, const struct bale_batch *batch)
{
    struct bale_gpu_stats stats = {0};
    const char *why = NULL;

    if (batch->failed > 0)
        d->gpu->stats(d->device, &stats);
    pthread_mutex_lock(&d->queue->mutex);
    count_failures(d, batch);
    if ((stats.lost || d->failures >= FAILURES_MOST) && atomic_exchange(&d->asked, false))
        why = stats.lost ? "was lost" : "failed three times in a row";
    pthread_mutex_unlock(&d->queue->mutex);
    return why;
}

/* All items of the batch are back. */
static void finish(struct bale_dispatch *d, struct bale_batch *batch)
{
    const char *why = judge(d, batch);

    if (why)
        give_up(d, why);
    pthread_mutex_lock(&d->queue->mutex);
    bale_dispatch_learn(d, batch);
    d->batches_of[batch->work]--;
    d->batches_in[batch->work / BALE_WORK_CODECS]--;
    d->under_way -= batch->bytes;
    d->batches--;
    struct bale_batch *batches = bale_dispatch_gather(d);
    set_keep(d, batch->work);
    if (d->batches == 0)
        pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
    free(batch);
    /* Without batches under way the dispatcher may be gone. */
    if (batches)
        bale_dispatch_send(d, batches);
}

/* Telling takes less time than being woken: a worker for some of those that end together. Under the lock. */
static void wake(struct bale_dispatch *d, bool more)
{
    if (more && ++d->untold < TOLD_TOGETHER)
        return;
    d->untold = 0;
    bale_work_queue_wake(d->queue, 1);
}

/* On a thread of the GPU engine's, which must not wait: the workers tell the owner, who may
 * write to a file, or do the item. Of one whose output is the device's yet only its owner can say
 * where else it may go. */
static void done(struct bale_item *item)
{
    struct bale_slot *slot = item->owner;
    struct bale_batch *batch = slot->batch;
    struct bale_dispatch *d = batch->dispatch;
    int status = item->status;
    bool more = item->more;
    bool ended = status == BALE_OK || status == BALE_E_QUARANTINED;

    if (status == BALE_OK) {
        item->done = slot->before.done;
        item->owner = slot->before.owner;
        bale_work_add(&d->count, item);
    } else {
        *item = slot->before;
        item->status = status;
    }
    pthread_mutex_lock(&d->queue->mutex);
    batch->failed += status != BALE_OK;
    d->redone += status != BALE_OK;
    batch->unable += status == BALE_E_ENGINE || status == BALE_E_QUARANTINED;
    d->unable += status == BALE_E_ENGINE || status == BALE_E_QUARANTINED;
    batch->again += status == BALE_E_NO_DEVICE;
    bale_item_list_append(ended ? &d->queue->ended : &d->queue->by_priority[item->priority], item);
    wake(d, ended && more);
    bool last = --batch->left == 0;
    pthread_mutex_unlock(&d->queue->mutex);
    if (last)
        finish(d, batch);
}
