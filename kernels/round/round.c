#include "kernels/round/round.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "format/err.h"
#include "kernels/round/mode.h"

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "each operation must round once, to its own type"
#endif

int bale_rounding_make(struct bale_rounding *rounding, enum bale_round_type type, bool big_endian,
                       uint64_t step)
{
    struct bale_float_mode mode;
    double g;

    memcpy(&g, &step, sizeof g);
    if (!(g >= 0x1p-1021 && g <= 0x1p1021))
        return BALE_E_INVALID;
    bale_float_mode_enter(&mode);
    *rounding = (struct bale_rounding){
        .step = g, .inverse = 1 / g, .bound = g / 2, .type = type, .big_endian = big_endian};
    bale_float_mode_leave(&mode);
    return BALE_OK;
}

/* Elements that are rounded side by side. */
enum { BLOCK = 64 };

/* rint for processors that have no instruction for it. Above 2^52 all numbers are integers. */
static inline double plain_rint(double t)
{
    const double magnitude = fabs(t);

    return copysign(magnitude < 0x1p52 ? (magnitude + 0x1p52) - 0x1p52 : magnitude, t);
}

/* Without a sign of zero: what rounds to zero from below is the same zero. */
#define MULTIPLE(x, rint) ((rint((x)*f) + 0.0) * g)

/* Rounds count elements of a type, block after block. The subtraction's own rounding never decides:
 * where it gives the bound, it is exact (spec.md). */
#define DEFINE_ROUND(way, target, rint, type, word, swap)                                          \
    target static void way##_##type(const struct bale_rounding *rounding, uint8_t *bytes,          \
                                    size_t count)                                                  \
    {                                                                                              \
        const double f = rounding->inverse, g = rounding->step, bound = rounding->bound;           \
        const bool swaps = rounding->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);       \
        word bits[BLOCK] = {0}, once[BLOCK], again[BLOCK];                                         \
        type x[BLOCK], y[BLOCK], z[BLOCK];                                                         \
                                                                                                   \
        for (size_t n; count > 0; count -= n, bytes += n * sizeof *bits) {                         \
            n = count < BLOCK ? count : BLOCK;                                                     \
            memcpy(bits, bytes, n * sizeof *bits);                                                 \
            if (swaps)                                                                             \
                for (size_t i = 0; i < BLOCK; i++)                                                 \
                    bits[i] = swap(bits[i]);                                                       \
            memcpy(x, bits, sizeof x);                                                             \
            for (size_t i = 0; i < BLOCK; i++) {                                                   \
                y[i] = (type)MULTIPLE((double)x[i], rint);                                         \
                z[i] = (type)MULTIPLE((double)y[i], rint);                                         \
                z[i] = fabs((double)x[i] - (double)y[i]) <= bound ? z[i] : x[i];                   \
            }                                                                                      \
            memcpy(once, y, sizeof once);                                                          \
            memcpy(again, z, sizeof again);                                                        \
            for (size_t i = 0; i < BLOCK; i++)                                                     \
                bits[i] = once[i] == again[i] ? once[i] : bits[i];                                 \
            if (swaps)                                                                             \
                for (size_t i = 0; i < BLOCK; i++)                                                 \
                    bits[i] = swap(bits[i]);                                                       \
            memcpy(bytes, bits, n * sizeof *bits);                                                 \
        }                                                                                          \
    }

#define DEFINE_WAY(way, target, rint)                                                              \
    DEFINE_ROUND(way, target, rint, float, uint32_t, __builtin_bswap32)                            \
    DEFINE_ROUND(way, target, rint, double, uint64_t, __builtin_bswap64)                           \
    static void round_##way(const struct bale_rounding *rounding, uint8_t *bytes, size_t count)    \
    {                                                                                              \
        (rounding->type == BALE_ROUND_F32 ? way##_float : way##_double)(rounding, bytes, count);   \
    }

DEFINE_WAY(plain, , plain_rint)
#ifdef __x86_64__
DEFINE_WAY(avx2, __attribute__((target("avx2"))), __builtin_rint)
DEFINE_WAY(avx512,
           __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"))),
           __builtin_rint)
#endif

bale_round_way *bale_round_way_at(size_t i)
{
    bale_round_way *can[4] = {NULL};
    size_t count = 0;

#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        can[count++] = round_avx512;
    if (__builtin_cpu_supports("avx2"))
        can[count++] = round_avx2;
#endif
    can[count++] = round_plain;
    return i < count ? can[i] : NULL;
}

void bale_round(const struct bale_rounding *rounding, uint8_t *bytes, size_t count)
{
    struct bale_float_mode mode;

    bale_float_mode_enter(&mode);
    bale_round_way_at(0)(rounding, bytes, count);
    bale_float_mode_leave(&mode);
}
