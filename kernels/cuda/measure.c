/* Measures a codec's kernels on data in device memory: measure of kernels/engine/gpu.h. */
#include <assert.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/cuda/engine.h"

enum { RELEASE_NEVER_MS = 24 * 60 * 60 * 1000 };

static_assert((int)BALE_GPU_TRIAL == (int)BALE_CUDA_CELLS_MAX,
              "as many as the largest slot has cells");

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static uint64_t median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, by_value);
    return (uint64_t)((values[(count - 1) / 2] + values[count / 2]) / 2);
}

/* Whether the device does the trial's codec, parameters and lengths. */
static bool is_taken(const struct bale_cuda_device *device, const struct bale_gpu_trial *trial)
{
    int codec = bale_cuda_codec_of(trial->codec);

    if (codec <= CUDA_STORE || trial->count == 0 || trial->runs == 0 ||
        !bale_cuda_device_has(device, (enum cuda_codec)codec))
        return false;
    for (size_t i = 0; i < trial->count; i++) {
        const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
        if (chunk->length == 0 || chunk->length > BALE_CUDA_CELL ||
            !bale_cuda_encodes((enum cuda_codec)codec, (int16_t)chunk->parameter))
            return false;
    }
    return true;
}

static void fill_chunks(const struct bale_gpu_trial *trial, const struct bale_cuda_host *host)
{
    uint32_t frames = 0;

    for (uint32_t i = 0; i < trial->measured; i++) {
        const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
        if (i == 0 || chunk->begins)
            host->frames[frames++] =
                (struct cuda_frame){.first = i, .field = trial->field, .offset = chunk->offset};
        host->frames[frames - 1].raw_length += chunk->length;
        host->chunks[i] = (struct cuda_chunk){
            .address = (uintptr_t)chunk->raw,
            .length = chunk->length,
            .raw_length = chunk->length,
            .limit = bale_chunk_limit(chunk->length),
            .chunk_size = BALE_CUDA_CELL,
            .parameter = chunk->parameter,
            .frame = frames - 1,
        };
    }
}

/* The stored bytes of a frame's chunks from *i on, and of its part; *i becomes the next frame's
 * first chunk. */
static uint64_t stored_of(const struct bale_gpu_trial *trial, const struct bale_cuda_host *host,
                          size_t *i)
{
    const uint32_t f = host->chunks[*i].frame, raw = host->frames[f].raw_length;
    const bool has_part = bale_codec_has_part(trial->codec);
    uint64_t stored = has_part ? host->made[f].length : 0;

    for (; *i < trial->measured && host->chunks[*i].frame == f; ++*i)
        stored += host->results[*i].stored;
    return has_part && !bale_frame_with_part_gains(raw, stored) ? raw : stored;
}

static int sum_up(const struct bale_cuda_host *host, struct bale_gpu_trial *trial)
{
    for (size_t i = 0; i < trial->measured; i++)
        if (host->results[i].flags & CUDA_MISMATCH)
            return BALE_E_CORRUPT;
    trial->stored = 0;
    for (size_t i = 0; i < trial->measured;)
        trial->stored += stored_of(trial, host, &i);
    return BALE_OK;
}

static int run_trial(struct bale_cuda_slot *slot, struct bale_gpu_trial *trial)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(slot);
    double *ns = calloc(2 * (size_t)trial->runs, sizeof *ns);
    int err = ns ? bale_cuda_slot_use(slot) : BALE_E_NOMEM;

    trial->measured = trial->count < host->cells ? trial->count : host->cells;
    if (err == BALE_OK) {
        fill_chunks(trial, host);
        err = bale_cuda_measure(slot, (enum cuda_codec)bale_cuda_codec_of(trial->codec),
                                (uint32_t)trial->measured, trial->runs, ns, ns + trial->runs);
    }
    if (err == BALE_OK)
        err = sum_up(host, trial);
    if (err == BALE_OK) {
        trial->encode_ns = median(ns, trial->runs);
        trial->decode_ns = median(ns + trial->runs, trial->runs);
    }
    free(ns);
    return err;
}

/* Opens an engine that gets no items, so that its threads leave the device to this one. */
int bale_cuda_measure_all(const struct bale_gpu_options *options, struct bale_gpu_trial *trials,
                          size_t count, void (*tick)(void *argument, size_t trial), void *argument,
                          struct bale_reason *why)
{
    struct bale_gpu_options one = *options;
    struct bale_engine *handle = NULL;
    int err;

    one.device_count = options->device_count > 0;
    one.verify = true; /* allocates the cells that chunks are decoded to */
    one.release_ms = RELEASE_NEVER_MS;
    err = bale_cuda_engine_open(&one, &handle, why);
    if (err < 0)
        return err;
    struct bale_cuda_device *device = bale_cuda_engine(handle)->devices[0];
    for (size_t i = 0; i < count; i++) {
        if (tick)
            tick(argument, i);
        trials[i].status = is_taken(device, &trials[i])
                               ? run_trial(bale_cuda_device_slot(device, 0), &trials[i])
                               : BALE_E_INVALID;
    }
    handle->ops->destroy(handle);
    return BALE_OK;
}
