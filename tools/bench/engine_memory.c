/* Opens the engines for bench engine, and reserves the memory that they work on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "format/err.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/registry.h"
#include "tools/bench/data.h"
#include "tools/bench/engine_measure.h"
#include "tools/bench/sample.h"
#include "tools/common/gpu_options.h"
#include "tools/common/message.h"

#define STEP ((size_t)32 << 20) /* as much as a mount pins at a time */
#define SAMPLE ((size_t)32 << 20)
#define PAGE ((size_t)4096)

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

static size_t frame_room(void)
{
    return round_up(bale_frame_bound(BALE_EXTENT_DEFAULT, BALE_CHUNK_LOG2_DEFAULT), PAGE);
}

/* The memory is touched now, so that no measurement pays for page faults. */
static bool reserve(struct bale_engine_bench *bench)
{
    const struct bale_engine_how *how = bench->how;
    size_t raw;

    bench->count = (size_t)(how->sizes[how->size_count - 1] / BALE_EXTENT_DEFAULT);
    raw = bench->count * BALE_EXTENT_DEFAULT;
    bench->memory_size = round_up(2 * raw + bench->count * frame_room(), STEP);
    bench->items = calloc(bench->count, sizeof *bench->items);
    void *memory = mmap(NULL, bench->memory_size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED || !bench->items || bale_scratch_create(&bench->scratch) < 0) {
        bale_message("out of memory: give smaller --sizes");
        return false;
    }
    bench->memory = memory;
    bench->raw = bench->memory;
    bench->back = bench->raw + raw;
    bench->stored = bench->back + raw;
    return true;
}

/* Fills the memory with copies of the file or of the sample. */
static bool fill(struct bale_engine_bench *bench)
{
    size_t size = bench->count * BALE_EXTENT_DEFAULT;
    size_t have = size < SAMPLE ? size : SAMPLE;

    if (bench->how->file) {
        struct bale_bench_sample sample = {.names = (char *[]){(char *)bench->how->file, NULL},
                                           .extent = BALE_EXTENT_DEFAULT,
                                           .limit = size,
                                           .bytes = bench->raw};
        bool taken = bale_bench_sample_take(&sample);
        free(sample.lengths);
        if (!taken)
            return false;
        have = sample.size;
    } else {
        bale_bench_text(bench->raw, have);
    }
    for (size_t at = have; at < size; at += have)
        memcpy(bench->raw + at, bench->raw, size - at < have ? size - at : have);
    for (size_t i = 0; i < bench->count; i++) {
        bench->items[i].stored = bench->stored + i * frame_room();
        bench->items[i].capacity = bale_frame_bound(BALE_EXTENT_DEFAULT, BALE_CHUNK_LOG2_DEFAULT);
    }
    return true;
}

static bool pin(struct bale_engine_bench *bench)
{
    for (size_t at = 0; at < bench->memory_size; at += STEP) {
        int err = bench->gpu->pin(bench->engines[BALE_SIDE_GPU], bench->memory + at, STEP);
        if (err < 0) {
            bale_message("the memory cannot be pinned for the GPU: %s: give smaller --sizes",
                         bale_err_text(err));
            return false;
        }
    }
    return true;
}

/* Opens the GPU as a mount with engine=gpu does. */
static bool open_gpu(struct bale_engine_bench *bench)
{
    struct bale_gpu_options options = bench->how->gpu;
    int err = bale_plugin_load(NULL, &bench->gpu, &bench->why);

    options.insist = true;
    options.log = bale_gpu_message;
    if (err == BALE_OK)
        err = bench->gpu->open(&options, &bench->engines[BALE_SIDE_GPU], &bench->why);
    if (err < 0) {
        bench->engines[BALE_SIDE_GPU] = NULL;
        if (!bench->why.text[0])
            bale_reason_set(&bench->why, "%s", bale_err_text(err));
        return true;
    }
    return pin(bench);
}

bool bale_engine_bench_open(const struct bale_engine_how *how, struct bale_engine_bench *bench)
{
    *bench = (struct bale_engine_bench){.how = how};
    if (!reserve(bench) || !fill(bench))
        return false;
    if (bale_engine_cpu_create(how->threads, &bench->engines[BALE_SIDE_CPU]) < 0) {
        bale_message("%u threads cannot be started: give fewer with --threads", how->threads);
        return false;
    }
    if (!open_gpu(bench))
        return false;
    if (bench->engines[BALE_SIDE_GPU])
        bench->gpu->stats(bench->engines[BALE_SIDE_GPU], &bench->device);
    return true;
}

void bale_engine_bench_close(struct bale_engine_bench *bench)
{
    for (int side = 0; side < BALE_SIDES; side++)
        bale_engine_destroy(bench->engines[side]);
    bale_scratch_destroy(bench->scratch);
    free(bench->items); /* the memory is not freed: a GPU that hangs may still write to it */
}
