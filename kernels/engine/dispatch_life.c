/* Creation and destruction of the dispatcher, and opening and closing of its GPU engine. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/cond.h"
#include "kernels/base/join.h"
#include "kernels/base/thread.h"
#include "kernels/engine/dispatch_internal.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/registry.h"

/* From a refusal for lack of memory to the next try, at least: asking how much is free is cheap, a
 * context that is made for nothing is not. */
#define RETRY_NS (5 * BALE_SECOND_NS)

/* Takes the GPU engine out of use, leaves offered items to the workers, and waits for batches in
 * flight. */
static void stop_using_gpu(struct bale_dispatch *d)
{
    pthread_mutex_lock(&d->queue->mutex);
    atomic_store(&d->in_use, false);
    for (unsigned work = 0; work < BALE_WORKS; work++) {
        d->queue->offered[work].reserved = 0;
        bale_work_queue_wake(d->queue,
                             bale_work_queue_sleepers(d->queue, d->queue->offered[work].count));
    }
    while (d->batches > 0 || atomic_load(&d->gpu_users) > 0)
        pthread_cond_wait(&d->idle, &d->queue->mutex);
    pthread_mutex_unlock(&d->queue->mutex);
}

static void log_message(struct bale_dispatch *d, int level, const char *what, const char *then)
{
    char text[2 * BALE_REASON_SIZE];

    snprintf(text, sizeof text, "GPU: %s%s", what, then);
    d->options.gpu.log(level, text);
}

/* The thread blocks all signals, which are for the program's own threads. */
static bool start_thread(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = bale_thread_start(thread, name, run, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void bale_dispatch_end_tries(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    pthread_mutex_lock(&d->queue->mutex);
    d->ending = true;
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

/* False: the thread hangs in the plug-in and is abandoned. */
static bool join_opener(struct bale_dispatch *d)
{
    bale_dispatch_end_tries(&d->engine);
    if (!d->opening || bale_join_within(d->opener, BALE_PATIENCE_S))
        return true;
    if (atomic_exchange(&d->opener_state, BALE_OPENER_ABANDONED) == BALE_OPENER_RETURNED)
        return pthread_join(d->opener, NULL) == 0;
    pthread_detach(d->opener);
    return false;
}

static void *closer_thread(void *device)
{
    bale_engine_destroy(device);
    return NULL;
}

/* False: a thread hangs in the plug-in and is abandoned. */
static bool close_device(struct bale_dispatch *d)
{
    pthread_t closer;

    if (!d->device)
        return true;
    if (atomic_load(&d->pins) > 0 ||
        !start_thread(&closer, "balefs-closer", closer_thread, d->device))
        return false;
    if (bale_join_within(closer, BALE_PATIENCE_S))
        return true;
    pthread_detach(closer);
    return false;
}

/* The dispatchers that were destroyed with a thread in the plug-in; they stay reachable. */
static _Atomic(struct bale_dispatch *) abandoned;

bool bale_dispatch_hangs(void)
{
    return atomic_load(&abandoned) != NULL;
}

/* A thread that hangs in the plug-in may access d when it returns, and nothing else: then d is
 * not freed. */
static void dispatch_destroy(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);
    bool closed = join_opener(d);

    stop_using_gpu(d);
    closed = closed && close_device(d);
    bale_engine_destroy(d->cpu);
    for (unsigned i = 0; i < d->scratch_count; i++)
        bale_scratch_destroy(d->scratches[i]);
    pthread_cond_destroy(&d->idle);
    if (closed) {
        free(d);
        return;
    }
    d->next_abandoned = atomic_exchange(&abandoned, d);
    log_message(d, BALE_GPU_WARNING, "the driver does not answer",
                ": it is left to itself as the mount ends: see the kernel's log");
}

static const struct bale_engine_ops dispatch_ops = {
    .name = "dispatch",
    .submit = bale_dispatch_submit,
    .run_inline = bale_dispatch_run_inline,
    .destroy = dispatch_destroy,
};

int bale_dispatch_create(const struct bale_dispatch_options *options, struct bale_engine **engine)
{
    struct bale_dispatch *d = calloc(1, sizeof *d);
    int err = d ? bale_engine_cpu_create(options->threads, &d->cpu) : BALE_E_NOMEM;

    if (err < 0) {
        free(d);
        return err;
    }
    d->engine.ops = &dispatch_ops;
    d->options = *options;
    d->options.gpu.insist = options->choice == BALE_ENGINE_GPU;
    d->queue = bale_engine_cpu_queue(d->cpu);
    d->threads = bale_engine_cpu_threads(d->cpu);
    bale_cond_init(&d->idle);
    *engine = &d->engine;
    return BALE_OK;
}

/* ---- Opening the GPU engine ---- */

/* An owner that is not told when it opens would never use it. */
static bool is_tried_again(const struct bale_dispatch *d, int err)
{
    return err == BALE_E_NOMEM && d->options.opened;
}

/* A warning only if the user chose the GPU. */
static void log_refused(struct bale_dispatch *d, int err, const char *why)
{
    bool insists = d->options.gpu.insist;
    const char *advice = is_tried_again(d, err) ? ": later work tries it again"
                         : insists              ? ": balefs doctor shows what this machine lacks"
                                                : "";
    char then[BALE_REASON_SIZE];

    snprintf(then, sizeof then, ": the CPU does everything%s", advice);
    log_message(d, insists ? BALE_GPU_WARNING : BALE_GPU_INFO, why, then);
}

static void set_open_result(struct bale_dispatch *d, int result, const char *why)
{
    pthread_mutex_lock(&d->queue->mutex);
    d->open_decided = true;
    d->open_result = result;
    bale_reason_set(&d->open_reason, "%s", why);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

/* BALE_OK, or a negative bale_err with why. */
static int open_gpu(struct bale_dispatch *d, struct bale_reason *why)
{
    d->options.gpu.begin_ns = bale_clock_ns();
    int err = bale_plugin_load(d->options.plugin, &d->gpu, why);

    if (err == BALE_OK)
        err = d->gpu->open(&d->options.gpu, &d->device, why);
    if (err < 0 && !why->text[0])
        bale_reason_set(why, "%s", bale_err_text(err));
    return err;
}

static bool is_ending(struct bale_dispatch *d)
{
    pthread_mutex_lock(&d->queue->mutex);
    bool ending = d->ending;
    pthread_mutex_unlock(&d->queue->mutex);
    return ending;
}

/* One that opens too late is left to destroy. */
static void use_gpu(struct bale_dispatch *d)
{
    struct bale_gpu_stats stats = {0};

    if (is_ending(d))
        return;
    d->gpu->stats(d->device, &stats);
    log_message(d, BALE_GPU_INFO, stats.device, ": open");
    bale_engine_cpu_measure(d->cpu, &d->costs);
    for (unsigned work = 0; work < BALE_WORKS; work++)
        atomic_store(&d->promising[work], true);
    atomic_store(&d->opened, true);
    atomic_store(&d->in_use, true);
    if (d->options.opened)
        d->options.opened(d->options.arg);
}

/* False: the dispatcher ends. Else the opener is in the plug-in again. */
static bool wait_for_work(struct bale_dispatch *d)
{
    const uint64_t not_before = bale_clock_ns() + RETRY_NS;

    pthread_mutex_lock(&d->queue->mutex);
    while (!d->ending && bale_clock_ns() < not_before)
        (void)bale_cond_wait_until(&d->idle, &d->queue->mutex, not_before);
    atomic_store(&d->awaits_work, true);
    while (!d->ending && atomic_load(&d->awaits_work))
        pthread_cond_wait(&d->idle, &d->queue->mutex);
    bool again = !d->ending;
    if (again)
        atomic_store(&d->opener_state, BALE_OPENER_RUNNING);
    pthread_mutex_unlock(&d->queue->mutex);
    return again;
}

/* Opens the GPU engine. If the devices lack memory, which others may give back, it tries again as
 * long as work comes: but only once so much is free, since each try that finds out later makes a
 * context and destroys it. */
static void *opener_thread(void *argument)
{
    struct bale_dispatch *d = argument;
    bool refused = false;
    int err;

    do {
        struct bale_reason why = {0};
        err = open_gpu(d, &why);
        if (atomic_exchange(&d->opener_state, BALE_OPENER_RETURNED) == BALE_OPENER_ABANDONED)
            return NULL;
        if (err == BALE_OK) {
            use_gpu(d);
        } else {
            d->device = NULL;
            if (!refused || err != BALE_E_NOMEM)
                log_refused(d, err, why.text);
            refused = true;
        }
        set_open_result(d, err, why.text);
        d->options.gpu.if_free = true;
    } while (is_tried_again(d, err) && wait_for_work(d));
    return NULL;
}

void bale_dispatch_open(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (d->options.choice == BALE_ENGINE_CPU)
        return;
    d->opening = start_thread(&d->opener, "balefs-opener", opener_thread, d);
    if (d->opening)
        return;
    log_message(d, BALE_GPU_WARNING, "no thread to open it", ": the CPU does everything");
    set_open_result(d, BALE_E_NOMEM, "no thread to open it");
}

int bale_dispatch_wait(struct bale_engine *engine, unsigned ms, struct bale_reason *why)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);
    uint64_t until = bale_clock_ns() + ms * BALE_MILLISECOND_NS;
    int err = BALE_E_ENGINE;

    bale_reason_set(why, "the driver does not answer");
    pthread_mutex_lock(&d->queue->mutex);
    while (d->opening && !d->open_decided &&
           bale_cond_wait_until(&d->idle, &d->queue->mutex, until))
        ;
    if (d->open_decided) {
        err = d->open_result;
        bale_reason_set(why, "%s", d->open_reason.text);
    }
    pthread_mutex_unlock(&d->queue->mutex);
    return err;
}

const struct bale_gpu *bale_dispatch_gpu(struct bale_engine *engine, struct bale_engine **device)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    *device = d->device;
    return d->gpu;
}

void bale_dispatch_set_choice(struct bale_engine *engine, enum bale_engine_choice choice)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    /* finish_batch of the last batch may still be running. */
    pthread_mutex_lock(&d->queue->mutex);
    d->options.choice = choice;
    pthread_mutex_unlock(&d->queue->mutex);
}

void bale_dispatch_release_gpu(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (atomic_load(&d->opened))
        d->gpu->release(d->device);
}

void bale_dispatch_unpin(struct bale_engine *engine)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (atomic_load(&d->opened))
        d->gpu->unpin(d->device);
}

bool bale_dispatch_while_unpinned(struct bale_engine *engine, void (*call)(void *arg), void *arg)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    return atomic_load(&d->opened) && d->gpu->while_unpinned(d->device, call, arg);
}

int bale_dispatch_pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    atomic_fetch_add(&d->pins, 1);
    int err = d->gpu->pin(d->device, memory, size);
    atomic_fetch_sub(&d->pins, 1); /* from here on d may be gone */
    return err;
}
