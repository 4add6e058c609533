#include "kernels/round/round.h"

#include <string.h>

#include "format/err.h"
#include "kernels/round/loops.h"
#include "kernels/round/mode.h"

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

bale_round_way *bale_round_way_at(size_t i)
{
    bale_round_way *can[4] = {NULL};
    size_t count = 0;

#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        can[count++] = bale_round_avx512;
    if (__builtin_cpu_supports("avx2"))
        can[count++] = bale_round_avx2;
#endif
    can[count++] = bale_round_plain;
    return i < count ? can[i] : NULL;
}

void bale_round(const struct bale_rounding *rounding, uint8_t *out, const uint8_t *in, size_t count)
{
    struct bale_float_mode mode;

    bale_float_mode_enter(&mode);
    bale_round_way_at(0)(rounding, out, in, count);
    bale_float_mode_leave(&mode);
}
