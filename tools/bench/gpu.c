#include "tools/bench/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/engine.h"
#include "kernels/engine/plugin_loader.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tools/common/gpu_options.h"

/* The GPU's trials. Some results have none. */
struct trials {
    const struct bale_bench_how *how;
    struct bale_gpu_trial *list;
    struct bale_bench_result **results;  /* the result of each trial */
    struct bale_gpu_trial_chunk *chunks; /* BALE_GPU_TRIAL for each trial */
    size_t count;
};

static bool fail(char *note, const struct bale_setting *setting, int err)
{
    char text[BALE_SETTING_TEXT];

    bale_setting_print(*setting, text, sizeof text);
    snprintf(note, BALE_BENCH_NOTE, "%s on the GPU: %s: --engine cpu leaves it out", text,
             err == BALE_E_CORRUPT ? "the decompressed bytes differ from the input: check this "
                                     "machine's memory, and report it"
                                   : bale_err_text(err));
    return false;
}

/* Lists the first chunks of the data. As in a mount, what a setting leaves open is resolved for
 * each extent. */
static size_t list_chunks(const struct bale_bench_data *data, const struct bale_bench_how *how,
                          struct bale_setting setting, struct bale_scratch *scratch,
                          struct bale_gpu_trial_chunk *chunks)
{
    size_t count = 0, extents = bale_bench_extents(data);

    for (size_t i = 0; i < extents && count < BALE_GPU_TRIAL; i++) {
        const struct bale_item *extent = bale_bench_extent(data, i);
        uint32_t length = extent->frame.raw_length;
        struct bale_setting settled =
            bale_setting_choose(scratch, setting, extent->raw, length, how->chunk_log2);
        uint32_t chunk = UINT32_C(1) << bale_codec_chunk_log2(&settled, how->chunk_log2);
        for (uint32_t at = 0; at < length && count < BALE_GPU_TRIAL; at += chunk)
            chunks[count++] =
                (struct bale_gpu_trial_chunk){.raw = extent->raw + at,
                                              .offset = extent->frame.offset + at,
                                              .length = length - at < chunk ? length - at : chunk,
                                              .parameter = (uint16_t)settled.parameter,
                                              .begins = at == 0};
    }
    return count;
}

/* The bytes of the heads of the frames that contain so many chunks. */
static uint64_t heads_of(const struct bale_bench_data *data, const struct bale_gpu_trial *trial)
{
    const struct bale_setting setting = {.codec = trial->codec, .field = trial->field};
    uint64_t heads = 0;

    for (size_t i = 0, seen = 0; seen < trial->measured; i++) {
        const struct bale_frame *f = &bale_bench_extent(data, i)->frame;
        const uint8_t log2 = bale_codec_chunk_log2(&setting, f->chunk_log2);
        heads += bale_frame_head_length(trial->codec, f->raw_length, log2);
        seen += (size_t)((f->raw_length - 1) >> log2) + 1;
    }
    return heads;
}

static void take_trial(const struct bale_bench_data *data, const struct bale_gpu_trial *trial,
                       struct bale_bench_gpu *gpu)
{
    for (size_t i = 0; i < trial->measured; i++)
        gpu->raw += trial->chunks[i].length;
    gpu->stored = trial->stored + heads_of(data, trial);
    gpu->speed.compress = (double)gpu->raw / ((double)trial->encode_ns * 1e-9);
    if (trial->round_ns > 0)
        gpu->rounding = (double)gpu->raw / ((double)trial->round_ns * 1e-9);
    gpu->speed.decompress = (double)gpu->raw / ((double)trial->decode_ns * 1e-9);
}

static void trial_tick(void *argument, size_t trial)
{
    const struct trials *trials = argument;

    if (trials->how->tick)
        trials->how->tick(trials->how->argument, &trials->results[trial]->setting);
}

/* auto is left out: it is not a codec, and the codecs that it chooses have their own lines. */
static int list_trials(const struct bale_bench_data *data, struct bale_bench_result *results,
                       size_t count, struct trials *trials)
{
    struct bale_scratch *scratch = NULL;

    trials->list = calloc(count, sizeof *trials->list);
    trials->results = calloc(count, sizeof(struct bale_bench_result *));
    trials->chunks = calloc(count * BALE_GPU_TRIAL, sizeof *trials->chunks);
    if (!trials->list || !trials->results || !trials->chunks || bale_scratch_create(&scratch) < 0)
        return BALE_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        struct bale_gpu_trial_chunk *chunks = trials->chunks + trials->count * BALE_GPU_TRIAL;
        struct bale_setting setting = results[i].setting;
        if (setting.codec == BALE_CODEC_AUTO)
            continue;
        trials->list[trials->count] = (struct bale_gpu_trial){
            .codec = setting.codec,
            .field = setting.field,
            .chunks = chunks,
            .count = list_chunks(data, trials->how, setting, scratch, chunks),
            .runs = trials->how->runs,
        };
        trials->results[trials->count++] = &results[i];
    }
    bale_scratch_destroy(scratch);
    return BALE_OK;
}

static void free_trials(struct trials *trials)
{
    free(trials->list);
    free(trials->results);
    free(trials->chunks);
}

static bool take_all(const struct bale_bench_data *data, const struct trials *trials, char *note)
{
    for (size_t i = 0; i < trials->count; i++) {
        const struct bale_gpu_trial *trial = &trials->list[i];
        if (trial->status == BALE_OK)
            take_trial(data, trial, &trials->results[i]->gpu);
        else if (trial->status != BALE_E_INVALID)
            return fail(note, &trials->results[i]->setting, trial->status);
    }
    return true;
}

/* Finds the GPU and the options that a mount with this engine would use. */
static int find(enum bale_engine_choice engine, const struct bale_gpu **gpu,
                struct bale_gpu_options *options, char *device, struct bale_reason *why)
{
    struct bale_gpu_found found;
    int err = bale_plugin_load(NULL, gpu, why);

    if (err < 0)
        return err;
    err = (*gpu)->find(&found, why);
    if (found.device_count == 0 || (err < 0 && engine != BALE_ENGINE_GPU))
        return err < 0 ? err : BALE_E_DEVICE;
    *options = (struct bale_gpu_options){.devices = {(int)found.chosen},
                                         .device_count = 1,
                                         .insist = engine == BALE_ENGINE_GPU,
                                         .log = bale_gpu_message};
    snprintf(device, BALE_GPU_NAME, "%s", found.devices[found.chosen].name);
    return BALE_OK;
}

bool bale_bench_gpu(const struct bale_bench_data *data, enum bale_engine_choice engine,
                    struct bale_bench_result *results, size_t count, char device[BALE_GPU_NAME],
                    char note[BALE_BENCH_NOTE])
{
    struct trials trials = {.how = bale_bench_how(data)};
    struct bale_gpu_options options;
    const struct bale_gpu *gpu = NULL;
    struct bale_reason why = {0};
    bool good = true;

    device[0] = note[0] = '\0';
    if (engine == BALE_ENGINE_CPU)
        return true;
    if (find(engine, &gpu, &options, device, &why) < 0) {
        if (engine == BALE_ENGINE_GPU)
            snprintf(note, BALE_BENCH_NOTE, "--engine gpu: there is no GPU: %s", why.text);
        return engine == BALE_ENGINE_AUTO;
    }
    int err = list_trials(data, results, count, &trials);
    if (err == BALE_OK)
        err = gpu->measure(&options, trials.list, trials.count, trial_tick, &trials, &why);
    if (err == BALE_OK) {
        good = take_all(data, &trials, note);
    } else {
        snprintf(note, BALE_BENCH_NOTE, "GPU: %s: it is not measured",
                 why.text[0] ? why.text : bale_err_text(err));
        device[0] = '\0';
        good = engine == BALE_ENGINE_AUTO;
    }
    free_trials(&trials);
    return good;
}
