#include "tools/bench/engine_measure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tools/common/size.h"

/* as many batches as the dispatcher has in flight */
#define BATCHES 4

void bale_engine_settings(const struct bale_engine_how *how, struct bale_bench_settings *settings)
{
    *settings = how->codecs;
    if (how->codecs.count > 0)
        return;
    /* zero is almost the same as store */
    for (int id = 0; id < BALE_CODEC_AUTO; id++) {
        const struct bale_codec *codec = bale_codec_find((uint8_t)id);
        if (codec && id != BALE_CODEC_ZERO)
            bale_bench_settings_add(settings, codec->name, NULL);
    }
}

const char *bale_engine_direction(enum bale_item_kind kind)
{
    return kind == BALE_ITEM_ENCODE ? "encode" : "decode";
}

const char *bale_engine_side(enum bale_side side)
{
    return side == BALE_SIDE_CPU ? "CPU" : "GPU";
}

bool bale_engine_takes(const struct bale_engine_bench *bench, enum bale_side side)
{
    bool takes = side == BALE_SIDE_CPU;

    for (size_t i = 0; !takes && bench->engines[side] && i < bench->count; i++)
        takes = bench->gpu->takes(bench->engines[side], &bench->items[i]);
    return takes;
}

/* Sets the items' settings. As in a mount, what a setting leaves open is resolved from the bytes of
 * an extent before the item is given to an engine. */
static void settle(struct bale_engine_bench *bench, struct bale_setting setting)
{
    if (setting.codec == bench->settled.codec && setting.parameter == bench->settled.parameter &&
        bale_field_equal(&setting.field, &bench->settled.field))
        return;
    for (size_t i = 0; i < bench->count; i++)
        bench->items[i].setting =
            bale_setting_choose(bench->scratch, setting, bench->raw + i * BALE_EXTENT_DEFAULT,
                                BALE_EXTENT_DEFAULT, BALE_CHUNK_LOG2_DEFAULT);
    bench->settled = setting;
}

void bale_engine_prepare(struct bale_engine_bench *bench, const struct bale_engine_row *row)
{
    bool encode = row->kind == BALE_ITEM_ENCODE;
    uint8_t *at = encode ? bench->raw : bench->back;

    settle(bench, row->setting);
    for (size_t i = 0; i < bench->count; i++) {
        struct bale_item *item = &bench->items[i];
        item->kind = row->kind;
        item->priority = BALE_PRIORITY_NORMAL;
        item->raw = at + i * BALE_EXTENT_DEFAULT;
        if (encode)
            item->frame = (struct bale_frame){.offset = i * BALE_EXTENT_DEFAULT,
                                              .raw_length = BALE_EXTENT_DEFAULT,
                                              .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT};
    }
}

struct bale_flight_how bale_engine_flight(const struct bale_engine_bench *bench,
                                          enum bale_side side, uint64_t bytes)
{
    return (struct bale_flight_how){
        .engine = bench->engines[side],
        .takes = side == BALE_SIDE_GPU ? bench->gpu->takes : NULL,
        .other = bench->engines[BALE_SIDE_CPU],
        .items = bench->items,
        .count = bench->count,
        .bytes = bytes,
        .parts = side == BALE_SIDE_GPU ? BATCHES : 0,
    };
}

bool bale_engine_fail(struct bale_engine_bench *bench, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(bench->failure, sizeof bench->failure, format, args);
    va_end(args);
    return false;
}

bool bale_engine_good(struct bale_engine_bench *bench, enum bale_side side,
                      const struct bale_engine_row *row, int err)
{
    char text[BALE_SETTING_TEXT];

    if (err == BALE_OK)
        return true;
    bale_setting_print(row->setting, text, sizeof text);
    return bale_engine_fail(bench, "%s, %s on the %s: %s", text, bale_engine_direction(row->kind),
                            bale_engine_side(side),
                            err == BALE_E_CORRUPT ? "the decompressed bytes differ from the input: "
                                                    "check this machine's memory, and report it"
                                                  : bale_err_text(err));
}

/* ---- Before anything is timed ---- */

static int once(const struct bale_engine_bench *bench, enum bale_side side)
{
    const struct bale_flight_how how = bale_engine_flight(bench, side, UINT64_MAX);

    return bale_flight_once(&how);
}

static int decode(struct bale_engine_bench *bench, enum bale_side side,
                  const struct bale_engine_row *row)
{
    size_t size = bench->count * BALE_EXTENT_DEFAULT;
    int err;

    bale_engine_prepare(bench, row);
    memset(bench->back, 1, size);
    err = once(bench, side);
    if (err == BALE_OK && memcmp(bench->back, bench->raw, size) != 0)
        err = BALE_E_CORRUPT;
    return err;
}

static double ratio_of(const struct bale_engine_bench *bench)
{
    uint64_t stored = 0;

    for (size_t i = 0; i < bench->count; i++)
        stored += bench->items[i].stored_length;
    return (double)bench->count * BALE_EXTENT_DEFAULT / (double)stored;
}

bool bale_engine_check(struct bale_engine_bench *bench, enum bale_side side,
                       struct bale_engine_row rows[2])
{
    enum bale_side encoder;
    int err;

    bale_engine_prepare(bench, &rows[0]);
    rows[0].sides[side].taken = bale_engine_takes(bench, side);
    encoder = rows[0].sides[side].taken ? side : BALE_SIDE_CPU;
    err = once(bench, encoder);
    if (!bale_engine_good(bench, encoder, &rows[0], err))
        return false;
    rows[0].sides[side].ratio = ratio_of(bench);
    bale_engine_prepare(bench, &rows[1]);
    rows[1].sides[side].taken = bale_engine_takes(bench, side);
    err = decode(bench, BALE_SIDE_CPU, &rows[1]);
    if (!bale_engine_good(bench, encoder, &rows[0], err))
        return false;
    if (side == BALE_SIDE_GPU && rows[1].sides[side].taken)
        err = decode(bench, side, &rows[1]);
    return bale_engine_good(bench, side, &rows[1], err);
}

/* ---- Measuring ---- */

static void tick(const struct bale_engine_bench *bench, enum bale_side side,
                 const struct bale_engine_row *row, uint64_t bytes)
{
    char text[128 + BALE_SETTING_TEXT], setting[BALE_SETTING_TEXT], size[BALE_TEXT];

    bale_setting_print(row->setting, setting, sizeof setting);
    snprintf(text, sizeof text, "%s, %s on the %s, %s in flight", setting,
             bale_engine_direction(row->kind), bale_engine_side(side), bale_size_text(bytes, size));
    bench->how->tick(bench->how->argument, text);
}

static bool measure_row(struct bale_engine_bench *bench, enum bale_side side,
                        struct bale_engine_row *row)
{
    const struct bale_engine_how *how = bench->how;
    int err = BALE_OK;

    if (row->sides[side].taken)
        bale_engine_prepare(bench, row);
    for (unsigned s = 0; s < how->size_count && err == BALE_OK; s++) {
        tick(bench, side, row, how->sizes[s]);
        if (!row->sides[side].taken)
            continue;
        struct bale_flight_how flight = bale_engine_flight(bench, side, how->sizes[s]);
        err = bale_flight_measure(&flight, how->seconds, &row->sides[side].rates[s]);
    }
    return bale_engine_good(bench, side, row, err);
}

/* Each side decodes what it has encoded itself. */
bool bale_engine_measure(struct bale_engine_bench *bench, struct bale_engine_row rows[2])
{
    for (enum bale_side side = 0; side < BALE_SIDES; side++)
        if (bench->engines[side] &&
            (!bale_engine_check(bench, side, rows) || !measure_row(bench, side, &rows[0]) ||
             !measure_row(bench, side, &rows[1])))
            return false;
    return true;
}

uint64_t bale_engine_crossover(const struct bale_engine_how *how, const struct bale_engine_row *row)
{
    const struct bale_flight_rate *cpu = row->sides[BALE_SIDE_CPU].rates;
    const struct bale_flight_rate *gpu = row->sides[BALE_SIDE_GPU].rates;
    uint64_t least = 0;

    for (unsigned s = how->size_count; s > 0 && gpu[s - 1].rate > cpu[s - 1].rate; s--)
        least = how->sizes[s - 1];
    return least;
}
