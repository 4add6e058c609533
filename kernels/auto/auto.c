#include "kernels/auto/auto.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/gpulz.h"
#include "kernels/codec/codec.h"
#include "kernels/codec/sample.h"

enum {
    SYMBOL_LOG2_MIN = 1, /* gpulz with symbols of one byte is not considered */
    SYMBOL_SIZES = BALE_GPULZ_SYMBOL_LOG2_MAX + 1,
    SAMPLE_MIN = BALE_AUTO_PIECE * BALE_AUTO_PIECES_MIN,
};

/* Bytes of the sample, raw and as each codec would store it. */
struct estimates {
    uint32_t raw;
    uint32_t lz4;
    uint32_t zstd;
    uint32_t literals;            /* zstd:1's, raw */
    uint32_t gpulz[SYMBOL_SIZES]; /* by log2 of the size of symbols */
};

static const struct bale_sampling sampling = {.piece = BALE_AUTO_PIECE,
                                              .per_log2 = 14,
                                              .least = BALE_AUTO_PIECES_MIN,
                                              .most = BALE_AUTO_PIECES_MAX};

static const struct bale_setting store = {.codec = BALE_CODEC_STORE};
static const struct bale_setting fsst = {.codec = BALE_CODEC_FSST};
static const struct bale_setting elements = {.codec = BALE_CODEC_FLOAT};
static const struct bale_setting lz4 = {.codec = BALE_CODEC_LZ4};
static const struct bale_setting zstd = {.codec = BALE_CODEC_ZSTD, .parameter = 1};
static const struct bale_setting lzr = {.codec = BALE_CODEC_LZR, .parameter = 1};

static struct bale_setting gpulz(unsigned symbol_log2)
{
    return (struct bale_setting){
        .codec = BALE_CODEC_GPULZ,
        .parameter = (int16_t)bale_gpulz_parameter(symbol_log2, BALE_AUTO_GPULZ_PIECE_LOG2,
                                                   BALE_AUTO_GPULZ_WINDOW)};
}

/* Copies every other piece of the sample, from this one on, to `to`. Returns how many bytes. */
static uint32_t gather_half(uint8_t *to, const uint8_t *raw, uint32_t raw_length, uint32_t from)
{
    const uint32_t pieces = bale_sample_pieces(&sampling, raw_length);
    uint32_t length = 0;

    for (uint32_t i = from; i < pieces; i += 2, length += BALE_AUTO_PIECE)
        memcpy(to + length, raw + bale_sample_at(&sampling, raw_length, pieces, i),
               BALE_AUTO_PIECE);
    return length;
}

static struct estimates estimate_lz(struct bale_auto *a, uint32_t length)
{
    const struct bale_auto_lz lz = bale_auto_lz(a, length);

    return (struct estimates){
        .raw = length, .lz4 = lz.lz4, .zstd = lz.zstd, .literals = lz.literals};
}

/* Bytes without repeats or common values. */
static bool is_noise(const struct estimates *e)
{
    return e->literals == e->raw && e->zstd > e->raw - e->raw / 64;
}

/* Whether these estimates show, well within each limit, which of the codecs of bytes is the one:
 * lzr:1, or store. */
static bool is_clear(const struct estimates *e)
{
    return is_noise(e) ||
           (e->zstd < e->raw - e->raw / 4 && e->zstd >= e->raw / 8 &&
            e->literals <= e->raw - e->raw * 5 / 32 && e->lz4 > e->zstd + e->zstd / 8);
}

/* Makes the sample, and estimates what one parse of it shows. Every other piece goes into the
 * second half, so that the first half is a sample too. */
static struct estimates look(struct bale_auto *a, bool half_may_do, const uint8_t *raw,
                             uint32_t raw_length)
{
    uint32_t length = gather_half(a->sample, raw, raw_length, 0);
    struct estimates e;

    if (length == 0) {
        memcpy(a->sample, raw, raw_length);
        return estimate_lz(a, raw_length);
    }
    if (half_may_do) {
        e = estimate_lz(a, length);
        if (is_clear(&e))
            return e;
    }
    return estimate_lz(a, length + gather_half(a->sample + length, raw, raw_length, 1));
}

/* Symbols of two bytes take long to try. They are tried only if larger ones leave much, and on half
 * of the sample if that has several pieces. */
static void estimate_gpulz(struct bale_auto *a, struct estimates *e)
{
    e->gpulz[3] = bale_auto_gpulz(a, e->raw, 3);
    e->gpulz[2] = bale_auto_gpulz(a, e->raw, 2);
    if (e->gpulz[2] <= e->raw / 2)
        e->gpulz[1] = e->raw;
    else if (e->raw < SAMPLE_MIN)
        e->gpulz[1] = bale_auto_gpulz(a, e->raw, 1);
    else
        e->gpulz[1] = 2 * bale_auto_gpulz(a, e->raw / 2, 1);
}

/* If zstd is much smaller than lz4, entropy coding gains, which gpulz does not have. Then gpulz
 * need not be estimated. */
static bool gpulz_may_be_smallest(const struct estimates *e)
{
    return e->lz4 < e->raw - e->raw / 20 && e->lz4 <= e->zstd + e->zstd / 16;
}

/* The log2 of the size of symbols with the least estimate; the greatest size of equal ones. */
static unsigned best_symbol(const struct estimates *e)
{
    unsigned best = SYMBOL_SIZES - 1;

    for (unsigned symbol_log2 = best; symbol_log2-- > SYMBOL_LOG2_MIN;)
        if (e->gpulz[symbol_log2] < e->gpulz[best])
            best = symbol_log2;
    return best;
}

/* lzr:1 is about as small as zstd:1. Where nearly all bytes are literals, a core takes longer for
 * it; where hardly anything is left, zstd:1's tables are shorter. */
static struct bale_setting with_entropy(const struct estimates *e)
{
    bool few_matches = e->literals > e->raw - e->raw * 3 / 32, little = e->zstd < e->raw / 16;

    return few_matches || little ? zstd : lzr;
}

static struct bale_setting choose_by_sample(struct bale_auto *a, struct estimates *e)
{
    uint32_t enough = e->raw - e->raw / 20;
    uint32_t as_small = e->zstd + e->zstd / 32;

    if (gpulz_may_be_smallest(e)) {
        estimate_gpulz(a, e);
        unsigned best = best_symbol(e);
        if (e->gpulz[best] < e->lz4 - e->lz4 / 32 && e->gpulz[best] <= as_small)
            return gpulz(best);
    }
    if (e->zstd >= enough && e->lz4 >= enough)
        return store;
    return e->lz4 <= as_small ? lz4 : with_entropy(e);
}

/* Whether so many bytes of the sample are as few as zstd:1 needs for a piece of `longest` bytes,
 * from the middle. The sample's pieces show no repeats farther apart than they are long. */
static bool is_small_enough(struct bale_auto *a, const struct estimates *e, uint32_t stored,
                            const uint8_t *raw, uint32_t raw_length, uint32_t longest)
{
    uint32_t length = raw_length < longest ? raw_length : longest;
    uint64_t its = ((uint64_t)stored * length + e->raw - 1) / e->raw;

    return bale_auto_zstd_needs(a, raw + (raw_length - length) / 2 / 8 * 8, length, its);
}

/* Estimated bytes of the sample with a setting that was chosen by it. */
static uint32_t estimate_of(const struct estimates *e, struct bale_setting setting)
{
    if (setting.codec == BALE_CODEC_STORE)
        return e->raw - e->raw / 20;
    if (setting.codec == BALE_CODEC_GPULZ)
        return e->gpulz[bale_gpulz_symbol_log2((uint16_t)setting.parameter)];
    return setting.codec == BALE_CODEC_LZ4 ? e->lz4 : e->zstd;
}

/* The best of the codecs of bytes. */
static struct bale_setting choose_for_bytes(struct bale_auto *a, struct estimates *e,
                                            const uint8_t *raw, uint32_t raw_length)
{
    struct bale_setting setting = choose_by_sample(a, e);

    if (setting.codec != BALE_CODEC_LZ4 && setting.codec != BALE_CODEC_GPULZ)
        return setting;
    return is_small_enough(a, e, estimate_of(e, setting), raw, raw_length, BALE_AUTO_CLOSER)
               ? setting
               : with_entropy(e);
}

/* Where bytes halve by themselves, and where all of them are noise, elements are seldom better: a
 * first look at them has to promise less than this. */
static uint32_t worth_elements(const struct estimates *e)
{
    if (e->zstd < e->raw / 2)
        return e->zstd + e->zstd / 2;
    return is_noise(e) ? e->raw : 2 * e->raw;
}

static struct bale_setting choose_for_ratio(struct bale_auto *a, struct estimates *e,
                                            const uint8_t *raw, uint32_t raw_length)
{
    struct bale_setting setting = choose_for_bytes(a, e, raw, raw_length);
    uint32_t its;

    if (raw_length < BALE_AUTO_FLOAT_MIN)
        return setting;
    its = bale_auto_float(raw, raw_length, e->raw, worth_elements(e));
    if (its + its / 32 >= estimate_of(e, setting))
        return setting;
    return is_small_enough(a, e, its + its / 16, raw, raw_length, BALE_AUTO_SAMPLE_MAX) ? elements
                                                                                        : setting;
}

/* The time that a codec takes for a raw byte beyond store's, in 1/16 of the time for a stored byte
 * (spec.md, "Speed"). */
enum {
    PRICE_FSST = 4,
    PRICE_LZR = 6,
};
static const uint8_t gpulz_prices[SYMBOL_SIZES] = {[1] = 2, [2] = 1, [3] = 1};

static uint32_t cost(const struct estimates *e, uint32_t stored, uint32_t price)
{
    return stored + e->raw * price / 16;
}

/* Strings have less entropy than that, and the estimate takes as long as those of gpulz. */
static bool may_be_strings(const struct estimates *e)
{
    return e->zstd < e->raw - e->raw / 4;
}

static struct bale_setting choose_for_speed(struct bale_auto *a, struct estimates *e)
{
    struct bale_setting best = store;
    uint32_t least = e->raw, its;

    estimate_gpulz(a, e);
    for (unsigned symbol_log2 = SYMBOL_SIZES; symbol_log2-- > SYMBOL_LOG2_MIN;) {
        its = cost(e, e->gpulz[symbol_log2], gpulz_prices[symbol_log2]);
        if (its < least) {
            least = its;
            best = gpulz(symbol_log2);
        }
    }
    its = may_be_strings(e) ? cost(e, bale_auto_fsst(a, e->raw), PRICE_FSST) : least;
    if (its < least) {
        least = its;
        best = fsst;
    }
    return cost(e, e->zstd, PRICE_LZR) < least ? lzr : best;
}

static struct bale_setting auto_choose_extent(void *work, int16_t parameter, const uint8_t *raw,
                                              uint32_t raw_length)
{
    struct bale_auto *a = work;
    const bool for_speed = parameter == BALE_AUTO_FOR_SPEED;
    struct estimates e = look(a, !for_speed, raw, raw_length);

    return for_speed ? choose_for_speed(a, &e) : choose_for_ratio(a, &e, raw, raw_length);
}

static int auto_create_work(void **work)
{
    *work = malloc(sizeof(struct bale_auto));
    return *work ? BALE_OK : BALE_E_NOMEM;
}

/* A setting: it encodes nothing. */
const struct bale_codec bale_codec_auto = {
    .id = BALE_CODEC_AUTO,
    .name = "auto",
    .create = auto_create_work,
    .destroy = free,
    .choose = auto_choose_extent,
};
