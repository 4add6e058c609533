#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "kernels/dispatch_internal.h"
#include "kernels/gpu_load.h"
#include "kernels/join.h"

#define OPEN_S 60 /* for a GPU engine to open: much more than it takes */

static struct bale_dispatch *from_handle(struct bale_engine *engine)
{
    return (struct bale_dispatch *)engine;
}

/* ---- Who uses the GPU engine ---- */

static void leave(struct bale_dispatch *d)
{
    if (atomic_fetch_sub(&d->users, 1) > 1 || atomic_load(&d->asked))
        return;
    pthread_mutex_lock(&d->waiting->mutex);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->waiting->mutex);
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

    pthread_mutex_lock(&d->waiting->mutex);
    if (d->scratch_count > 0)
        scratch = d->scratches[--d->scratch_count];
    pthread_mutex_unlock(&d->waiting->mutex);
    if (!scratch && bale_scratch_create(&scratch) != BALE_OK)
        return NULL;
    return scratch;
}

static void give_scratch(struct bale_dispatch *d, struct bale_scratch *scratch)
{
    pthread_mutex_lock(&d->waiting->mutex);
    if (d->scratch_count < BALE_SCRATCHES) {
        d->scratches[d->scratch_count++] = scratch;
        scratch = NULL;
    }
    pthread_mutex_unlock(&d->waiting->mutex);
    bale_scratch_destroy(scratch);
}

/* Which codec is decided here, from the bytes alone. Whether it could be. */
static bool choose_codec(struct bale_dispatch *d, struct bale_item *item)
{
    struct bale_scratch *scratch = take_scratch(d);

    if (!scratch)
        return false;
    item->setting = bale_auto_choose(scratch, item->setting, item->raw, item->frame.raw_length);
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
           !(BALE_CLOSED_CODECS >> head.codec & 1);
}

static bool may_go(struct bale_dispatch *d, struct bale_item *item)
{
    if (item->priority == BALE_PRIORITY_HIGH || item->frame.raw_length == 0 ||
        (item->kind == BALE_ITEM_DECODE && !is_trusted(d, item)))
        return false;
    if (item->kind == BALE_ITEM_ENCODE && bale_setting_is_open(item->setting) &&
        (item->place == BALE_PLACE_DEVICE || !choose_codec(d, item)))
        return false;
    return bale_work_of(item) < BALE_WORKS && d->gpu->takes(d->device, item);
}

static void offer(struct bale_dispatch *d, struct bale_item *list)
{
    struct bale_waiting *waiting = d->waiting;
    unsigned takable = 0;

    if (d->options.choice == BALE_ENGINE_AUTO)
        bale_busy_look(&d->busy);
    pthread_mutex_lock(&waiting->mutex);
    while (list) {
        struct bale_item *next = list->next;
        unsigned work = bale_work_of(list);
        bale_waiting_offer(waiting, list, work);
        takable += waiting->offered[work].bytes > waiting->offered[work].keep;
        list = next;
    }
    struct bale_batch *batches = bale_dispatch_gather(d);
    bale_waiting_wake(waiting, takable);
    pthread_mutex_unlock(&waiting->mutex);
    bale_dispatch_send(d, batches);
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    struct bale_dispatch *d = from_handle(engine);
    struct bale_items ours = {0};
    struct bale_items offered = {0};

    if (!enter(d)) {
        bale_engine_submit(d->cpu, list);
        return;
    }
    while (list) {
        struct bale_item *next = list->next;
        bale_items_put(may_go(d, list) ? &offered : &ours, list);
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

    if (work >= BALE_WORKS || !bale_dispatch_collects_work(d, work) || !enter(d))
        return false;
    bool better = may_go(d, item);
    leave(d);
    return better;
}

static bool here(struct bale_engine *engine, struct bale_item *item, struct bale_scratch *scratch)
{
    struct bale_dispatch *d = from_handle(engine);

    if (atomic_load_explicit(&d->asked, memory_order_relaxed) &&
        (item->kind != BALE_ITEM_DECODE || had_better_wait(d, item)))
        return false;
    return bale_engine_here(d->cpu, item, scratch);
}

/* ---- Life ---- */

/* Nobody uses the GPU engine from now on. What was offered is the workers'. */
static void stop_asking(struct bale_dispatch *d)
{
    pthread_mutex_lock(&d->waiting->mutex);
    atomic_store(&d->asked, false);
    for (unsigned work = 0; work < BALE_WORKS; work++) {
        d->waiting->offered[work].keep = 0;
        bale_waiting_wake(d->waiting, d->waiting->offered[work].count);
    }
    while (d->batches > 0 || atomic_load(&d->users) > 0)
        pthread_cond_wait(&d->idle, &d->waiting->mutex);
    pthread_mutex_unlock(&d->waiting->mutex);
}

static void tell(struct bale_dispatch *d, int level, const char *what, const char *then)
{
    char text[2 * BALE_GPU_WHY];

    snprintf(text, sizeof text, "GPU: %s%s", what, then);
    d->options.gpu.log(level, text);
}

/* Signals are for the program's own threads. */
static bool start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, NULL, run, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* False: it is with the plug-in, and has been left there. */
static bool end_opening(struct bale_dispatch *d)
{
    if (!d->opening || bale_join_within(d->opener, BALE_PATIENCE_S))
        return true;
    if (atomic_exchange(&d->where, BALE_OPENER_LEFT) == BALE_OPENER_BACK)
        return pthread_join(d->opener, NULL) == 0;
    pthread_detach(d->opener);
    return false;
}

static void *close_gpu(void *device)
{
    bale_engine_destroy(device);
    return NULL;
}

/* False: somebody is with the plug-in, and has been left there. */
static bool close_device(struct bale_dispatch *d)
{
    pthread_t closer;

    if (!d->device)
        return true;
    if (atomic_load(&d->pins) > 0 || !start_thread(&closer, close_gpu, d->device))
        return false;
    if (bale_join_within(closer, BALE_PATIENCE_S))
        return true;
    pthread_detach(closer);
    return false;
}

/* Those that were destroyed with a thread in the plug-in. */
static _Atomic(struct bale_dispatch *) left;

bool bale_dispatch_hangs(void)
{
    return atomic_load(&left) != NULL;
}

/* Nothing that a thread with the plug-in may touch is freed, and that is d alone. */
static void destroy(struct bale_engine *engine)
{
    struct bale_dispatch *d = from_handle(engine);
    bool back = end_opening(d);

    stop_asking(d);
    back = back && close_device(d);
    bale_engine_destroy(d->cpu);
    for (unsigned i = 0; i < d->scratch_count; i++)
        bale_scratch_destroy(d->scratches[i]);
    pthread_cond_destroy(&d->idle);
    if (back) {
        free(d);
        return;
    }
    d->left = atomic_exchange(&left, d);
    tell(d, BALE_GPU_WARNING, "the driver does not answer",
         ": it is left to itself as the mount ends: see the kernel's log");
}

static const struct bale_engine_ops ops = {
    .name = "dispatch",
    .done_may_wait = true,
    .submit = submit,
    .here = here,
    .destroy = destroy,
};

int bale_dispatch_create(const struct bale_dispatch_options *options, struct bale_engine **engine)
{
    struct bale_dispatch *d = calloc(1, sizeof *d);
    int err = d ? bale_engine_cpu_create(options->threads, &d->cpu) : BALE_E_NOMEM;

    if (err < 0) {
        free(d);
        return err;
    }
    d->engine.ops = &ops;
    d->options = *options;
    d->options.gpu.insist = options->choice == BALE_ENGINE_GPU;
    d->waiting = bale_engine_cpu_waiting(d->cpu);
    d->threads = bale_engine_cpu_threads(d->cpu);
    pthread_cond_init(&d->idle, NULL);
    *engine = &d->engine;
    return BALE_OK;
}

/* ---- Opening the GPU engine ---- */

/* Only to who asked for a GPU is it worth a warning. */
static void tell_refused(struct bale_dispatch *d, const char *why)
{
    if (d->options.gpu.insist)
        tell(d, BALE_GPU_WARNING, why,
             ": the CPU does everything: balefs doctor tells what this machine lacks");
    else
        tell(d, BALE_GPU_INFO, why, ": the CPU does everything");
}

static void settle(struct bale_dispatch *d, int outcome, const char *why)
{
    pthread_mutex_lock(&d->waiting->mutex);
    d->settled = true;
    d->outcome = outcome;
    snprintf(d->why, sizeof d->why, "%s", why);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->waiting->mutex);
}

static void *open_gpu(void *argument)
{
    struct bale_dispatch *d = argument;
    char why[BALE_GPU_WHY] = "";
    int err = bale_gpu_load(d->options.plugin, &d->gpu, why);

    if (err == BALE_OK)
        err = d->gpu->open(&d->options.gpu, &d->device, why);
    if (atomic_exchange(&d->where, BALE_OPENER_BACK) == BALE_OPENER_LEFT)
        return NULL;
    if (err < 0) {
        d->device = NULL;
        tell_refused(d, why[0] ? why : bale_err_text(err));
        settle(d, err, why[0] ? why : bale_err_text(err));
        return NULL;
    }
    struct bale_gpu_stats stats = {0};
    d->gpu->stats(d->device, &stats);
    tell(d, BALE_GPU_INFO, stats.device, ": open");
    bale_engine_cpu_measure(d->cpu, &d->costs);
    atomic_store(&d->opened, true);
    atomic_store(&d->asked, true);
    if (d->options.opened)
        d->options.opened(d->options.arg);
    settle(d, BALE_OK, "");
    return NULL;
}

void bale_dispatch_open(struct bale_engine *engine)
{
    struct bale_dispatch *d = from_handle(engine);

    if (d->options.choice == BALE_ENGINE_CPU)
        return;
    d->opening = start_thread(&d->opener, open_gpu, d);
    if (d->opening)
        return;
    tell(d, BALE_GPU_WARNING, "no thread to open it", ": the CPU does everything");
    settle(d, BALE_E_NOMEM, "no thread to open it");
}

int bale_dispatch_wait(struct bale_engine *engine, char why[BALE_GPU_WHY])
{
    struct bale_dispatch *d = from_handle(engine);
    struct timespec until;
    int err = BALE_E_ENGINE;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_S;
    snprintf(why, BALE_GPU_WHY, "the driver does not answer");
    pthread_mutex_lock(&d->waiting->mutex);
    while (!d->settled && pthread_cond_timedwait(&d->idle, &d->waiting->mutex, &until) == 0)
        ;
    if (d->settled) {
        err = d->outcome;
        snprintf(why, BALE_GPU_WHY, "%s", d->why);
    }
    pthread_mutex_unlock(&d->waiting->mutex);
    return err;
}

const struct bale_gpu *bale_dispatch_gpu(struct bale_engine *engine, struct bale_engine **device)
{
    struct bale_dispatch *d = from_handle(engine);

    *device = d->device;
    return d->gpu;
}

void bale_dispatch_choose(struct bale_engine *engine, enum bale_engine_choice choice)
{
    struct bale_dispatch *d = from_handle(engine);

    /* The last batch may be back, and still be learnt from. */
    pthread_mutex_lock(&d->waiting->mutex);
    d->options.choice = choice;
    pthread_mutex_unlock(&d->waiting->mutex);
}

int bale_dispatch_pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct bale_dispatch *d = from_handle(engine);

    atomic_fetch_add(&d->pins, 1);
    int err = d->gpu->pin(d->device, memory, size);
    atomic_fetch_sub(&d->pins, 1); /* d may be gone */
    return err;
}

bool bale_dispatch_collects(struct bale_engine *engine)
{
    struct bale_dispatch *d = from_handle(engine);
    bool collects = false;

    if (!atomic_load_explicit(&d->asked, memory_order_relaxed))
        return false;
    for (unsigned codec = 0; codec < BALE_WORK_CODECS && !collects; codec++)
        collects = bale_dispatch_wants(d, BALE_WORK_CODECS + codec);
    return collects;
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
    struct bale_dispatch *d = from_handle(engine);

    *stats = (struct bale_dispatch_stats){
        .cpu = work_of(bale_engine_cpu_count(d->cpu)),
        .gpu = work_of(&d->count),
        .used = atomic_load(&d->asked),
    };
    pthread_mutex_lock(&d->waiting->mutex);
    stats->batches = d->batches_begun;
    stats->redone = d->redone;
    stats->unable = d->unable;
    pthread_mutex_unlock(&d->waiting->mutex);
    if (atomic_load(&d->opened))
        d->gpu->stats(d->device, &stats->device);
}
