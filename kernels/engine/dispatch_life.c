/* The dispatcher's life, and its GPU engine's: how they begin and end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/join.h"
#include "kernels/engine/dispatch_internal.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/registry.h"

#define OPEN_S 60 /* for a GPU engine to open: much more than it takes */

/* Nobody uses the GPU engine from now on. What was offered is the workers'. */
static void stop_asking(struct bale_dispatch *d)
{
    pthread_mutex_lock(&d->queue->mutex);
    atomic_store(&d->asked, false);
    for (unsigned work = 0; work < BALE_WORKS; work++) {
        d->queue->offered[work].keep = 0;
        bale_work_queue_wake(d->queue, d->queue->offered[work].count);
    }
    while (d->batches > 0 || atomic_load(&d->users) > 0)
        pthread_cond_wait(&d->idle, &d->queue->mutex);
    pthread_mutex_unlock(&d->queue->mutex);
}

static void tell(struct bale_dispatch *d, int level, const char *what, const char *then)
{
    char text[2 * BALE_REASON_SIZE];

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
    struct bale_dispatch *d = bale_dispatch_of(engine);
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
    .submit = bale_dispatch_submit,
    .run_inline = bale_dispatch_run_inline,
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
    d->queue = bale_engine_cpu_queue(d->cpu);
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
    pthread_mutex_lock(&d->queue->mutex);
    d->settled = true;
    d->outcome = outcome;
    bale_reason_set(&d->why, "%s", why);
    pthread_cond_broadcast(&d->idle);
    pthread_mutex_unlock(&d->queue->mutex);
}

static void *open_gpu(void *argument)
{
    struct bale_dispatch *d = argument;
    struct bale_reason why = {0};
    int err = bale_plugin_load(d->options.plugin, &d->gpu, &why);

    if (err == BALE_OK)
        err = d->gpu->open(&d->options.gpu, &d->device, &why);
    if (atomic_exchange(&d->where, BALE_OPENER_BACK) == BALE_OPENER_LEFT)
        return NULL;
    if (err < 0) {
        d->device = NULL;
        tell_refused(d, why.text[0] ? why.text : bale_err_text(err));
        settle(d, err, why.text[0] ? why.text : bale_err_text(err));
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
    struct bale_dispatch *d = bale_dispatch_of(engine);

    if (d->options.choice == BALE_ENGINE_CPU)
        return;
    d->opening = start_thread(&d->opener, open_gpu, d);
    if (d->opening)
        return;
    tell(d, BALE_GPU_WARNING, "no thread to open it", ": the CPU does everything");
    settle(d, BALE_E_NOMEM, "no thread to open it");
}

int bale_dispatch_wait(struct bale_engine *engine, struct bale_reason *why)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);
    struct timespec until;
    int err = BALE_E_ENGINE;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += OPEN_S;
    bale_reason_set(why, "the driver does not answer");
    pthread_mutex_lock(&d->queue->mutex);
    while (!d->settled && pthread_cond_timedwait(&d->idle, &d->queue->mutex, &until) == 0)
        ;
    if (d->settled) {
        err = d->outcome;
        bale_reason_set(why, "%s", d->why.text);
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

void bale_dispatch_choose(struct bale_engine *engine, enum bale_engine_choice choice)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    /* The last batch may be back, and still be learnt from. */
    pthread_mutex_lock(&d->queue->mutex);
    d->options.choice = choice;
    pthread_mutex_unlock(&d->queue->mutex);
}

int bale_dispatch_pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct bale_dispatch *d = bale_dispatch_of(engine);

    atomic_fetch_add(&d->pins, 1);
    int err = d->gpu->pin(d->device, memory, size);
    atomic_fetch_sub(&d->pins, 1); /* d may be gone */
    return err;
}
