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

/* The log2 of the size of the trial's chunks. */
static uint8_t chunk_log2_of(const struct bale_gpu_trial *trial)
{
    const struct bale_setting setting = {.codec = trial->codec, .field = trial->field};

    return bale_codec_chunk_log2(&setting, BALE_CUDA_CHUNK_LOG2_MAX);
}

/* Whether the device does the trial's codec, parameters and lengths. */
static bool is_taken(const struct bale_cuda_device *device, const struct bale_gpu_trial *trial)
{
    int codec = bale_cuda_codec_of(trial->codec);

    if (codec <= CUDA_STORE || trial->count == 0 || trial->runs == 0 ||
        !bale_cuda_device_has(device, (enum cuda_codec)codec) ||
        !bale_cuda_fits_cells(trial->codec, chunk_log2_of(trial)))
        return false;
    for (size_t i = 0; i < trial->count; i++) {
        const struct bale_gpu_trial_chunk *chunk = &trial->chunks[i];
        if (chunk->length == 0 || chunk->length > 1u << chunk_log2_of(trial) ||
            !bale_cuda_encodes((enum cuda_codec)codec, (int16_t)chunk->parameter))
            return false;
    }
    return true;
}

/* Whether the device rounds first. */
static bool rounds(const struct bale_gpu_trial *trial)
{
    return bale_codec_is_lossy(trial->codec) && trial->field.type != BALE_FIELD_NPY;
}

/* Fills the table with the first chunks, as many as there are cells for. Returns their cells. */
static uint32_t fill_chunks(struct bale_gpu_trial *trial, const struct bale_cuda_host *host)
{
    uint32_t frames = 0, cells = 0;

    for (trial->measured = 0; trial->measured < trial->count; trial->measured++) {
        const struct bale_gpu_trial_chunk *chunk = &trial->chunks[trial->measured];
        if ((chunk->length - 1) / BALE_CUDA_CELL >= host->cells - cells)
            break;
        if (cells == 0 || chunk->begins)
            host->frames[frames++] = (struct cuda_frame){
                .first = cells,
                .rounds = rounds(trial),
                .field = trial->field,
                .offset = chunk->offset,
            };
        host->frames[frames - 1].raw_length += chunk->length;
        cells +=
            bale_cuda_spread(host->chunks + cells, (struct cuda_chunk){
                                                       .address = (uintptr_t)chunk->raw,
                                                       .length = chunk->length,
                                                       .first = cells,
                                                       .whole = chunk->length,
                                                       .limit = bale_chunk_limit(chunk->length),
                                                       .chunk_size = 1u << chunk_log2_of(trial),
                                                       .parameter = chunk->parameter,
                                                       .frame = frames - 1,
                                                   });
    }
    return cells;
}

/* The stored bytes of a frame's chunks from cell *c on, and of its part; *c becomes the next
 * frame's first cell. */
static uint64_t stored_of(const struct bale_gpu_trial *trial, const struct bale_cuda_host *host,
                          uint32_t cells, uint32_t *c)
{
    const uint32_t f = host->chunks[*c].frame, raw = host->frames[f].raw_length;
    const bool has_part = bale_codec_has_part(trial->codec);
    uint64_t stored = has_part ? host->made[f].length : 0;

    for (; *c < cells && host->chunks[*c].frame == f; ++*c)
        stored += host->chunks[*c].first == *c ? host->results[*c].stored : 0;
    return has_part && !bale_frame_with_part_gains(raw, stored) ? raw : stored;
}

static int sum_up(const struct bale_cuda_host *host, uint32_t cells, struct bale_gpu_trial *trial)
{
    for (uint32_t c = 0; c < cells; c++)
        if (host->results[c].flags & CUDA_MISMATCH)
            return BALE_E_CORRUPT;
    trial->stored = 0;
    for (uint32_t c = 0; c < cells;)
        trial->stored += stored_of(trial, host, cells, &c);
    return BALE_OK;
}

static int run_trial(struct bale_cuda_slot *slot, struct bale_gpu_trial *trial)
{
    const struct bale_cuda_host *host = bale_cuda_slot_host(slot);
    const unsigned runs = trial->runs;
    double *ns = calloc(3 * (size_t)runs, sizeof *ns);
    const struct bale_cuda_times times = {
        .round_ns = ns, .encode_ns = ns + runs, .decode_ns = ns + 2 * (size_t)runs};
    int err = ns ? bale_cuda_slot_use(slot) : BALE_E_NOMEM;
    const uint32_t cells = fill_chunks(trial, host);

    if (err == BALE_OK)
        err = bale_cuda_measure(slot, (enum cuda_codec)bale_cuda_codec_of(trial->codec), cells,
                                runs, &times);
    if (err == BALE_OK)
        err = sum_up(host, cells, trial);
    if (err == BALE_OK) {
        trial->round_ns = rounds(trial) ? median(times.round_ns, runs) : 0;
        trial->encode_ns = median(times.encode_ns, runs);
        trial->decode_ns = median(times.decode_ns, runs);
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
