/* The devices of an engine: opened together, and closed together. */
#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
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

static uint64_t memory_for(const struct cuda_engine *e, unsigned i)
{
    uint64_t all = e->about[i].memory;
    uint64_t small = all / 4 < MEMORY_SMALL ? all / 4 : MEMORY_SMALL;

    if (e->options.memory > 0)
        return e->options.memory;
    return all / 16 > small ? all / 16 : small;
}

int bale_cuda_check_free(const struct cuda_engine *e, unsigned i, struct bale_reason *why)
{
    uint64_t free_now = bale_driver_free(&e->about[i]);
    uint64_t memory = memory_for(e, i);

    if (e->options.insist || free_now >= memory)
        return BALE_OK;
    bale_reason_set(why, "%s: %llu MiB of its memory are free, and %llu would be taken",
                    e->about[i].name, (unsigned long long)(free_now / MIB),
                    (unsigned long long)(memory / MIB));
    return BALE_E_NOMEM;
}

static int open_one(struct cuda_engine *e, unsigned i, struct bale_reason *why)
{
    struct bale_cuda_settings settings = {
        .ordinal = e->about[i].ordinal,
        .pinned = &e->pinned,
        .memory = memory_for(e, i),
        .nvcomp = e->has_nvcomp ? &e->nvcomp : NULL,
        .verify = e->options.verify,
        .shared = e->options.shared,
    };
    int err = bale_cuda_check_free(e, i, why);

    if (err == BALE_OK)
        err = bale_cuda_device_open(&settings, &e->devices[i], why);
    for (unsigned w = 0; err == BALE_OK && w < e->worker_count; w++)
        if (e->workers[w].device == i)
            err = open_worker(&e->workers[w], e->devices[i]);
    return err;
}

static void unpin(struct cuda_engine *e, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bale_cuda_unpin(e->about[0].ordinal, e->pinned.ranges[i].memory);
    e->is_pinned = false;
}

static int pin_all(struct cuda_engine *e, struct bale_reason *why)
{
    const struct cuda_range *ranges = e->pinned.ranges;

    for (size_t i = 0; !e->is_pinned && i < e->pinned.count; i++) {
        int err = bale_cuda_pin(e->about[0].ordinal, ranges[i].memory, ranges[i].size);
        if (err < 0) {
            unpin(e, i);
            bale_reason_set(why, "the host's memory cannot be pinned: %s", bale_err_text(err));
            return err;
        }
    }
    e->is_pinned = true;
    return BALE_OK;
}

void bale_cuda_close_devices(struct cuda_engine *e)
{
    pthread_mutex_lock(&e->pinning);
    if (e->is_pinned)
        unpin(e, e->pinned.count);
    for (unsigned w = 0; w < e->worker_count; w++)
        free_batch_room(&e->workers[w]);
    for (unsigned i = 0; i < e->device_count; i++) {
        bale_cuda_device_close(e->devices[i]);
        e->devices[i] = NULL;
    }
    pthread_mutex_unlock(&e->pinning);
    pthread_mutex_lock(&e->mutex);
    bale_cuda_set_quarantine(e, false);
    pthread_mutex_unlock(&e->mutex);
}

/* What can be asked of all devices together. With both mutexes. */
static void note_opened(struct cuda_engine *e)
{
    uint64_t memory = 0;

    e->cells = UINT32_MAX;
    e->workspaces = UINT32_MAX;
    for (int c = 0; c < CUDA_CODECS; c++)
        e->has[c] = true;
    for (unsigned i = 0; i < e->device_count; i++) {
        uint32_t cells = bale_cuda_slot_host(bale_cuda_device_slot(e->devices[i], 0))->cells;
        e->cells = cells < e->cells ? cells : e->cells;
        unsigned workspaces = bale_cuda_device_workspaces(e->devices[i]);
        e->workspaces = workspaces < e->workspaces ? workspaces : e->workspaces;
        memory += bale_cuda_device_memory(e->devices[i]);
        for (int c = 0; c < CUDA_CODECS; c++)
            e->has[c] &= bale_cuda_device_has(e->devices[i], (enum cuda_codec)c);
    }
    e->stats.device_memory = memory;
}

static void tell_opened(const struct cuda_engine *e)
{
    bale_cuda_log(e, BALE_GPU_INFO,
                  "GPU: %s: %u batches of %u chunks, %u computed at a time, %llu MiB",
                  e->about[0].name, e->worker_count, e->cells, e->workspaces,
                  (unsigned long long)(e->stats.device_memory / MIB));
    for (int c = 0; c < CUDA_CODECS; c++)
        if (!e->has[c] && (e->has_nvcomp || !bale_cuda_codecs[c].nvcomp))
            bale_cuda_log(e, BALE_GPU_WARNING,
                          "GPU: %s: there is too little memory for %s, which stays with the CPU: "
                          "mount with a greater gpu-memory",
                          e->about[0].name, bale_cuda_codecs[c].name);
}

int bale_cuda_open_devices(struct cuda_engine *e, struct bale_reason *why)
{
    int err = BALE_OK;

    pthread_mutex_lock(&e->pinning);
    for (unsigned i = 0; err == BALE_OK && i < e->device_count; i++)
        err = open_one(e, i, why);
    if (err == BALE_OK)
        err = pin_all(e, why);
    if (err == BALE_OK) {
        pthread_mutex_lock(&e->mutex);
        note_opened(e);
        tell_opened(e);
        pthread_mutex_unlock(&e->mutex);
    }
    pthread_mutex_unlock(&e->pinning);
    if (err < 0)
        bale_cuda_close_devices(e);
    return err;
}
