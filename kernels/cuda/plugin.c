/* The plug-in's table of operations: kernels/engine/gpu.h. */
#include <stdio.h>
#include <sys/mman.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

static bool is_ready(const struct cuda_engine *engine)
{
    if (engine->state == CUDA_CLOSED)
        return bale_clock_ns() >= engine->reopen_ns;
    return engine->state == CUDA_OPEN || engine->state == CUDA_KEPT;
}

/* Asked for each item, while others hold the mutex to queue hundreds: the engine may have changed
 * by the time that the item comes, and then returns it undone. */
static bool plugin_takes(struct bale_engine *handle, const struct bale_item *item)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);
    bool encode = item->kind == BALE_ITEM_ENCODE;
    struct bale_frame head;
    unsigned codec;
    int q;

    if (!bale_cuda_reaches(engine, item))
        return false;
    q = bale_cuda_queue_of(item, &head);
    if (q < 0)
        return false;
    codec = (unsigned)q % CUDA_CODECS;
    return is_ready(engine) && engine->available[codec] && !engine->disabled[codec] &&
           bale_cuda_cells(encode ? &item->frame : &head) <= engine->cells;
}

/* With pinning. */
static void note_pinned(struct cuda_engine *engine)
{
    struct bale_gpu_timeline *opening = &engine->stats.opening;

    pthread_mutex_lock(&engine->mutex);
    if (engine->is_pinned && opening->pinned_ns == 0)
        opening->pinned_ns = bale_clock_ns() - opening->begin_ns;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_count_pinned(engine);
}

static int plugin_pin(struct bale_engine *handle, void *memory, size_t size)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);
    /* Ranges are spread evenly over the devices. */
    unsigned device =
        engine->several_nodes ? atomic_fetch_add(&engine->pins, 1) % engine->device_count : 0;
    void *before = bale_driver_context();
    uint64_t begun;
    bool now;
    int err = BALE_OK;

    if (engine->several_nodes)
        bale_cuda_pinned_bind(memory, size, engine->info[device].node);

    /* Makes the pages here and not in the driver; kernels before 5.14 cannot, and leave it to
     * the driver. Huge pages are made and registered in a third of the time, and pinned memory
     * is never freed in parts anyway. */
    (void)madvise(memory, size, MADV_HUGEPAGE);
    (void)madvise(memory, size, MADV_POPULATE_WRITE);
    pthread_mutex_lock(&engine->pinning);
    begun = bale_clock_ns();
    /* Else it is pinned with the next context, or behind what was pinned for the last one. */
    now = engine->is_pinned && engine->pinned.usable == engine->pinned.count;
    if (now)
        err = bale_cuda_pin(engine->info[0].ordinal, memory, size);
    if (err == BALE_OK) {
        err = bale_cuda_pinned_add(&engine->pinned, memory, size, device);
        if (err < 0 && now)
            bale_cuda_unpin(engine->info[0].ordinal, memory);
    }
    if (err == BALE_OK)
        note_pinned(engine);
    pthread_mutex_unlock(&engine->pinning);
    bale_driver_set_context(before);
    /* Where all of the memory is pinned, used or not. Else batches wait for what is pinned. */
    if (engine->options.insist)
        bale_cuda_yield_to_batches(engine, bale_clock_ns() - begun);
    return err;
}

static uint32_t codec_bit(int codec)
{
    return 1u << bale_cuda_codecs[codec].id;
}

/* With the mutex. */
static uint32_t codec_bits(const struct cuda_engine *engine)
{
    uint32_t bits = 1u << BALE_CODEC_ZERO;

    for (int c = 0; c < CUDA_CODECS; c++)
        if (engine->available[c] && !engine->disabled[c])
            bits |= codec_bit(c);
    return bits;
}

static void plugin_stats(struct bale_engine *handle, struct bale_gpu_stats *stats)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    pthread_mutex_lock(&engine->mutex);
    *stats = engine->stats;
    stats->open =
        engine->state == CUDA_OPEN || engine->state == CUDA_HUNG || engine->state == CUDA_CLOSING;
    stats->kept = engine->state == CUDA_KEPT;
    stats->codecs = codec_bits(engine);
    pthread_mutex_unlock(&engine->mutex);
    if (engine->device_count > 1)
        snprintf(stats->device, sizeof stats->device, "%.40s and %u more", engine->info[0].name,
                 engine->device_count - 1);
    else
        snprintf(stats->device, sizeof stats->device, "%s", engine->info[0].name);
}

static void plugin_release(struct bale_engine *handle)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    pthread_mutex_lock(&engine->mutex);
    engine->close_wanted = engine->state != CUDA_CLOSED;
    pthread_cond_signal(&engine->supervisor_wake);
    pthread_mutex_unlock(&engine->mutex);
}

/* Whether the devices are given back, or about to be, and may be opened again. */
static bool is_given_back(const struct cuda_engine *engine)
{
    if (engine->state == CUDA_CLOSED || engine->state == CUDA_CLOSING)
        return bale_clock_ns() >= engine->reopen_ns;
    return engine->state == CUDA_KEPT || (engine->state == CUDA_OPEN && engine->close_wanted);
}

static void plugin_wake(struct bale_engine *handle)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    pthread_mutex_lock(&engine->mutex);
    if (is_given_back(engine)) {
        engine->open_wanted = true;
        pthread_cond_signal(&engine->supervisor_wake);
    }
    pthread_mutex_unlock(&engine->mutex);
}

static void plugin_unpin(struct bale_engine *handle)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    pthread_mutex_lock(&engine->mutex);
    engine->unpin_wanted = engine->state == CUDA_KEPT;
    pthread_cond_signal(&engine->supervisor_wake);
    pthread_mutex_unlock(&engine->mutex);
}

static bool plugin_while_unpinned(struct bale_engine *handle, void (*call)(void *arg), void *arg)
{
    struct cuda_engine *engine = bale_cuda_engine(handle);

    /* Somebody opens, closes or pins. */
    if (pthread_mutex_trylock(&engine->pinning) != 0)
        return false;
    pthread_mutex_lock(&engine->mutex);
    bool unpinned =
        (engine->state == CUDA_CLOSED || engine->state == CUDA_KEPT) && !engine->is_pinned;
    pthread_mutex_unlock(&engine->mutex);
    if (unpinned)
        call(arg);
    pthread_mutex_unlock(&engine->pinning);
    return unpinned;
}

static void describe_devices(struct bale_gpu_found *found)
{
    int count = bale_driver_count();

    for (int i = 0; i < count && i < BALE_GPU_DEVICES; i++) {
        struct bale_gpu_device *device = &found->devices[found->device_count++];
        struct bale_driver_device info;
        if (bale_driver_query(i, &info) < 0)
            continue;
        snprintf(device->name, sizeof device->name, "%s", info.name);
        device->memory = info.memory;
        device->free = bale_driver_free(&info);
        device->mode = info.prohibited  ? BALE_GPU_PROHIBITED
                       : info.exclusive ? BALE_GPU_EXCLUSIVE
                                        : BALE_GPU_SHARED;
    }
}

static int plugin_find(struct bale_gpu_found *found, struct bale_reason *why)
{
    const struct bale_gpu_options none = {0};
    struct cuda_engine *engine = bale_cuda_engine_create(&none);
    int err = engine ? bale_driver_open(why) : BALE_E_NOMEM;
    uint64_t share;

    *found = (struct bale_gpu_found){0};
    if (err == BALE_OK) {
        describe_devices(found);
        err = bale_cuda_find_devices(engine, why);
        found->chosen = (unsigned)engine->info[0].ordinal;
    }
    if (err == BALE_OK)
        err = bale_cuda_check_free(engine, 0, &share, why);
    if (engine) {
        int nvcomp = bale_nvcomp_open(&engine->nvcomp, &found->missing);
        for (int c = 0; c < CUDA_CODECS; c++)
            if (nvcomp == BALE_OK || !bale_cuda_codecs[c].nvcomp)
                found->codecs |= codec_bit(c);
        engine->base.ops->destroy(&engine->base);
    }
    return err;
}

extern const struct bale_gpu bale_gpu_plugin;
__attribute__((visibility("default"))) const struct bale_gpu bale_gpu_plugin = {
    .abi = BALE_GPU_ABI,
    .open = bale_cuda_engine_open,
    .find = plugin_find,
    .measure = bale_cuda_measure_all,
    .takes = plugin_takes,
    .pin = plugin_pin,
    .stats = plugin_stats,
    .release = plugin_release,
    .wake = plugin_wake,
    .unpin = plugin_unpin,
    .while_unpinned = plugin_while_unpinned,
    .memory_kind = bale_cuda_process_memory_kind,
    .wait = bale_cuda_process_wait,
    .copy = bale_cuda_process_copy,
};
