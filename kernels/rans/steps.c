/* Which steps this processor can do. */
#include "kernels/rans/vectors.h"

const struct bale_rans_steps *bale_rans_steps_at(size_t i)
{
    const struct bale_rans_steps *can[4] = {NULL};
    size_t count = 0;

#ifdef BALE_RANS_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        can[count++] = &bale_rans_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
        __builtin_cpu_supports("popcnt"))
        can[count++] = &bale_rans_avx2;
#endif
    can[count++] = &bale_rans_plain;
    return i < count ? can[i] : NULL;
}
