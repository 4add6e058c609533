/* A GPU engine's plug-in without a GPU: a thread does batches with the CPU's codecs, and as much is
 * wrong as BALE_FAKE_GPU says (tests/support/fake_words.h).
 *
 * Items are taken where they lie, from memory that was pinned, or that is the device's
 * (tests/support/fake_memory.h). A stream is a function that waiting for it calls. */
#include "tests/support/fake_gpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/frame/registry.h"
#include "tests/support/fake_batches.h"
#include "tests/support/fake_memory.h"
#include "tests/support/fake_words.h"

#define DEVICE_NAME "Fake GPU"

struct fake {
    struct bale_engine engine; /* first */
    struct fake_memory memory;
    struct fake_batches batches;
};

uint32_t fake_codecs(void)
{
    uint32_t lacking = 1u << BALE_CODEC_LZ4 | 1u << BALE_CODEC_ZSTD;
    uint32_t all = 0;

    for (uint8_t id = 0; id < 32; id++)
        if (bale_codec_find(id) && bale_codec_about(id)->device)
            all |= 1u << id;
    return fake_word("lacks") ? all & ~lacking : all;
}

/* ---- Of all engines ---- */

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    struct fake *fake = (struct fake *)engine;

    fake_batches_add(&fake->batches, list);
}

static bool run_inline(struct bale_engine *engine, struct bale_item *item,
                       struct bale_scratch *scratch)
{
    (void)engine;
    (void)item;
    (void)scratch;
    return false;
}

static void destroy(struct bale_engine *engine)
{
    struct fake *fake = (struct fake *)engine;

    fake_hang_if("end-hangs");
    fake_batches_stop(&fake->batches);
    fake_memory_close(&fake->memory);
    free(fake);
}

static const struct bale_engine_ops ops = {
    .name = "fake", .submit = submit, .run_inline = run_inline, .destroy = destroy};

/* ---- Of a GPU's ---- */

static int say_environment(struct bale_reason *why)
{
    const char *cache = getenv("CUDA_CACHE_DISABLE");
    const char *priority = getenv("CUDA_MPS_CLIENT_PRIORITY");
    const char *queues = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    bale_reason_set(why, "cache disabled %s, priority %s, queues %s", cache ? cache : "no",
                    priority ? priority : "no", queues ? queues : "no");
    return BALE_E_ENGINE;
}

/* Whether this opening still finds too little memory. */
static bool is_full(void)
{
    static atomic_uint refused;

    if (atomic_fetch_add(&refused, 1) < fake_word("full"))
        return true;
    atomic_store(&refused, 0);
    return false;
}

static int open_fake(const struct bale_gpu_options *options, struct bale_engine **engine,
                     struct bale_reason *why)
{
    uint64_t begin = bale_clock_ns();
    struct bale_gpu_timeline opening = {.begin_ns = options->begin_ns ? options->begin_ns : begin};
    struct fake *fake;

    options->log(BALE_GPU_DEBUG, options->if_free ? "opens if memory is free" : "opens");
    fake_pause_us(fake_word("slow"));
    fake_hang_if("open-hangs");
    if (fake_word("environment"))
        return say_environment(why);
    if (is_full()) {
        bale_reason_set(why, "its memory is full");
        return BALE_E_NOMEM;
    }
    fake = fake_word("open") ? NULL : calloc(1, sizeof *fake);
    if (!fake || !fake_batches_start(&fake->batches, options, &fake->memory)) {
        free(fake);
        bale_reason_set(why, "no device: BALE_FAKE_GPU says so");
        return BALE_E_ENGINE;
    }
    fake_memory_open(&fake->memory);
    opening.phase_ns[BALE_GPU_PLUGIN] = begin - opening.begin_ns;
    opening.phase_ns[BALE_GPU_CONTEXT] = bale_clock_ns() - begin;
    opening.open_ns = bale_clock_ns() - opening.begin_ns;
    fake->batches.stats.opening = opening;
    fake->batches.stats.open = true;
    fake->engine.ops = &ops;
    *engine = &fake->engine;
    return BALE_OK;
}

static int find(struct bale_gpu_found *found, struct bale_reason *why)
{
    *found = (struct bale_gpu_found){0};
    fake_hang_if("find-hangs");
    if (fake_word("find-dies"))
        abort();
    if (fake_word("find")) {
        bale_reason_set(why, "no driver: BALE_FAKE_GPU says so");
        return BALE_E_DEVICE;
    }
    found->device_count = 2;
    found->codecs = fake_codecs();
    found->chosen = 1;
    for (unsigned i = 0; i < found->device_count; i++) {
        struct bale_gpu_device *device = &found->devices[i];
        snprintf(device->name, sizeof device->name, DEVICE_NAME);
        device->memory = (uint64_t)80 << 30;
        device->free = i == 0 ? UINT64_MAX : (uint64_t)60 << 30;
        device->mode = fake_word("exclusive") ? BALE_GPU_EXCLUSIVE : BALE_GPU_SHARED;
    }
    found->devices[0].mode = BALE_GPU_PROHIBITED;
    if (fake_word("lacks"))
        bale_reason_set(&found->missing, "libfake.so.1 is not found");
    if (fake_word("exclusive"))
        bale_reason_set(why, "Fake GPU: its compute mode is exclusive");
    return fake_word("exclusive") ? BALE_E_DEVICE : BALE_OK;
}

static bool takes(struct bale_engine *engine, const struct bale_item *item)
{
    struct fake *fake = (struct fake *)engine;

    return (fake_word("any") || fake_memory_has(&fake->memory, item)) && !fake_batches_leave(item);
}

static int pin(struct bale_engine *engine, void *memory, size_t size)
{
    struct fake *fake = (struct fake *)engine;

    int err = fake_memory_pin(&fake->memory, memory, size);

    if (err == BALE_OK)
        fake_batches_note_pinned(&fake->batches);
    return err;
}

static void get_stats(struct bale_engine *engine, struct bale_gpu_stats *stats)
{
    struct fake *fake = (struct fake *)engine;

    *stats = fake_batches_stats(&fake->batches);
    snprintf(stats->device, sizeof stats->device, DEVICE_NAME);
    stats->pinned =
        fake_batches_are_unpinned(&fake->batches) ? 0 : fake_memory_pinned(&fake->memory);
    stats->open = stats->open && !fake_word("cold");
    stats->codecs = fake_codecs();
}

static void release(struct bale_engine *engine)
{
    struct fake *fake = (struct fake *)engine;

    fake_batches_set_open(&fake->batches, false);
}

static void wake(struct bale_engine *engine)
{
    struct fake *fake = (struct fake *)engine;

    fake_batches_set_open(&fake->batches, true);
}

static void unpin(struct bale_engine *engine)
{
    struct fake *fake = (struct fake *)engine;

    fake_batches_unpin(&fake->batches);
}

static bool while_unpinned(struct bale_engine *engine, void (*call)(void *arg), void *arg)
{
    struct fake *fake = (struct fake *)engine;
    bool unpinned = fake_batches_are_unpinned(&fake->batches);

    if (unpinned)
        call(arg);
    return unpinned;
}

static int memory_kind(struct bale_engine *engine, const void *memory, enum bale_memory_kind *place,
                       int *device)
{
    struct fake *fake = (struct fake *)engine;

    *place = fake_memory_is_device(&fake->memory, memory) ? BALE_MEMORY_DEVICE : BALE_MEMORY_HOST;
    *device = FAKE_DEVICE;
    return BALE_OK;
}

static int wait_stream(struct bale_engine *engine, void *stream)
{
    (void)engine;
    (*(void (**)(void))stream)();
    return BALE_OK;
}

static int copy(struct bale_engine *engine, const struct bale_gpu_copy *copies, size_t count)
{
    struct fake *fake = (struct fake *)engine;

    return fake_memory_copy(&fake->memory, copies, count);
}

extern const struct bale_gpu bale_gpu_plugin;
const struct bale_gpu bale_gpu_plugin = {
    .abi = FAKE_ABI,
    .open = open_fake,
    .find = find,
    .measure = fake_measure,
    .takes = takes,
    .pin = pin,
    .stats = get_stats,
    .release = release,
    .wake = wake,
    .unpin = unpin,
    .while_unpinned = while_unpinned,
    .memory_kind = memory_kind,
    .wait = wait_stream,
    .copy = copy,
};
