#include "format/err.h"
#include "kernels/engine/dispatch_internal.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"

/* ---- Using the GPU engine ---- */

static void release_gpu(struct bale_dispatch *d)
{
    if (atomic_fetch_sub(&d->gpu_users, 1) > 1 || atomic_load(&d->in_use))
        return;
    pthread_mutex_lock(&d->queue->mutex);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

/* True: the GPU engine stays until release_gpu. False: it gets no work. */
static bool acquire_gpu(struct bale_dispatch *d)
{
    if (!atomic_load_explicit(&d->in_use, memory_order_relaxed))
        return false;
    atomic_fetch_add(&d->gpu_users, 1);
    if (atomic_load(&d->in_use))
        return true;
    release_gpu(d);
    return false;
}

/* Work came while there is no GPU engine: one that was refused for lack of memory is tried
 * again. */
static void wake_opener(struct bale_dispatch *d)
{
    if (!atomic_load_explicit(&d->awaits_work, memory_order_relaxed))
        return;
    pthread_mutex_lock(&d->queue->mutex);
    atomic_store(&d->awaits_work, false);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

void bale_dispatch_wake_gpu(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (!acquire_gpu(d)) {
        wake_opener(d);
        return;
    }
    d->gpu->wake(d->device);
    release_gpu(d);
}

/* ---- Which items the GPU may do ---- */

static struct bale_scratch *take_scratch(struct bale_dispatch *d)
{
    struct bale_scratch *scratch = NULL;

    pthread_mutex_lock(&d->queue->mutex);
    if (d->scratch_count > 0)
        scratch = d->scratches[--d->scratch_count];
    pthread_mutex_unlock(&d->queue->mutex);
    if (!scratch && bale_scratch_create(&scratch) != BALE_OK)
        return NULL;
    return scratch;
}

static void give_scratch(struct bale_dispatch *d, struct bale_scratch *scratch)
{
    pthread_mutex_lock(&d->queue->mutex);
    if (d->scratch_count < BALE_SCRATCHES) {
        d->scratches[d->scratch_count++] = scratch;
        scratch = NULL;
    }
    pthread_mutex_unlock(&d->queue->mutex);
    bale_scratch_destroy(scratch);
}

/* Decides an open setting from the bytes alone. False: no memory. */
static bool choose_codec(struct bale_dispatch *d, struct bale_item *item)
{
    struct bale_scratch *scratch = take_scratch(d);

    if (!scratch)
        return false;
    item->setting = bale_setting_choose(scratch, item->setting, item->raw, item->frame.raw_length,
                                        item->frame.chunk_log2);
    give_scratch(d, scratch);
    return true;
}

/* The codec in the frame counts, not the one in the item. */
static bool is_trusted(const struct bale_dispatch *d, const struct bale_item *item)
{
    struct bale_frame head;

    if (d->options.untrusted_store || !d->options.untrusted_input || item->trusted)
        return !d->options.untrusted_store;
    return bale_frame_head_decode(item->stored, item->stored_length, &head) == BALE_OK &&
           !bale_codec_about(head.codec)->closed;
}

static bool may_use_gpu(struct bale_dispatch *d, struct bale_item *item)
{
    if (item->priority == BALE_PRIORITY_HIGH || item->frame.raw_length == 0 ||
        (item->kind == BALE_ITEM_DECODE && !is_trusted(d, item)))
        return false;
    if (item->kind == BALE_ITEM_ENCODE && bale_setting_is_open(item->setting) &&
        (item->memory_kind == BALE_MEMORY_DEVICE || !choose_codec(d, item)))
        return false;
    return bale_work_of(item) < BALE_WORKS && d->gpu->takes(d->device, item);
}

static void offer_items(struct bale_dispatch *d, struct bale_item *list)
{
    struct bale_work_queue *queue = d->queue;

    if (d->options.choice == BALE_ENGINE_AUTO)
        bale_busy_update(&d->busy);
    pthread_mutex_lock(&queue->mutex);
    while (list) {
        struct bale_item *next = list->next;
        bale_work_queue_offer(queue, list, bale_work_of(list));
        list = next;
    }
    struct bale_batch *batches = bale_dispatch_gather(d);
    unsigned sleepers = bale_work_queue_sleepers(queue, bale_work_queue_takable(queue));
    pthread_mutex_unlock(&queue->mutex);
    bale_work_queue_wake(queue, sleepers);
    bale_dispatch_send(d, batches);
}

void bale_dispatch_submit(struct bale_engine *engine, struct bale_item *list)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);
    struct bale_item_list ours = {0};
    struct bale_item_list offered = {0};

    if (!acquire_gpu(d)) {
        wake_opener(d);
        for (struct bale_item *item = list; item; item = item->next)
            item->collected = false;
        bale_engine_submit(d->cpu, list);
        return;
    }
    while (list) {
        struct bale_item *next = list->next;
        bool takes = list->collected || may_use_gpu(d, list);
        list->collected = false;
        bale_item_list_append(takes ? &offered : &ours, list);
        list = next;
    }
    if (ours.first)
        bale_engine_submit(d->cpu, ours.first);
    if (offered.first)
        offer_items(d, offered.first);
    release_gpu(d);
}

static bool should_wait_for_batch(struct bale_dispatch *d, struct bale_item *item)
{
    unsigned work = bale_work_of(item);

    if (work >= BALE_WORKS)
        return false;
    if (d->options.choice == BALE_ENGINE_AUTO)
        bale_busy_update(&d->busy);
    bool better = false;
    if (bale_dispatch_collects_work(d, work, item->background) && acquire_gpu(d)) {
        better = may_use_gpu(d, item);
        release_gpu(d);
    }
    item->collected = better;
    atomic_store_explicit(&d->decoded, better ? work : BALE_WORKS, memory_order_relaxed);
    return better;
}

bool bale_dispatch_run_inline(struct bale_engine *engine, struct bale_item *item,
                              struct bale_scratch *scratch)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (!atomic_load_explicit(&d->in_use, memory_order_relaxed))
        wake_opener(d);
    else if (item->kind != BALE_ITEM_DECODE || should_wait_for_batch(d, item))
        return false;
    return bale_engine_run_inline(d->cpu, item, scratch);
}

bool bale_dispatch_collects(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    unsigned work = atomic_load(&d->decoded);

    return work < BALE_WORKS && atomic_load_explicit(&d->in_use, memory_order_relaxed) &&
           bale_dispatch_collects_work(d, work, true);
}

static struct bale_dispatch_work copy_count(const struct bale_work_count *count)
{
    return (struct bale_dispatch_work){
        .items = atomic_load(&count->items),
        .encoded = atomic_load(&count->encoded),
        .decoded = atomic_load(&count->decoded),
    };
}

void bale_dispatch_stats(struct bale_engine *engine, struct bale_dispatch_stats *stats)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    *stats = (struct bale_dispatch_stats){
        .cpu = copy_count(bale_engine_cpu_count(d->cpu)),
        .gpu = copy_count(&d->count),
        .used = atomic_load(&d->in_use),
    };
    pthread_mutex_lock(&d->queue->mutex);
    stats->batches = d->batches_begun;
    stats->redone = d->redone;
    stats->unable = d->unable;
    pthread_mutex_unlock(&d->queue->mutex);
    if (atomic_load(&d->opened))
        d->gpu->stats(d->device, &stats->device);
}
