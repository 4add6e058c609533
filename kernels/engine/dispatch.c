#include "format/err.h"
#include "kernels/engine/dispatch_internal.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"

/* ---- Who uses the GPU engine ---- */

static void leave(struct bale_dispatch *d)
{
    if (atomic_fetch_sub(&d->users, 1) > 1 || atomic_load(&d->asked))
        return;
    pthread_mutex_lock(&d->queue->mutex);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

/* False: there is none to be used. True: it stays until leave. */
static bool enter(struct bale_dispatch *d)
{
    if (!atomic_load_explicit(&d->asked, memory_order_relaxed))
        return false;
    atomic_fetch_add(&d->users, 1);
    if (atomic_load(&d->asked))
        return true;
    leave(d);
    return false;
}

/* ---- What may go to the GPU ---- */

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

/* Which codec is decided here, from the bytes alone. Whether it could be. */
static bool choose_codec(struct bale_dispatch *d, struct bale_item *item)
{
    struct bale_scratch *scratch = take_scratch(d);

    if (!scratch)
        return false;
    item->setting = bale_setting_choose(scratch, item->setting, item->raw, item->frame.raw_length);
    give_scratch(d, scratch);
    return true;
}

/* What the frame itself says counts. */
static bool is_trusted(const struct bale_dispatch *d, const struct bale_item *item)
{
    struct bale_frame head;

    if (d->options.untrusted || !d->options.wary)
        return !d->options.untrusted;
    return bale_frame_head_decode(item->stored, item->stored_length, &head) == BALE_OK &&
           !bale_codec_about(head.codec)->closed;
}

static bool may_go(struct bale_dispatch *d, struct bale_item *item)
{
    if (item->priority == BALE_PRIORITY_HIGH || item->frame.raw_length == 0 ||
        (item->kind == BALE_ITEM_DECODE && !is_trusted(d, item)))
        return false;
    if (item->kind == BALE_ITEM_ENCODE && bale_setting_is_open(item->setting) &&
        (item->memory_kind == BALE_MEMORY_DEVICE || !choose_codec(d, item)))
        return false;
    return bale_work_of(item) < BALE_WORKS && d->gpu->takes(d->device, item);
}

static void offer(struct bale_dispatch *d, struct bale_item *list)
{
    struct bale_work_queue *queue = d->queue;
    unsigned takable = 0;

    if (d->options.choice == BALE_ENGINE_AUTO)
        bale_busy_update(&d->busy);
    pthread_mutex_lock(&queue->mutex);
    while (list) {
        struct bale_item *next = list->next;
        unsigned work = bale_work_of(list);
        bale_work_queue_offer(queue, list, work);
        takable += queue->offered[work].bytes > queue->offered[work].keep;
        list = next;
    }
    struct bale_batch *batches = bale_dispatch_gather(d);
    bale_work_queue_wake(queue, takable);
    pthread_mutex_unlock(&queue->mutex);
    bale_dispatch_send(d, batches);
}

void bale_dispatch_submit(struct bale_engine *engine, struct bale_item *list)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);
    struct bale_item_list ours = {0};
    struct bale_item_list offered = {0};

    if (!enter(d)) {
        bale_engine_submit(d->cpu, list);
        return;
    }
    while (list) {
        struct bale_item *next = list->next;
        bale_item_list_append(may_go(d, list) ? &offered : &ours, list);
        list = next;
    }
    if (ours.first)
        bale_engine_submit(d->cpu, ours.first);
    if (offered.first)
        offer(d, offered.first);
    leave(d);
}

static bool had_better_wait(struct bale_dispatch *d, struct bale_item *item)
{
    unsigned work = bale_work_of(item);

    if (work >= BALE_WORKS)
        return false;
    atomic_store_explicit(&d->decoded, work, memory_order_relaxed);
    if (d->options.choice == BALE_ENGINE_AUTO)
        bale_busy_update(&d->busy);
    if (!bale_dispatch_collects_work(d, work) || !enter(d))
        return false;
    bool better = may_go(d, item);
    leave(d);
    return better;
}

bool bale_dispatch_run_inline(struct bale_engine *engine, struct bale_item *item,
                              struct bale_scratch *scratch)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (atomic_load_explicit(&d->asked, memory_order_relaxed) &&
        (item->kind != BALE_ITEM_DECODE || had_better_wait(d, item)))
        return false;
    return bale_engine_run_inline(d->cpu, item, scratch);
}

bool bale_dispatch_collects(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    return atomic_load_explicit(&d->asked, memory_order_relaxed) &&
           bale_dispatch_collects_work(d, atomic_load(&d->decoded));
}

static struct bale_dispatch_work work_of(const struct bale_work_count *count)
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
        .cpu = work_of(bale_engine_cpu_count(d->cpu)),
        .gpu = work_of(&d->count),
        .used = atomic_load(&d->asked),
    };
    pthread_mutex_lock(&d->queue->mutex);
    stats->batches = d->batches_begun;
    stats->redone = d->redone;
    stats->unable = d->unable;
    pthread_mutex_unlock(&d->queue->mutex);
    if (atomic_load(&d->opened))
        d->gpu->stats(d->device, &stats->device);
}
