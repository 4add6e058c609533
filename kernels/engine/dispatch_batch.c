#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/engine/dispatch_internal.h"
#include "kernels/engine/timeline.h"

/* Larger batches gain little, and several are in flight at once. */
#define BATCH_BYTES ((uint64_t)128 << 20)
#define BATCHES_MOST 4u /* for each direction, so that reads do not wait for writes */
#define GROWTH_BYTES ((uint64_t)16 << 20) /* a batch needs so much more for each one in flight */
#define FAILURES_MOST 3u                  /* batches in a row that the GPU engine could not do */
#define BACK_TOGETHER 32u                 /* items that are handed over at once */

static void batch_item_done(struct bale_item *item);

/* Whether the workers leave no items for the next batch: while the GPU is being opened, and until
 * both sides have shown what such items take. */
static bool shares_all(struct bale_dispatch *d, unsigned work)
{
    return d->options.choice == BALE_ENGINE_AUTO &&
           (d->wait_ns > 0 || d->costs.batch[work].batches == 0 ||
            atomic_load(&d->costs.cpu[work]) == 0);
}

/* While a batch is in flight the workers leave the next one to grow to its full size and take
 * the rest. If the GPU gets all items of the kind they leave everything: the CPUs have enough to
 * do then. Under the lock. */
static void set_reserve(struct bale_dispatch *d, unsigned work)
{
    struct bale_offered *offered = &d->queue->offered[work];
    bool in_use = atomic_load(&d->in_use) && d->batches_of[work] > 0 && !shares_all(d, work);
    uint64_t before = offered->reserved;

    offered->reserved = 0;
    if (in_use && bale_dispatch_wants_offered(d, work))
        offered->reserved = UINT64_MAX;
    else if (in_use && atomic_load(&d->promising[work])) /* a trial may turn out to be slow */
        offered->reserved = BATCH_BYTES;
    if (offered->bytes > offered->reserved && before > offered->reserved)
        bale_work_queue_wake(d->queue, bale_work_queue_sleepers(d->queue, offered->count));
}

/* NULL: no memory, and the CPU does the items. Under the lock. */
static struct bale_batch *make_batch(struct bale_dispatch *d, unsigned work, uint64_t most)
{
    unsigned room = d->queue->offered[work].count;
    struct bale_batch *batch = malloc(sizeof *batch + room * sizeof batch->items[0]);

    if (!batch)
        return NULL;
    *batch = (struct bale_batch){.dispatch = d, .work = work};
    batch->list = bale_work_queue_steal(d->queue, work, most, &batch->count, &batch->bytes);
    atomic_init(&batch->left, batch->count);
    d->batches++;
    batch->number = ++d->batches_begun;
    d->batches_of[work]++;
    d->batches_in[bale_work_kind(work)]++;
    d->in_flight += batch->bytes;
    batch->in_flight = d->in_flight;
    return batch;
}

struct bale_batch *bale_dispatch_gather(struct bale_dispatch *d)
{
    struct bale_batch *batches = NULL;

    if (atomic_load(&d->in_use) && bale_works_next(&d->queue->works, 0) < BALE_WORKS)
        bale_dispatch_look(d);
    for (unsigned work = 0; (work = bale_works_next(&d->queue->works, work)) < BALE_WORKS; work++) {
        struct bale_offered *offered = &d->queue->offered[work];
        unsigned *in_flight = &d->batches_in[bale_work_kind(work)];
        while (atomic_load(&d->in_use) && *in_flight < BATCHES_MOST && offered->count > 0 &&
               offered->bytes >= d->batches_of[work] * GROWTH_BYTES) {
            uint64_t bytes = offered->bytes < BATCH_BYTES ? offered->bytes : BATCH_BYTES;
            uint64_t share = bale_dispatch_gpu_share(d, work, bytes);
            struct bale_batch *batch = share > 0 ? make_batch(d, work, share) : NULL;
            if (!batch)
                break;
            batch->next = batches;
            batches = batch;
        }
        set_reserve(d, work);
    }
    return batches;
}

static void send_batch(struct bale_dispatch *d, struct bale_batch *batch)
{
    struct bale_item *list = batch->list;
    struct bale_batch_item *entry = batch->items;

    for (struct bale_item *item = list; item; item = item->next, entry++) {
        *entry = (struct bale_batch_item){.batch = batch, .before = *item};
        item->done = batch_item_done;
        item->owner = entry;
    }
    bale_dispatch_batch_begins(d, batch);
    bale_engine_submit(d->device, list); /* may free the batch */
}

void bale_dispatch_send(struct bale_dispatch *d, struct bale_batch *batches)
{
    while (batches) {
        struct bale_batch *next = batches->next;
        send_batch(d, batches);
        batches = next;
    }
}

static void log_gpu_disabled(struct bale_dispatch *d, const char *what)
{
    char text[BALE_REASON_SIZE];

    snprintf(text, sizeof text,
             "GPU: %s: the CPU does everything until the next mount: see the messages before",
             what);
    d->options.gpu.log(BALE_GPU_ERROR, text);
}

/* Batches that were in flight when one failed may fail for the same reason, so they count once.
 * Under the lock. */
static void count_failures(struct bale_dispatch *d, const struct bale_batch *batch)
{
    unsigned tried = batch->count - batch->no_device;

    if (batch->unable < tried) {
        d->failures = 0;
    } else if (tried > 0 && batch->number > d->failed_until) {
        d->failures++;
        d->failed_until = d->batches_begun;
    }
}

/* Logs how the GPU was opened, once for each opening, when its first batch is done. */
static void log_opening(struct bale_dispatch *d, const struct bale_gpu_timeline *opening)
{
    char text[BALE_TIMELINE_TEXT], line[BALE_TIMELINE_TEXT + 8];

    pthread_mutex_lock(&d->queue->mutex);
    bool first = opening->done_ns > 0 && d->opening_logged != opening->begin_ns;
    if (first)
        d->opening_logged = opening->begin_ns;
    pthread_mutex_unlock(&d->queue->mutex);
    if (!first)
        return;
    snprintf(line, sizeof line, "GPU: %s", bale_timeline_text(opening, text));
    d->options.gpu.log(BALE_GPU_DEBUG, line);
}

/* Takes the GPU engine out of use if it is lost or fails again and again, and returns why; else
 * NULL. */
static const char *reason_to_disable(struct bale_dispatch *d, const struct bale_batch *batch,
                                     bool lost)
{
    const char *why = NULL;

    pthread_mutex_lock(&d->queue->mutex);
    count_failures(d, batch);
    if ((lost || d->failures >= FAILURES_MOST) && atomic_exchange(&d->in_use, false))
        why = lost ? "was lost" : "failed three times in a row";
    pthread_mutex_unlock(&d->queue->mutex);
    return why;
}

/* All items of the batch are back: learns from it, sends the next batches, frees it. */
static void finish_batch(struct bale_dispatch *d, struct bale_batch *batch)
{
    struct bale_gpu_stats stats = {0};

    d->gpu->stats(d->device, &stats);
    log_opening(d, &stats.opening);
    const char *why = reason_to_disable(d, batch, stats.lost);
    if (why)
        log_gpu_disabled(d, why);
    pthread_mutex_lock(&d->queue->mutex);
    bale_dispatch_learn(d, batch, stats.pinned);
    d->batches_of[batch->work]--;
    d->batches_in[bale_work_kind(batch->work)]--;
    d->in_flight -= batch->bytes;
    d->batches--;
    struct bale_batch *batches = bale_dispatch_gather(d);
    set_reserve(d, batch->work);
    if (d->batches == 0)
        pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
    free(batch);
    /* Without batches in flight the dispatcher may be gone by now. */
    if (batches)
        bale_dispatch_send(d, batches);
}

/* Ends an item's part in its batch, as the owner's again. False: it is to be done once more. Under
 * the lock. */
static bool end_item(struct bale_dispatch *d, struct bale_item *item)
{
    struct bale_batch_item *entry = item->owner;
    struct bale_batch *batch = entry->batch;
    int status = item->status;

    if (status == BALE_OK) {
        item->done = entry->before.done;
        item->owner = entry->before.owner;
        bale_work_add(&d->count, item);
    } else {
        *item = entry->before;
        item->status = status;
    }
    batch->failed += status != BALE_OK;
    d->redone += status != BALE_OK;
    batch->unable += status == BALE_E_ENGINE || status == BALE_E_QUARANTINED;
    d->unable += status == BALE_E_ENGINE || status == BALE_E_QUARANTINED;
    batch->no_device += status == BALE_E_NO_DEVICE;
    return status == BALE_OK || status == BALE_E_QUARANTINED;
}

/* Hands items that are back to the CPU engine's workers, which call the owner's done, or do the
 * item if the GPU did not. A quarantined item goes back to its owner undone, because only the owner
 * has other memory for its output. One worker is woken for all that are done: reporting them takes
 * less time than waking another. Returns how many items there were, and the batch of each. */
static unsigned hand_over(struct bale_dispatch *d, struct bale_item *list,
                          struct bale_batch *batches[BACK_TOGETHER])
{
    unsigned count = 0, undone = 0;

    pthread_mutex_lock(&d->queue->mutex);
    while (list) {
        struct bale_item *next = list->next;
        batches[count++] = ((struct bale_batch_item *)list->owner)->batch;
        bool completed = end_item(d, list);
        if (completed)
            bale_item_list_append(&d->queue->completed, list);
        else
            bale_work_queue_add(d->queue, list);
        undone += !completed;
        list = next;
    }
    unsigned sleepers = bale_work_queue_sleepers(d->queue, undone + (undone < count));
    pthread_mutex_unlock(&d->queue->mutex);
    bale_work_queue_wake(d->queue, sleepers);
    return count;
}

/* A batch is in flight until its last item is taken off it here, which is after the last use of the
 * queue: without batches in flight the dispatcher may be gone. */
static void take_back(struct bale_dispatch *d, struct bale_item *list)
{
    struct bale_batch *batches[BACK_TOGETHER];
    unsigned count = hand_over(d, list, batches);

    for (unsigned i = 0; i < count; i++)
        if (atomic_fetch_sub(&batches[i]->left, 1) == 1)
            finish_batch(d, batches[i]);
}

/* An item's done, on a thread of the GPU engine's, which has the next batch to begin: items that
 * come back one after the other are handed over together. */
static void batch_item_done(struct bale_item *item)
{
    static _Thread_local struct {
        struct bale_item_list items;
        unsigned count;
    } back;

    bool more = item->more;
    bale_item_list_append(&back.items, item);
    if (++back.count < BACK_TOGETHER && more)
        return;
    struct bale_item *list = back.items.first;
    back.items.first = NULL;
    back.count = 0;
    const struct bale_batch_item *entry = list->owner;
    take_back(entry->batch->dispatch, list);
}
