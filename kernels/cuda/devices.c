/* Opening and closing the devices of an engine, all together, and pinning memory for them. */
#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

#define MIB ((uint64_t)1 << 20)
#define MEMORY_SMALL (2048 * MIB)

static void free_batch_room(struct cuda_worker *w)
{
    free(w->jobs);
    free(w->table);
    free(w->hashes);
    w->jobs = NULL;
    w->table = NULL;
    w->hashes = NULL;
}

static int open_worker(struct cuda_worker *w, struct bale_cuda_device *device)
{
    size_t cells;

    w->slot = bale_cuda_device_slot(device, w->index);
    cells = bale_cuda_slot_host(w->slot)->cells;
    w->jobs = calloc(cells, sizeof *w->jobs);
    w->table = calloc(cells, sizeof *w->table);
    w->hashes = malloc(cells * BALE_HASH_SIZE);
    return w->jobs && w->table && w->hashes ? BALE_OK : BALE_E_NOMEM;
}

static uint64_t small_memory(const struct cuda_engine *engine, unsigned i)
{
    uint64_t quarter = engine->info[i].memory / 4;

    return quarter < MEMORY_SMALL ? quarter : MEMORY_SMALL;
}

/* The most that the engine takes of a device. */
static uint64_t memory_for(const struct cuda_engine *engine, unsigned i)
{
    uint64_t part = engine->info[i].memory / 16, small = small_memory(engine, i);

    if (engine->options.memory > 0)
        return engine->options.memory;
    return part > small ? part : small;
}

/* What it takes of a device that has so much free: by default half of that, but no less than a
 * small amount, so that several engines on a device that a program has nearly filled get a share
 * each. */
static uint64_t share_of(const struct cuda_engine *engine, unsigned i, uint64_t free_now)
{
    uint64_t most = memory_for(engine, i), small = small_memory(engine, i);

    if (engine->options.memory > 0 || free_now / 2 >= most)
        return most;
    return free_now / 2 > small ? free_now / 2 : small;
}

static uint64_t besides_held(const struct cuda_engine *engine, unsigned i, uint64_t memory)
{
    uint64_t held = engine->devices[i] ? bale_cuda_device_memory(engine->devices[i]) : 0;

    return memory > held ? memory - held : 0;
}

bool bale_cuda_is_pressed(struct cuda_engine *engine)
{
    bool pressed = false;

    pthread_mutex_lock(&engine->pinning);
    for (unsigned i = 0; i < engine->device_count; i++)
        pressed |=
            bale_driver_free(&engine->info[i]) <
            besides_held(engine, i, engine->devices[i] ? engine->shares[i] : memory_for(engine, i));
    pthread_mutex_unlock(&engine->pinning);
    return pressed;
}

int bale_cuda_check_free(const struct cuda_engine *engine, unsigned i, uint64_t *share,
                         struct bale_reason *why)
{
    uint64_t free_now = bale_driver_free(&engine->info[i]);
    uint64_t memory;

    *share = engine->devices[i] ? engine->shares[i] : share_of(engine, i, free_now);
    memory = besides_held(engine, i, *share);
    if (free_now >= memory || (engine->options.insist && !engine->options.if_free))
        return BALE_OK;
    bale_reason_set(why, "%s: %llu MiB of its memory are free, and %llu would be taken",
                    engine->info[i].name, (unsigned long long)(free_now / MIB),
                    (unsigned long long)(memory / MIB));
    return BALE_E_NOMEM;
}

static int open_workers(struct cuda_engine *engine, unsigned i)
{
    int err = BALE_OK;

    for (unsigned w = 0; err == BALE_OK && w < engine->worker_count; w++)
        if (engine->workers[w].device == i)
            err = open_worker(&engine->workers[w], engine->devices[i]);
    return err;
}

static int open_one(struct cuda_engine *engine, unsigned i, uint64_t *phase_ns,
                    struct bale_reason *why)
{
    int err = bale_cuda_check_free(engine, i, &engine->shares[i], why);
    struct bale_cuda_settings settings = {
        .ordinal = engine->info[i].ordinal,
        .pinned = &engine->pinned,
        .memory = engine->shares[i],
        .nvcomp = engine->has_nvcomp ? &engine->nvcomp : NULL,
        .verify = engine->options.verify,
        .shared = engine->options.shared,
        .phase_ns = phase_ns,
    };

    if (err == BALE_OK)
        err = bale_cuda_device_open(&settings, &engine->devices[i], why);
    return err == BALE_OK ? open_workers(engine, i) : err;
}

void bale_cuda_close_devices(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->pinning);
    bale_cuda_unpin_all(engine);
    for (unsigned w = 0; w < engine->worker_count; w++)
        free_batch_room(&engine->workers[w]);
    for (unsigned i = 0; i < engine->device_count; i++) {
        bale_cuda_device_close(engine->devices[i]);
        engine->devices[i] = NULL;
    }
    pthread_mutex_unlock(&engine->pinning);
    pthread_mutex_lock(&engine->mutex);
    bale_cuda_set_quarantine(engine, false);
    pthread_mutex_unlock(&engine->mutex);
}

/* With both mutexes. */
static void count_memory(struct cuda_engine *engine)
{
    engine->stats.device_memory = 0;
    for (unsigned i = 0; i < engine->device_count; i++)
        engine->stats.device_memory += bale_cuda_device_memory(engine->devices[i]);
}

/* Sums up the devices: what all of them can do. With both mutexes. */
static void note_opened(struct cuda_engine *engine)
{
    count_memory(engine);
    engine->cells = UINT32_MAX;
    engine->workspaces = UINT32_MAX;
    for (int c = 0; c < CUDA_CODECS; c++)
        engine->available[c] = true;
    for (unsigned i = 0; i < engine->device_count; i++) {
        uint32_t cells = bale_cuda_slot_host(bale_cuda_device_slot(engine->devices[i], 0))->cells;
        engine->cells = cells < engine->cells ? cells : engine->cells;
        unsigned workspaces = bale_cuda_device_workspaces(engine->devices[i]);
        engine->workspaces = workspaces < engine->workspaces ? workspaces : engine->workspaces;
        for (int c = 0; c < CUDA_CODECS; c++)
            engine->available[c] &= bale_cuda_device_has(engine->devices[i], (enum cuda_codec)c);
    }
}

static void log_missing(const struct cuda_engine *engine, enum cuda_codec codec)
{
    const char *name = bale_cuda_codecs[codec].name;

    for (unsigned i = 0; i < engine->device_count; i++)
        if (!bale_cuda_device_fits(engine->devices[i], codec)) {
            bale_cuda_log(
                engine, BALE_GPU_INFO,
                "GPU: %s: its multiprocessors are too few or too small: %s stays with the CPU",
                engine->info[i].name, name);
            return;
        }
    bale_cuda_log(engine, BALE_GPU_WARNING,
                  "GPU: %s: there is too little memory for %s, which stays with the CPU: "
                  "mount with a greater gpu-memory",
                  engine->info[0].name, name);
}

static void log_opened(const struct cuda_engine *engine)
{
    bale_cuda_log(engine, BALE_GPU_INFO,
                  "GPU: %s: %u batches of %u chunks, %u computed at a time, %llu MiB",
                  engine->info[0].name, engine->worker_count, engine->cells, engine->workspaces,
                  (unsigned long long)(engine->stats.device_memory / MIB));
    for (int c = 0; c < CUDA_CODECS; c++)
        if (!engine->available[c] && (engine->has_nvcomp || !bale_cuda_codecs[c].nvcomp))
            log_missing(engine, (enum cuda_codec)c);
}

/* Pins the first of what was pinned before, unless it still is, and leaves the rest to the pinner,
 * which may have failed before. With pinning. */
static int begin_pins(struct cuda_engine *engine, struct bale_gpu_timeline *opening,
                      struct bale_reason *why)
{
    uint64_t begin_ns = bale_clock_ns();
    bool pins = !engine->is_pinned && engine->pinned.count > 0;
    int err = bale_cuda_pin_first(engine, why);

    if (err < 0)
        return err;
    if (pins)
        opening->phase_ns[BALE_GPU_PINS] = bale_clock_ns() - begin_ns;
    if (engine->pinned.usable == engine->pinned.count)
        return err;
    pthread_mutex_lock(&engine->mutex);
    engine->pins_left = true;
    pthread_cond_signal(&engine->pinner_wake);
    pthread_mutex_unlock(&engine->mutex);
    return BALE_OK;
}

/* What was pinned before counts as pinned when the devices are open. With both mutexes. */
static void end_timeline(struct cuda_engine *engine, struct bale_gpu_timeline *opening)
{
    opening->open_ns = bale_clock_ns() - opening->begin_ns;
    if (engine->pinned.count > 0)
        opening->pinned_ns = opening->open_ns;
    engine->stats.opening = *opening;
}

int bale_cuda_open_devices(struct cuda_engine *engine, struct bale_gpu_timeline *opening,
                           struct bale_reason *why)
{
    int err = BALE_OK;

    pthread_mutex_lock(&engine->pinning);
    for (unsigned i = 0; err == BALE_OK && i < engine->device_count; i++)
        err = open_one(engine, i, opening->phase_ns, why);
    if (err == BALE_OK)
        err = begin_pins(engine, opening, why);
    if (err == BALE_OK) {
        pthread_mutex_lock(&engine->mutex);
        end_timeline(engine, opening);
        note_opened(engine);
        log_opened(engine);
        pthread_mutex_unlock(&engine->mutex);
    }
    pthread_mutex_unlock(&engine->pinning);
    if (err < 0)
        bale_cuda_close_devices(engine);
    return err;
}

void bale_cuda_free_slots(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->pinning);
    for (unsigned w = 0; w < engine->worker_count; w++)
        free_batch_room(&engine->workers[w]);
    for (unsigned i = 0; i < engine->device_count; i++)
        bale_cuda_device_free_slots(engine->devices[i]);
    pthread_mutex_lock(&engine->mutex);
    count_memory(engine);
    pthread_mutex_unlock(&engine->mutex);
    pthread_mutex_unlock(&engine->pinning);
}

int bale_cuda_allocate_slots(struct cuda_engine *engine, struct bale_gpu_timeline *opening,
                             struct bale_reason *why)
{
    int err = BALE_OK;

    pthread_mutex_lock(&engine->pinning);
    for (unsigned i = 0; err == BALE_OK && i < engine->device_count; i++) {
        err = bale_cuda_check_free(engine, i, &engine->shares[i], why);
        if (err == BALE_OK)
            err = bale_cuda_device_allocate_slots(engine->devices[i], why);
        if (err == BALE_OK)
            err = open_workers(engine, i);
    }
    opening->phase_ns[BALE_GPU_SLOTS] = bale_clock_ns() - opening->begin_ns;
    if (err == BALE_OK)
        err = begin_pins(engine, opening, why);
    if (err == BALE_OK) {
        pthread_mutex_lock(&engine->mutex);
        end_timeline(engine, opening);
        note_opened(engine);
        pthread_mutex_unlock(&engine->mutex);
    }
    pthread_mutex_unlock(&engine->pinning);
    if (err < 0)
        bale_cuda_close_devices(engine);
    return err;
}
