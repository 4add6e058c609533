/* Rounding as kernels/round/spec.md has it, in integers alone: what the processor's arithmetic is
 * checked against. */
#ifndef BALE_TESTS_UNIT_KERNELS_ROUND_EXACT_H
#define BALE_TESTS_UNIT_KERNELS_ROUND_EXACT_H

#include <stdbool.h>
#include <stdint.h>

/* A format: bits of the significand with the leading one, and the exponent of the last bit of its
 * least numbers. */
struct exact_format {
    int precision;
    int lowest;
    int highest; /* exponent of the last bit of its greatest numbers */
};

static const struct exact_format exact_f32 = {24, -149, 104}, exact_f64 = {53, -1074, 971};

/* significand * 2^exponent, finite; below 2^53. */
struct exact {
    bool negative;
    uint64_t significand;
    int exponent;
};

enum exact_class { EXACT_FINITE, EXACT_INFINITE, EXACT_NAN };

/* Takes bits of a format apart. */
static inline enum exact_class exact_from(struct exact_format format, uint64_t bits,
                                          struct exact *out)
{
    const int stored = format.precision - 1, width = format.precision == 24 ? 32 : 64;
    const uint64_t fraction = bits & ((UINT64_C(1) << stored) - 1);
    const uint64_t top = (UINT64_C(1) << (width - 1 - stored)) - 1;
    const uint64_t power = (bits >> stored) & top;

    *out = (struct exact){.negative = bits >> (width - 1) & 1};
    if (power == top)
        return fraction ? EXACT_NAN : EXACT_INFINITE;
    out->significand = power ? fraction | UINT64_C(1) << stored : fraction;
    out->exponent = format.lowest + (power ? (int)power - 1 : 0);
    return EXACT_FINITE;
}

/* Puts x together, a number that the format has. */
static inline uint64_t exact_bits(struct exact_format format, struct exact x)
{
    const int stored = format.precision - 1, width = format.precision == 24 ? 32 : 64;
    const uint64_t sign = (uint64_t)x.negative << (width - 1);

    if (x.significand == 0)
        return sign;
    while (x.significand >> stored == 0 && x.exponent > format.lowest) {
        x.significand <<= 1;
        x.exponent--;
    }
    while (x.exponent < format.lowest || x.significand >> format.precision) {
        x.significand >>= 1;
        x.exponent++;
    }
    if (x.significand >> stored == 0)
        return sign | x.significand;
    return sign | (uint64_t)(x.exponent - format.lowest + 1) << stored |
           (x.significand & ((UINT64_C(1) << stored) - 1));
}

/* wide * 2^exponent to the nearest multiple of 2^to, ties to even. */
static inline struct exact exact_nearest(bool negative, unsigned __int128 wide, int exponent,
                                         int to)
{
    const int drop = to - exponent;
    unsigned __int128 rest, half;

    if (drop <= 0 || wide == 0)
        return (struct exact){negative, (uint64_t)wide, exponent};
    if (drop > 120)
        return (struct exact){negative, 0, to};
    half = (unsigned __int128)1 << (drop - 1);
    rest = wide & ((half << 1) - 1);
    wide >>= drop;
    if (rest > half || (rest == half && (wide & 1)))
        wide++;
    return (struct exact){negative, (uint64_t)wide, to};
}

/* Rounds to the format; false when it overflows. */
static inline bool exact_round(struct exact_format format, bool negative, unsigned __int128 wide,
                               int exponent, struct exact *out)
{
    int length = 0, to;

    for (unsigned __int128 rest = wide; rest; rest >>= 1)
        length++;
    to = exponent + length - format.precision;
    if (to < format.lowest)
        to = format.lowest;
    *out = exact_nearest(negative, wide, exponent, to);
    while (out->significand >> format.precision) { /* carried into one bit more: it is even */
        out->significand >>= 1;
        out->exponent++;
    }
    if (out->significand == 0)
        return true;
    for (length = 0; out->significand >> length; length++)
        ;
    return out->exponent + length <= format.highest + format.precision;
}

static inline bool exact_product(struct exact_format format, struct exact a, struct exact b,
                                 struct exact *out)
{
    return exact_round(format, a.negative != b.negative,
                       (unsigned __int128)a.significand * b.significand, a.exponent + b.exponent,
                       out);
}

/* T(rint(x f) g); false if that is no number of the type. */
static inline bool exact_multiple(struct exact_format format, struct exact x, struct exact f,
                                  struct exact g, struct exact *out)
{
    struct exact q, wide;

    if (!exact_product(exact_f64, x, f, &q))
        return false;
    q = exact_nearest(q.negative, q.significand, q.exponent, q.exponent < 0 ? 0 : q.exponent);
    if (!exact_product(exact_f64, q, g, &wide))
        return false;
    if (!exact_round(format, wide.negative, wide.significand, wide.exponent, out))
        return false;
    if (out->significand == 0)
        out->negative = false;
    return true;
}

/* Numbers of any exponent, in units of 2^-1074. */
enum { EXACT_WORDS = 34 };

static inline void exact_widen(struct exact x, uint64_t words[EXACT_WORDS])
{
    const unsigned shift = (unsigned)(x.exponent + 1074), at = shift / 64, by = shift % 64;

    for (int i = 0; i < EXACT_WORDS; i++)
        words[i] = 0;
    if (x.significand == 0)
        return;
    words[at] = x.significand << by;
    if (by && x.significand >> (64 - by))
        words[at + 1] = x.significand >> (64 - by);
}

static inline int exact_compare(const uint64_t a[EXACT_WORDS], const uint64_t b[EXACT_WORDS])
{
    for (int i = EXACT_WORDS - 1; i >= 0; i--)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* Whether |a - b| <= bound. */
static inline bool exact_is_near(struct exact a, struct exact b, struct exact bound)
{
    uint64_t aw[EXACT_WORDS], bw[EXACT_WORDS], ew[EXACT_WORDS], *less = bw, *more = aw;
    const int lowest = a.exponent < b.exponent ? a.exponent : b.exponent;
    const int low = lowest < bound.exponent ? lowest : bound.exponent;
    unsigned __int128 carry = 0;

    if (a.exponent - low < 64 && b.exponent - low < 64 && bound.exponent - low < 64) {
        __int128 x = (__int128)a.significand << (a.exponent - low);
        __int128 y = (__int128)b.significand << (b.exponent - low);
        __int128 d = (a.negative ? -x : x) - (b.negative ? -y : y);
        return (d < 0 ? -d : d) <= (__int128)bound.significand << (bound.exponent - low);
    }
    exact_widen(a, aw);
    exact_widen(b, bw);
    exact_widen(bound, ew);
    /* |a - b| <= bound as more <= less + bound. */
    if (a.negative != b.negative && a.significand && b.significand) {
        for (int i = 0; i < EXACT_WORDS; i++) {
            carry += (unsigned __int128)aw[i] + bw[i];
            aw[i] = (uint64_t)carry;
            carry >>= 64;
        }
        return exact_compare(aw, ew) <= 0;
    }
    if (exact_compare(aw, bw) < 0) {
        less = aw;
        more = bw;
    }
    for (int i = 0; i < EXACT_WORDS; i++) {
        carry += (unsigned __int128)less[i] + ew[i];
        less[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return exact_compare(more, less) <= 0;
}

#endif
