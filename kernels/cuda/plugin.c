/* The plug-in: what kernels/engine/gpu.h asks of it. */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

static bool is_ready(const struct cuda_engine *e)
{
    if (e->state == CUDA_CLOSED)
        return bale_clock_ns() >= e->not_before_ns;
    return e->state == CUDA_OPEN;
}

/* Whether the devices have the item's memory. What lies on one of several is not moved to another. */
static bool reaches(struct cuda_engine *e, const struct bale_item *item)
{
    size_t stored = item->kind == BALE_ITEM_ENCODE ? item->capacity : item->stored_length;
    bool raw = item->memory_kind == BALE_MEMORY_DEVICE
                   ? e->device_count == 1 && item->device == e->about[0].ordinal
                   : bale_cuda_pinned_has(&e->pinned, item->raw, item->frame.raw_length);

    return raw && bale_cuda_pinned_has(&e->pinned, item->stored, stored);
}

static bool takes(struct bale_engine *engine, const struct bale_item *item)
{
    struct cuda_engine *e = bale_cuda_engine(engine);
    bool encode = item->kind == BALE_ITEM_ENCODE;
    struct bale_frame head;
    unsigned codec;
    bool takes;
    int q;

    if (!reaches(e, item))
        return false;
    q = bale_cuda_queue_of(item, &head);
    if (q < 0)
        return false;
    codec = (unsigned)q % CUDA_CODECS;
    pthread_mutex_lock(&e->mutex);
    takes = is_ready(e) && e->has[codec] && !e->off[codec] &&
            bale_frame_chunk_count(encode ? &item->frame : &head) <= e->cells;
    pthread_mutex_unlock(&e->mutex);
    return takes;
}

/* The driver does nothing else while it registers memory. What waits for it gets as much time. */
static void let_work(struct cuda_engine *e, uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

    pthread_mutex_lock(&e->mutex);
    bool busy = e->busy > 0;
    pthread_mutex_unlock(&e->mutex);
    if (busy)
        nanosleep(&time, NULL);
}

static int pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct cuda_engine *e = bale_cuda_engine(engine);
    /* The devices' shares are alike. */
    unsigned device = e->apart ? atomic_fetch_add(&e->pins, 1) % e->device_count : 0;
    void *before = bale_driver_context();
    uint64_t begun;
    int err = BALE_OK;

    if (e->apart)
        bale_cuda_pinned_bind(memory, size, e->about[device].node);

    /* The pages come from here, not from the driver: kernels before 5.14 leave that to it. Large ones are
     * there and registered in a third of the time, and what is pinned stays whole anyway. */
    (void)madvise(memory, size, MADV_HUGEPAGE);
    (void)madvise(memory, size, MADV_POPULATE_WRITE);
    pthread_mutex_lock(&e->pinning);
    begun = bale_clock_ns();
    if (e->is_pinned) /* or it is when there is a context again */
        err = bale_cuda_pin(e->about[0].ordinal, memory, size);
    if (err == BALE_OK) {
        err = bale_cuda_pinned_add(&e->pinned, memory, size, device);
        if (err < 0 && e->is_pinned)
            bale_cuda_unpin(e->about[0].ordinal, memory);
    }
    pthread_mutex_unlock(&e->pinning);
    bale_driver_set_context(before);
    let_work(e, bale_clock_ns() - begun);
    return err;
}

static uint32_t bit_of(int codec)
{
    return 1u << bale_cuda_codecs[codec].id;
}

/* With the mutex. */
static uint32_t codecs(const struct cuda_engine *e)
{
    uint32_t bits = 1u << BALE_CODEC_ZERO;

    for (int c = 0; c < CUDA_CODECS; c++)
        if (e->has[c] && !e->off[c])
            bits |= bit_of(c);
    return bits;
}

static void stats(struct bale_engine *engine, struct bale_gpu_stats *stats)
{
    struct cuda_engine *e = bale_cuda_engine(engine);

    pthread_mutex_lock(&e->mutex);
    *stats = e->stats;
    stats->open = e->state == CUDA_OPEN || e->state == CUDA_HUNG || e->state == CUDA_CLOSING;
    stats->codecs = codecs(e);
    pthread_mutex_unlock(&e->mutex);
    stats->pinned = bale_cuda_pinned_bytes(&e->pinned);
    if (e->device_count > 1)
        snprintf(stats->device, sizeof stats->device, "%.40s and %u more", e->about[0].name,
                 e->device_count - 1);
    else
        snprintf(stats->device, sizeof stats->device, "%s", e->about[0].name);
}

static void describe(struct bale_gpu_found *found)
{
    int count = bale_driver_count();

    for (int i = 0; i < count && i < BALE_GPU_DEVICES; i++) {
        struct bale_gpu_device *device = &found->devices[found->device_count++];
        struct bale_driver_device about;
        if (bale_driver_query(i, &about) < 0)
            continue;
        snprintf(device->name, sizeof device->name, "%s", about.name);
        device->memory = about.memory;
        device->free = bale_driver_free(&about);
        device->mode = about.prohibited  ? BALE_GPU_PROHIBITED
                       : about.exclusive ? BALE_GPU_EXCLUSIVE
                                         : BALE_GPU_SHARED;
    }
}

static int find(struct bale_gpu_found *found, struct bale_reason *why)
{
    const struct bale_gpu_options none = {0};
    struct cuda_engine *e = bale_cuda_engine_create(&none);
    int err = e ? bale_driver_open(why) : BALE_E_NOMEM;

    *found = (struct bale_gpu_found){0};
    if (err == BALE_OK) {
        describe(found);
        err = bale_cuda_find_devices(e, why);
        found->chosen = (unsigned)e->about[0].ordinal;
    }
    if (err == BALE_OK)
        err = bale_cuda_check_free(e, 0, why);
    if (e) {
        int nvcomp = bale_nvcomp_open(&e->nvcomp, &found->missing);
        for (int c = 0; c < CUDA_CODECS; c++)
            if (nvcomp == BALE_OK || !bale_cuda_codecs[c].nvcomp)
                found->codecs |= bit_of(c);
        e->engine.ops->destroy(&e->engine);
    }
    return err;
}

extern const struct bale_gpu bale_gpu_plugin;
__attribute__((visibility("default"))) const struct bale_gpu bale_gpu_plugin = {
    .abi = BALE_GPU_ABI,
    .open = bale_cuda_engine_open,
    .find = find,
    .measure = bale_cuda_measure_all,
    .takes = takes,
    .pin = pin,
    .stats = stats,
    .memory_kind = bale_cuda_process_memory_kind,
    .wait = bale_cuda_process_wait,
    .copy = bale_cuda_process_copy,
};
