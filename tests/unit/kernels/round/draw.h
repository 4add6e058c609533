/* Elements of all kinds, at random. */
#ifndef BALE_TESTS_UNIT_KERNELS_ROUND_DRAW_H
#define BALE_TESTS_UNIT_KERNELS_ROUND_DRAW_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/round/round.h"

static uint64_t draw_state = 1;

static inline uint64_t draw(void)
{
    uint64_t z = draw_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* From -1 to 1. */
static inline double draw_real(void)
{
    return (double)(int64_t)draw() * 0x1p-63;
}

static inline uint64_t double_bits(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x as the type has it, a few units of the last place away from there. */
static inline uint64_t around(enum bale_round_type type, double x, int units)
{
    float narrow = (float)x;
    uint32_t bits;

    if (type == BALE_ROUND_F64)
        return double_bits(x) + (uint64_t)(int64_t)units;
    memcpy(&bits, &narrow, sizeof bits);
    return bits + (uint32_t)units;
}

static inline double draw_magnitude(double from, double to)
{
    double x = from + (to - from) * fabs(draw_real());

    return draw() & 1 ? x : -x;
}

/* Kinds of elements, for a step and a range of values. */
enum { DRAW_KINDS = 11 };

static inline uint64_t draw_element(const struct bale_rounding *rounding, unsigned kind,
                                    double range)
{
    const enum bale_round_type type = rounding->type;
    const double g = rounding->step, steps = floor(range / g);
    const double edge = type == BALE_ROUND_F32 ? 0x1p24 : 0x1p53;
    const double most = type == BALE_ROUND_F32 ? FLT_MAX : DBL_MAX;
    const int near = (int)(draw() % 7) - 3;

    switch (kind) {
    case 0:
        return around(type, range * draw_real(), 0);
    case 1: /* multiples */
        return around(type, rint(steps * draw_real()) * g, near);
    case 2: /* half steps */
        return around(type, (floor(steps * draw_real()) + 0.5) * g, near);
    case 3: /* the step is a few units of the last place, or less */
        return around(type, g * edge * draw_magnitude(0.01, 8), near);
    case 4: /* half of the first step, and zeros */
        return around(type, draw() % 4 ? draw_magnitude(1, 1) * g / 2 : draw_magnitude(0, 0), near);
    case 5: /* the type's edges */
        return around(type, draw_magnitude(most / 4, most), 0);
    case 6: /* denormals, and the first numbers above */
        return draw() % (type == BALE_ROUND_F32 ? UINT64_C(1) << 25 : UINT64_C(1) << 54) |
               (draw() & 1) << (type == BALE_ROUND_F32 ? 31 : 63);
    case 7: /* a constant */
        return around(type, range / 3, 0);
    case 8: /* small integers */
        return around(type, rint(draw_real() * 1000), 0);
    case 9: /* few of the other kinds among those in the range */
        return draw_element(rounding, draw() % 32 ? 0 : (unsigned)(1 + draw() % 10), range);
    default:
        return type == BALE_ROUND_F32 ? (uint32_t)draw() : draw();
    }
}

/* The size of a range of values that a type has. */
static inline double draw_range(enum bale_round_type type)
{
    const int powers = type == BALE_ROUND_F32 ? 250 : 1900;

    return ldexp(1 + fabs(draw_real()), (int)(draw() % (unsigned)powers) - powers / 2);
}

#endif
