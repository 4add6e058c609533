/* Arrays for the codec float: of each type, in rows and planes, of kinds for which an encoder
 * chooses something else. */
#ifndef BALE_TESTS_CUDA_FLOAT_ITEMS_H
#define BALE_TESTS_CUDA_FLOAT_ITEMS_H

#include <string.h>

#include "format/bytes.h"
#include "format/field.h"
#include "tests/codecs/data.h"

enum float_kind {
    FLOAT_SMOOTH,    /* a surface */
    FLOAT_NOISY,     /* with a few bits of noise */
    FLOAT_SPECIAL,   /* -0, NaNs, infinities, denormals, and any bits among others */
    FLOAT_DECIMALS,  /* k / 10^d; some, and runs of them, are not */
    FLOAT_LOW_ZEROS, /* in all elements */
    FLOAT_RANDOM,    /* any bits */
    FLOAT_STEPS,     /* the same value for a while */
    FLOAT_RANGES,    /* of many exponents */
    FLOAT_RECORDS,   /* rows of columns that are far from each other, with noise */
    FLOAT_SKEWED,    /* differences of all lengths, and many that are 0: blocks of singles */
    FLOAT_WAVES,     /* smooth between rows for many of them, and rounded: interpolated rows */
    FLOAT_KINDS,
};

struct float_array {
    enum bale_field_type type;
    enum float_kind kind;
    bool big_endian;
    uint32_t row, rows; /* elements of a row, rows of a plane */
    unsigned digits, noise;
    uint64_t state;
};

/* Near to a sine, of period 1. */
static inline double float_wave(double t)
{
    const double x = t - (double)(int64_t)t, half = x < 0.5 ? x : x - 0.5;
    const double bow = half * (0.5 - half), wave = 16 * bow / (1.25 - 4 * bow);

    return x < 0.5 ? wave : -wave;
}

static inline double float_waves(const struct float_array *a, double x, double y, double z)
{
    const double often = 0.002 * a->noise;

    return 6000 * (float_wave(often * (x + 0.3 * z)) +
                   float_wave(often * (1.3 * y + 0.2 * z)) * float_wave(often * (x + 0.6 * y)));
}

static inline double float_value(struct float_array *a, uint32_t i)
{
    const int64_t x = i % a->row, y = i / a->row % a->rows, z = i / a->row / a->rows;
    const uint64_t random = data_next(&a->state);
    const uint32_t step = i / 200 * 77;
    double v = (double)(x * (a->row - x) * 3 + y * y * 50 + z * z * 700 + x * y);

    if (a->kind == FLOAT_STEPS)
        return step;
    if (a->kind == FLOAT_WAVES)
        return float_waves(a, (double)x, (double)y, (double)z);
    if (a->kind != FLOAT_SMOOTH)
        v += (double)(random >> (64 - a->noise));
    if (a->kind == FLOAT_RECORDS)
        v += (double)(x * 7919 % 1009 * 10000);
    if (a->kind == FLOAT_RANGES)
        v *= (double)(UINT64_C(1) << (i / 37 % 50)) * 0x1p-40;
    return i % 3 == 0 && a->kind == FLOAT_RANGES ? -v : v;
}

static inline uint64_t float_decimal(struct float_array *a, uint32_t i)
{
    static const double powers[] = {1, 10, 100, 1000, 1e4, 1e5, 1e6};
    const double value = ((double)(int64_t)float_value(a, i) - 5000) / powers[a->digits];
    const float narrow = (float)value;
    const uint64_t random = data_next(&a->state);
    uint64_t pattern = 0;

    if (random % 90 == 0 || i % 3000 < 130)
        return random;
    if (a->type == BALE_FIELD_F32)
        memcpy(&pattern, &narrow, sizeof narrow);
    else
        memcpy(&pattern, &value, sizeof value);
    return pattern;
}

static inline uint64_t float_special(struct float_array *a, uint64_t pattern)
{
    static const uint64_t some[] = {0,
                                    1,
                                    UINT64_C(1) << 63,
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0xfff8000000000123),
                                    UINT64_C(0x7fffffffffffffff),
                                    UINT64_C(0x000fffffffffffff)};
    const uint64_t random = data_next(&a->state);

    if (random % 11 != 0)
        return pattern;
    if (random % 3 == 0)
        return data_next(&a->state);
    const uint64_t one = some[random / 64 % 7];
    return a->type == BALE_FIELD_F32 ? one >> 32 | (one & 1) : one;
}

static inline uint64_t float_pattern(struct float_array *a, uint32_t i)
{
    const bool is_float = a->type == BALE_FIELD_F32 || a->type == BALE_FIELD_F64;
    const double value = is_float && a->kind == FLOAT_DECIMALS ? 0 : float_value(a, i);
    uint64_t pattern = (uint64_t)(int64_t)value;

    if (a->kind == FLOAT_RANDOM)
        return data_next(&a->state);
    if (is_float && a->kind == FLOAT_DECIMALS)
        return float_decimal(a, i);
    if (a->type == BALE_FIELD_F32) {
        const float narrow = (float)(value * 0x1.3p-7);
        memcpy(&pattern, &narrow, sizeof narrow);
    } else if (a->type == BALE_FIELD_F64) {
        const double wide = value * 0x1.921fb54442d18p-20;
        memcpy(&pattern, &wide, sizeof wide);
    }
    if (a->kind == FLOAT_LOW_ZEROS)
        pattern &= ~(UINT64_C(0x7f) << (a->type == BALE_FIELD_F64 ? 28 : 0)) &
                   ~(a->type == BALE_FIELD_F64 ? UINT64_C(0xfffffff) : 0);
    return a->kind == FLOAT_SPECIAL ? float_special(a, pattern) : pattern;
}

/* Behind the element before, whose pattern it may have; mostly long numbers, which are few bits
 * shorter than the longest, and some of any length. */
static inline uint64_t float_skewed(struct float_array *a, uint32_t bits, uint64_t before)
{
    const uint64_t random = data_next(&a->state);
    const uint32_t most = bits - a->digits - 1;
    const uint32_t less = random / 16 % 5 == 0 ? (uint32_t)(random / 256 % most)
                                               : (uint32_t)__builtin_ctzll(random >> 32 | 16);
    const uint64_t step = data_next(&a->state) >> (64 - most + less);

    return random % 16 < a->noise ? before : before + step;
}

/* The bytes from the element's place `lead` on; what is before and behind is of another kind. */
static inline void float_fill(struct float_array *a, uint32_t lead, uint8_t *out, uint32_t length)
{
    const struct bale_field field = {.type = (uint8_t)a->type};
    const uint32_t size = bale_field_element(&field);
    const uint32_t count = length < lead ? 0 : (length - lead) / size;
    uint64_t pattern = 0;

    memset(out, 0xa5, length);
    for (uint32_t i = 0; i < count; i++) {
        pattern =
            a->kind == FLOAT_SKEWED ? float_skewed(a, 8 * size, pattern) : float_pattern(a, i);
        for (uint32_t k = 0; k < size; k++)
            out[lead + i * size + k] = (uint8_t)(pattern >> 8 * (a->big_endian ? size - 1 - k : k));
    }
}

#endif
