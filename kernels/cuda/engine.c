/* The engine's creation, submit and destruction: kernels/engine/engine.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/base/cond.h"
#include "kernels/base/join.h"
#include "kernels/base/lock.h"
#include "kernels/base/thread.h"
#include "kernels/cuda/engine.h"

enum { RELEASE_MS = 30000, WATCHDOG_MS = 10000 };

bool bale_cuda_reaches(struct cuda_engine *engine, const struct bale_item *item)
{
    size_t stored = item->kind == BALE_ITEM_ENCODE ? item->capacity : item->stored_length;
    bool raw = item->memory_kind == BALE_MEMORY_DEVICE
                   ? engine->device_count == 1 && item->device == engine->info[0].ordinal
                   : bale_cuda_pinned_has(&engine->pinned, item->raw, item->frame.raw_length);

    return raw && bale_cuda_pinned_has(&engine->pinned, item->stored, stored);
}

/* Queues an item, or adds it to the refused ones. The devices may have been opened again since the
 * engine was asked whether it takes the item: then its memory may not be pinned yet, and a codec
 * for which there is too little memory now is left out. With the mutex. */
static void queue_item(struct cuda_engine *engine, struct bale_item *item)
{
    struct bale_frame head;
    int q = bale_cuda_reaches(engine, item) ? bale_cuda_queue_of(item, &head) : BALE_E_NO_DEVICE;

    if (q >= 0 && !engine->available[q % CUDA_CODECS])
        q = BALE_E_NO_DEVICE;
    if (q >= 0 && item->kind == BALE_ITEM_DECODE)
        item->frame = head;
    if (q < 0 || bale_cuda_cells(&item->frame) > engine->cells) {
        item->status = q < 0 ? q : BALE_E_INVALID;
        item->next = engine->refused;
        engine->refused = item;
        return;
    }
    bale_cuda_queue_put(
        &engine->queues[q],
        engine->several_nodes ? bale_cuda_pinned_device(&engine->pinned, item->raw) : 0, item);
}

static void cuda_submit(struct bale_engine *handle, struct bale_item *list)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    pthread_mutex_lock(&engine->mutex);
    while (list) {
        struct bale_item *next = list->next;
        queue_item(engine, list);
        list = next;
    }
    if (engine->state == CUDA_CLOSED || engine->state == CUDA_KEPT ||
        engine->state == CUDA_CLOSING || engine->state == CUDA_HUNG)
        engine->open_wanted = true;
    if (engine->refused || engine->state != CUDA_OPEN)
        pthread_cond_signal(&engine->supervisor_wake);
    pthread_cond_broadcast(&engine->worker_wake);
    pthread_mutex_unlock(&engine->mutex);
}

static bool cuda_run_inline(struct bale_engine *handle, struct bale_item *item,
                            struct bale_scratch *scratch)
{
    (void)handle;
    (void)item;
    (void)scratch;
    return false;
}

static void stop_threads(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stop = true;
    pthread_cond_broadcast(&engine->worker_wake);
    pthread_cond_broadcast(&engine->supervisor_wake);
    pthread_cond_signal(&engine->pinner_wake);
    pthread_mutex_unlock(&engine->mutex);
}

/* Joins a thread. False: it waits for a device that hangs. */
static bool join_thread(const struct cuda_engine *engine, pthread_t thread)
{
    return bale_join_within(thread, engine->options.watchdog_ms / 1000 + 1);
}

/* The supervisor ends when no item waits or is in flight. If a device hangs, everything that it
 * may access stays allocated and pinned: freeing it would hang as well, or let the device read
 * freed memory. */
static void cuda_destroy(struct bale_engine *handle)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);
    bool ended = true;

    stop_threads(engine);
    if (engine->supervisor_started)
        ended = join_thread(engine, engine->supervisor);
    if (engine->pinner_started)
        ended &= join_thread(engine, engine->pinner);
    for (unsigned i = 0; i < engine->worker_count; i++)
        if (engine->workers[i].started)
            ended &= join_thread(engine, engine->workers[i].thread);
    if (!ended)
        return;
    bale_cuda_close_devices(engine);
    bale_cuda_pinned_destroy(&engine->pinned);
    pthread_cond_destroy(&engine->worker_wake);
    pthread_cond_destroy(&engine->supervisor_wake);
    pthread_cond_destroy(&engine->pinner_wake);
    pthread_mutex_destroy(&engine->pinning);
    pthread_mutex_destroy(&engine->mutex);
    free(engine);
}

static const struct bale_engine_ops cuda_ops = {
    .name = "cuda",
    .submit = cuda_submit,
    .run_inline = cuda_run_inline,
    .destroy = cuda_destroy,
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

int bale_cuda_find_devices(struct cuda_engine *engine, struct bale_reason *why)
{
    int err = bale_driver_open(why);

    if (err == BALE_OK && bale_driver_count() == 0) {
        bale_reason_set(why, "the driver shows no device");
        err = BALE_E_DEVICE;
    }
    for (unsigned i = 0; err == BALE_OK && i < engine->device_count; i++) {
        int ordinal =
            engine->options.device_count > 0 ? engine->options.devices[i] : bale_driver_nearest();
        err = check_device(&engine->options, &engine->info[i], ordinal, why);
        engine->several_nodes |=
            engine->info[i].node >= 0 && engine->info[i].node != engine->info[0].node;
    }
    return err;
}

struct cuda_engine *bale_cuda_engine_create(const struct bale_gpu_options *options)
{
    unsigned devices = options->device_count > 0 ? options->device_count : 1;
    unsigned workers = devices * BALE_CUDA_SLOTS;
    struct cuda_engine *engine = calloc(1, sizeof *engine + workers * sizeof engine->workers[0]);

    if (!engine)
        return NULL;
    engine->base.ops = &cuda_ops;
    engine->options = *options;
    engine->options.release_ms = options->release_ms > 0 ? options->release_ms : RELEASE_MS;
    if (options->slots_ms == 0 || options->slots_ms > engine->options.release_ms)
        engine->options.slots_ms = engine->options.release_ms;
    engine->options.watchdog_ms = options->watchdog_ms > 0 ? options->watchdog_ms : WATCHDOG_MS;
    engine->device_count = devices;
    engine->worker_count = workers;
    for (unsigned i = 0; i < workers; i++)
        engine->workers[i] =
            (struct cuda_worker){.engine = engine, .device = i % devices, .index = i / devices};
    bale_cuda_pinned_init(&engine->pinned);
    bale_short_lock_init(&engine->mutex);
    pthread_mutex_init(&engine->pinning, NULL);
    bale_cond_init(&engine->supervisor_wake);
    pthread_cond_init(&engine->worker_wake, NULL);
    pthread_cond_init(&engine->pinner_wake, NULL);
    return engine;
}

/* Opens the devices for the first time. */
static int open_devices(struct cuda_engine *engine, struct bale_reason *missing,
                        struct bale_reason *why)
{
    struct bale_gpu_timeline opening = {.begin_ns = engine->options.begin_ns};
    uint64_t now = bale_clock_ns();
    int err;

    if (opening.begin_ns > 0)
        opening.phase_ns[BALE_GPU_PLUGIN] = now - opening.begin_ns;
    else
        opening.begin_ns = now;
    err = bale_cuda_find_devices(engine, why);
    if (err < 0)
        return err;
    opening.phase_ns[BALE_GPU_DRIVER] = bale_clock_ns() - now;
    now = bale_clock_ns();
    engine->has_nvcomp = bale_nvcomp_open(&engine->nvcomp, missing) == BALE_OK;
    opening.phase_ns[BALE_GPU_NVCOMP] = bale_clock_ns() - now;
    return bale_cuda_open_devices(engine, &opening, why);
}

static int open_and_start(struct cuda_engine *engine, struct bale_reason *why)
{
    struct bale_reason missing = {0};
    int err = open_devices(engine, &missing, why);

    if (err < 0)
        return err;
    if (!engine->has_nvcomp)
        bale_cuda_log(engine, BALE_GPU_WARNING, "GPU: %s: zstd and lz4 stay with the CPU",
                      missing.text);
    engine->state = CUDA_OPEN;
    engine->idle_ns = bale_clock_ns();
    engine->supervisor_started = bale_thread_start(&engine->supervisor, "balefs-gpu-sup",
                                                   bale_cuda_supervisor_thread, engine) == 0;
    engine->pinner_started =
        bale_thread_start(&engine->pinner, "balefs-gpu-pin", bale_cuda_pinner_thread, engine) == 0;
    for (unsigned i = 0; engine->supervisor_started && i < engine->worker_count; i++) {
        struct cuda_worker *w = &engine->workers[i];
        w->started = bale_thread_start(&w->thread, "balefs-gpu", bale_cuda_worker_thread, w) == 0;
        if (!w->started)
            err = BALE_E_NOMEM;
    }
    if (!engine->supervisor_started || !engine->pinner_started || err < 0) {
        bale_reason_set(why, "no thread for it");
        return BALE_E_NOMEM;
    }
    return BALE_OK;
}

/* The engine's and the driver's threads block all signals, which are for the program's own
 * threads. */
int bale_cuda_engine_open(const struct bale_gpu_options *options, struct bale_engine **handle,
                          struct bale_reason *why)
{
    struct cuda_engine *engine;
    sigset_t all;
    sigset_t before;
    int err;

    if (options->device_count > BALE_GPU_DEVICES)
        return BALE_E_INVALID;
    engine = bale_cuda_engine_create(options);
    if (!engine)
        return BALE_E_NOMEM;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = open_and_start(engine, why);
    if (err < 0)
        cuda_destroy(&engine->base);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err == BALE_OK)
        *handle = &engine->base;
    return err;
}
