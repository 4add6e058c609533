/* What rounds elements, as plain as spec.md has it, and the loops that are made of it. The compiler
 * makes vectors of f32_exact and f64_exact, for the processors that a file is compiled for. */
#ifndef BALE_KERNELS_ROUND_LOOPS_H
#define BALE_KERNELS_ROUND_LOOPS_H

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/round/round.h"

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "each operation must round once, to its own type"
#endif

extern bale_round_way bale_round_plain;
#ifdef __x86_64__
extern bale_round_way bale_round_avx2, bale_round_avx512;
#endif

static inline bool bale_rounding_swaps(const struct bale_rounding *rounding)
{
    return rounding->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

/* Elements that are rounded side by side. */
enum { BALE_ROUND_BLOCK = 64 };

/* Without a sign of zero: what rounds to zero from below is the same zero. */
#define BALE_ROUND_MULTIPLE(x, rint) ((rint((x)*f) + 0.0) * g)

/* Rounds count elements of a type, block after block. The subtraction's own rounding never decides:
 * where it gives the bound, it is exact (spec.md). */
#define BALE_DEFINE_EXACT_TYPE(name, rint, type, word, swap)                                       \
    static void name(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in,        \
                     size_t count)                                                                 \
    {                                                                                              \
        const double f = rounding->inverse, g = rounding->step, bound = rounding->bound;           \
        const bool swaps = bale_rounding_swaps(rounding);                                          \
        enum { BLOCK = BALE_ROUND_BLOCK };                                                         \
        word bits[BLOCK] = {0}, once[BLOCK], again[BLOCK];                                         \
        type x[BLOCK], y[BLOCK], z[BLOCK];                                                         \
                                                                                                   \
        for (size_t n; count > 0; count -= n, in += n * sizeof *bits, out += n * sizeof *bits) {   \
            n = count < BLOCK ? count : BLOCK;                                                     \
            memcpy(bits, in, n * sizeof *bits);                                                    \
            if (swaps)                                                                             \
                for (size_t i = 0; i < BLOCK; i++)                                                 \
                    bits[i] = swap(bits[i]);                                                       \
            memcpy(x, bits, sizeof x);                                                             \
            for (size_t i = 0; i < BLOCK; i++) {                                                   \
                y[i] = (type)BALE_ROUND_MULTIPLE((double)x[i], rint);                              \
                z[i] = (type)BALE_ROUND_MULTIPLE((double)y[i], rint);                              \
                z[i] = fabs((double)x[i] - (double)y[i]) <= bound ? z[i] : x[i];                   \
            }                                                                                      \
            memcpy(once, y, sizeof once);                                                          \
            memcpy(again, z, sizeof again);                                                        \
            for (size_t i = 0; i < BLOCK; i++)                                                     \
                bits[i] = once[i] == again[i] ? once[i] : bits[i];                                 \
            if (swaps)                                                                             \
                for (size_t i = 0; i < BLOCK; i++)                                                 \
                    bits[i] = swap(bits[i]);                                                       \
            memcpy(out, bits, n * sizeof *bits);                                                   \
        }                                                                                          \
    }

#define BALE_DEFINE_EXACT(rint)                                                                    \
    BALE_DEFINE_EXACT_TYPE(f32_exact, rint, float, uint32_t, __builtin_bswap32)                    \
    BALE_DEFINE_EXACT_TYPE(f64_exact, rint, double, uint64_t, __builtin_bswap64)

#endif
