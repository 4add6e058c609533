#include "tools/bench/measure.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "kernels/base/array.h"
#include "kernels/engine/engine.h"
#include "kernels/round/piece.h"

#define PATIENCE 10.0 /* seconds after which a point gets no further run */

struct bale_bench_data {
    const struct bale_bench_how *how;
    struct bale_engine *one;
    struct bale_engine *all; /* the same engine as one if there is one thread */
    struct bale_item *items; /* one for each extent */
    size_t count, room;
    size_t size; /* of all raw bytes */
    uint8_t *stored, *raw;
    double *times;
    pthread_mutex_t mutex; /* guards left */
    pthread_cond_t wake;
    size_t left; /* items that are not done */
};

unsigned bale_bench_ticks(const struct bale_bench_how *how)
{
    return 2 * how->runs * (how->threads > 1 ? 2 : 1);
}

int bale_bench_create(const struct bale_bench_how *how, struct bale_bench_data **out)
{
    struct bale_bench_data *data = calloc(1, sizeof *data);
    int err;

    if (!data)
        return BALE_E_NOMEM;
    data->how = how;
    pthread_mutex_init(&data->mutex, NULL);
    pthread_cond_init(&data->wake, NULL);
    data->times = calloc(how->runs, sizeof *data->times);
    err = data->times ? bale_engine_cpu_create(1, &data->one) : BALE_E_NOMEM;
    if (err == BALE_OK && how->threads > 1)
        err = bale_engine_cpu_create(how->threads, &data->all);
    else
        data->all = data->one;
    if (err < 0) {
        bale_bench_destroy(data);
        return err;
    }
    *out = data;
    return BALE_OK;
}

void bale_bench_destroy(struct bale_bench_data *data)
{
    if (!data)
        return;
    if (data->all != data->one)
        bale_engine_destroy(data->all);
    bale_engine_destroy(data->one);
    pthread_cond_destroy(&data->wake);
    pthread_mutex_destroy(&data->mutex);
    free(data->items);
    free(data->stored);
    free(data->raw);
    free(data->times);
    free(data);
}

static void bench_item_done(struct bale_item *item)
{
    struct bale_bench_data *data = item->owner;

    pthread_mutex_lock(&data->mutex);
    if (--data->left == 0)
        pthread_cond_signal(&data->wake);
    pthread_mutex_unlock(&data->mutex);
}

int bale_bench_add(struct bale_bench_data *data, const void *bytes, size_t length)
{
    uint32_t extent = data->how->extent;

    for (size_t at = 0; at < length; at += extent) {
        struct bale_item *items =
            bale_array_grow(data->items, data->count, &data->room, sizeof *items);
        if (!items)
            return BALE_E_NOMEM;
        data->items = items;
        items[data->count++] = (struct bale_item){
            .priority = BALE_PRIORITY_NORMAL,
            .done = bench_item_done,
            .owner = data,
            .frame = {.offset = at,
                      .raw_length = length - at < extent ? (uint32_t)(length - at) : extent,
                      .chunk_log2 = data->how->chunk_log2},
            .raw = (uint8_t *)bytes + at, /* encoders only read it */
        };
    }
    data->size += length;
    return BALE_OK;
}

size_t bale_bench_extents(const struct bale_bench_data *data)
{
    return data->count;
}

const struct bale_item *bale_bench_extent(const struct bale_bench_data *data, size_t i)
{
    return &data->items[i];
}

const struct bale_bench_how *bale_bench_how(const struct bale_bench_data *data)
{
    return data->how;
}

/* Allocates the results and touches that memory, so that no run pays for page faults. */
static int make_room(struct bale_bench_data *data)
{
    size_t each = bale_frame_bound(data->how->extent, data->how->chunk_log2);

    if (data->stored)
        return BALE_OK;
    data->stored = malloc(data->count * each);
    data->raw = malloc(data->size);
    if (!data->stored || !data->raw)
        return BALE_E_NOMEM;
    memset(data->stored, 1, data->count * each);
    memset(data->raw, 1, data->size);
    for (size_t i = 0; i < data->count; i++) {
        data->items[i].stored = data->stored + i * each;
        data->items[i].capacity = each;
    }
    return BALE_OK;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Runs all items once and returns the first error. *took: seconds. */
static int run_all(struct bale_bench_data *data, struct bale_engine *engine, double *took)
{
    double start;

    for (size_t i = 0; i < data->count; i++)
        data->items[i].next = i + 1 < data->count ? &data->items[i + 1] : NULL;
    data->left = data->count;
    start = now();
    bale_engine_submit(engine, data->items);
    pthread_mutex_lock(&data->mutex);
    while (data->left > 0)
        pthread_cond_wait(&data->wake, &data->mutex);
    pthread_mutex_unlock(&data->mutex);
    *took = now() - start;
    for (size_t i = 0; i < data->count; i++)
        if (data->items[i].status < 0)
            return data->items[i].status;
    return BALE_OK;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Resets what an encode changes in the items: what an open setting chose, and chunks that became
 * larger than was asked for. */
static void prepare(struct bale_bench_data *data, enum bale_item_kind kind,
                    const struct bale_setting *setting)
{
    for (size_t i = 0; i < data->count; i++) {
        struct bale_item *item = &data->items[i];
        item->kind = kind;
        if (kind == BALE_ITEM_ENCODE) {
            item->setting = *setting;
            item->frame.chunk_log2 = data->how->chunk_log2;
        }
    }
}

/* Measures the median speed of several runs. */
static int time_runs(struct bale_bench_data *data, struct bale_engine *engine,
                     enum bale_item_kind kind, const struct bale_setting *setting, double *speed)
{
    const struct bale_bench_how *how = data->how;
    double *times = data->times;
    double total = 0;
    unsigned runs = 0;

    while (runs < how->runs && (runs == 0 || total < PATIENCE)) {
        if (how->tick)
            how->tick(how->argument, setting);
        prepare(data, kind, setting);
        int err = run_all(data, engine, &times[runs]);
        if (err < 0)
            return err;
        total += times[runs++];
    }
    qsort(times, runs, sizeof *times, by_value);
    *speed = (double)data->size / ((times[(runs - 1) / 2] + times[runs / 2]) / 2);
    return BALE_OK;
}

/* Has the items' raw bytes lie in memory of data->size bytes. Returns where they lay, for restore;
 * NULL: out of memory, and nothing has changed. */
static uint8_t **exchange(struct bale_bench_data *data, uint8_t *memory)
{
    uint8_t **originals = calloc(data->count, sizeof *originals);

    for (size_t i = 0; originals && i < data->count; i++) {
        originals[i] = data->items[i].raw;
        data->items[i].raw = memory;
        memory += data->items[i].frame.raw_length;
    }
    return originals;
}

static void restore(struct bale_bench_data *data, uint8_t **originals)
{
    for (size_t i = 0; i < data->count; i++)
        data->items[i].raw = originals[i];
    free(originals);
}

/* Decodes into other memory than the input, and compares. */
static int time_decompress(struct bale_bench_data *data, struct bale_engine *engine,
                           const struct bale_setting *setting, double *speed)
{
    uint8_t **originals = exchange(data, data->raw);
    int err;

    if (!originals)
        return BALE_E_NOMEM;
    memset(data->raw, 1, data->size);
    err = time_runs(data, engine, BALE_ITEM_DECODE, setting, speed);
    for (size_t i = 0; i < data->count; i++) {
        const struct bale_item *item = &data->items[i];
        if (err == BALE_OK && memcmp(item->raw, originals[i], item->frame.raw_length) != 0)
            err = BALE_E_CORRUPT;
    }
    restore(data, originals);
    return err;
}

static int time_both(struct bale_bench_data *data, struct bale_engine *engine,
                     const struct bale_setting *setting, struct bale_bench_speed *speed)
{
    int err = time_runs(data, engine, BALE_ITEM_ENCODE, setting, &speed->compress);

    return err < 0 ? err : time_decompress(data, engine, setting, &speed->decompress);
}

static int measure(struct bale_bench_data *data, const struct bale_setting *setting,
                   struct bale_bench_result *result)
{
    int err = time_both(data, data->one, setting, &result->one);

    result->all = result->one;
    if (err == BALE_OK && data->all != data->one)
        err = time_both(data, data->all, setting, &result->all);
    return err;
}

/* A lossy codec gets rounded elements, as from a mount: rounding is not timed. */
static int measure_rounded(struct bale_bench_data *data, const struct bale_setting *setting,
                           struct bale_bench_result *result)
{
    uint8_t *rounded = malloc(data->size), *at = rounded;
    uint8_t **originals = rounded ? exchange(data, rounded) : NULL;
    int err = originals ? BALE_OK : BALE_E_NOMEM;

    for (size_t i = 0; err == BALE_OK && i < data->count; i++) {
        const struct bale_frame *frame = &data->items[i].frame;
        bale_round_piece(&setting->field, frame->offset, at, originals[i], frame->raw_length);
        at += frame->raw_length;
    }
    if (err == BALE_OK)
        err = measure(data, setting, result);
    if (originals)
        restore(data, originals);
    free(rounded);
    return err;
}

int bale_bench_measure(struct bale_bench_data *data, struct bale_setting setting,
                       struct bale_bench_result *result)
{
    int err = make_room(data);

    *result = (struct bale_bench_result){.setting = setting, .gpu = result->gpu};
    if (err == BALE_OK)
        err = (bale_codec_is_lossy(setting.codec) ? measure_rounded : measure)(data, &setting,
                                                                               result);
    if (err < 0)
        return err;
    for (size_t i = 0; i < data->count; i++) {
        result->stored += data->items[i].stored_length;
        result->frames[data->items[i].frame.codec]++;
    }
    return BALE_OK;
}
