/* The engine's life, and how items come to it: kernels/engine/engine.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/base/join.h"
#include "kernels/base/lock.h"
#include "kernels/cuda/engine.h"

enum { RELEASE_MS = 30000, WATCHDOG_MS = 10000 };

/* With the mutex. Where nothing is open an item is answered at once, and opening begins. */
static void put(struct cuda_engine *e, struct bale_item *item)
{
    struct bale_frame head;
    int q = bale_cuda_queue_of(item, &head);

    if (q >= 0 && item->kind == BALE_ITEM_DECODE)
        item->frame = head;
    if (q < 0 || bale_frame_chunk_count(&item->frame) > e->cells) {
        item->status = q < 0 ? q : BALE_E_INVALID;
        item->next = e->refused;
        e->refused = item;
        return;
    }
    bale_cuda_queue_put(&e->queues[q],
                        e->apart ? bale_cuda_pinned_device(&e->pinned, item->raw) : 0, item);
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    struct cuda_engine *e = bale_cuda_engine(engine);

    pthread_mutex_lock(&e->mutex);
    while (list) {
        struct bale_item *next = list->next;
        put(e, list);
        list = next;
    }
    if (e->state == CUDA_CLOSED || e->state == CUDA_CLOSING || e->state == CUDA_HUNG)
        e->wanted = true;
    if (e->refused || e->state != CUDA_OPEN)
        pthread_cond_signal(&e->care);
    pthread_cond_broadcast(&e->work);
    pthread_mutex_unlock(&e->mutex);
}

static bool run_inline(struct bale_engine *engine, struct bale_item *item,
                       struct bale_scratch *scratch)
{
    (void)engine;
    (void)item;
    (void)scratch;
    return false;
}

static void stop(struct cuda_engine *e)
{
    pthread_mutex_lock(&e->mutex);
    e->stop = true;
    pthread_cond_broadcast(&e->work);
    pthread_cond_broadcast(&e->care);
    pthread_mutex_unlock(&e->mutex);
}

/* Whether the thread ended: one that waits for a device that hangs never does. */
static bool join(const struct cuda_engine *e, pthread_t thread)
{
    return bale_join_within(thread, e->options.watchdog_ms / 1000 + 1);
}

/* The supervisor ends when no item waits or is under way. What a hanging device still has stays as it
 * is, and what is pinned stays so: freeing it would hang as well, or have the device read what is no
 * longer there. */
static void destroy(struct bale_engine *engine)
{
    struct cuda_engine *e = bale_cuda_engine(engine);
    bool ended = true;

    stop(e);
    if (e->supervisor_started)
        ended = join(e, e->supervisor);
    for (unsigned i = 0; i < e->worker_count; i++)
        if (e->workers[i].started)
            ended &= join(e, e->workers[i].thread);
    if (!ended)
        return;
    bale_cuda_close_devices(e);
    bale_cuda_pinned_destroy(&e->pinned);
    pthread_cond_destroy(&e->work);
    pthread_cond_destroy(&e->care);
    pthread_mutex_destroy(&e->pinning);
    pthread_mutex_destroy(&e->mutex);
    free(e);
}

static const struct bale_engine_ops ops = {
    .name = "cuda",
    .done_may_wait = false,
    .submit = submit,
    .run_inline = run_inline,
    .destroy = destroy,
};

static int check_device(const struct bale_gpu_options *options, struct bale_driver_device *device,
                        int ordinal, struct bale_reason *why)
{
    const char *what = NULL;

    if (bale_driver_query(ordinal, device) < 0) {
        bale_reason_set(why, "there is no device %d", ordinal);
        return BALE_E_DEVICE;
    }
    if (!device->usable)
        what = "cannot use the host's memory where it is";
    else if (device->prohibited)
        what = "its compute mode is prohibited";
    else if (device->exclusive && !options->insist)
        what = "its compute mode is exclusive, and another program may want it";
    if (!what)
        return BALE_OK;
    bale_reason_set(why, "%s: %s", device->name, what);
    return BALE_E_DEVICE;
}

/* Which devices, before anything is made on them. */
int bale_cuda_find_devices(struct cuda_engine *e, struct bale_reason *why)
{
    int err = bale_driver_open(why);

    if (err == BALE_OK && bale_driver_count() == 0) {
        bale_reason_set(why, "the driver shows no device");
        err = BALE_E_DEVICE;
    }
    for (unsigned i = 0; err == BALE_OK && i < e->device_count; i++) {
        int ordinal = e->options.device_count > 0 ? e->options.devices[i] : bale_driver_nearest();
        err = check_device(&e->options, &e->about[i], ordinal, why);
        e->apart |= e->about[i].node >= 0 && e->about[i].node != e->about[0].node;
    }
    return err;
}

struct cuda_engine *bale_cuda_engine_create(const struct bale_gpu_options *options)
{
    unsigned devices = options->device_count > 0 ? options->device_count : 1;
    unsigned workers = devices * BALE_CUDA_SLOTS;
    struct cuda_engine *e = calloc(1, sizeof *e + workers * sizeof e->workers[0]);
    pthread_condattr_t monotonic;

    if (!e)
        return NULL;
    e->engine.ops = &ops;
    e->options = *options;
    e->options.release_ms = options->release_ms > 0 ? options->release_ms : RELEASE_MS;
    e->options.watchdog_ms = options->watchdog_ms > 0 ? options->watchdog_ms : WATCHDOG_MS;
    e->device_count = devices;
    e->worker_count = workers;
    for (unsigned i = 0; i < workers; i++)
        e->workers[i] =
            (struct cuda_worker){.engine = e, .device = i % devices, .index = i / devices};
    bale_cuda_pinned_init(&e->pinned);
    bale_short_lock_init(&e->mutex);
    pthread_mutex_init(&e->pinning, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->care, &monotonic);
    pthread_cond_init(&e->work, NULL);
    pthread_condattr_destroy(&monotonic);
    return e;
}

static int start(struct cuda_engine *e, struct bale_reason *why)
{
    struct bale_reason missing = {0};
    int err = bale_cuda_find_devices(e, why);

    if (err < 0)
        return err;
    e->has_nvcomp = bale_nvcomp_open(&e->nvcomp, &missing) == BALE_OK;
    err = bale_cuda_open_devices(e, why);
    if (err < 0)
        return err;
    if (!e->has_nvcomp)
        bale_cuda_log(e, BALE_GPU_WARNING, "GPU: %s: zstd and lz4 stay with the CPU", missing.text);
    e->state = CUDA_OPEN;
    e->idle_ns = bale_clock_ns();
    e->supervisor_started =
        pthread_create(&e->supervisor, NULL, bale_cuda_supervisor_thread, e) == 0;
    for (unsigned i = 0; e->supervisor_started && i < e->worker_count; i++) {
        struct cuda_worker *w = &e->workers[i];
        w->started = pthread_create(&w->thread, NULL, bale_cuda_worker_thread, w) == 0;
        if (!w->started)
            err = BALE_E_NOMEM;
    }
    if (!e->supervisor_started || err < 0) {
        bale_reason_set(why, "no thread for it");
        return BALE_E_NOMEM;
    }
    return BALE_OK;
}

/* The driver's threads block signals as ours do: those are for the program's own. */
int bale_cuda_engine_open(const struct bale_gpu_options *options, struct bale_engine **engine,
                          struct bale_reason *why)
{
    struct cuda_engine *e;
    sigset_t all;
    sigset_t before;
    int err;

    if (options->device_count > BALE_GPU_DEVICES)
        return BALE_E_INVALID;
    e = bale_cuda_engine_create(options);
    if (!e)
        return BALE_E_NOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = start(e, why);
    if (err < 0)
        destroy(&e->engine);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err == BALE_OK)
        *engine = &e->engine;
    return err;
}
