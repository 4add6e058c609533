/* Which loops this processor can do. */
#include "kernels/cusz/cusz.h"

const struct cusz_width *cusz_width_at(enum bale_round_type type, size_t i)
{
    const struct cusz_width *can[3] = {NULL};
    size_t count = 0;

#ifdef __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        can[count++] = type == BALE_ROUND_F32 ? &cusz_width_f32_avx2 : &cusz_width_f64_avx2;
#endif
    can[count++] = type == BALE_ROUND_F32 ? &cusz_width_f32 : &cusz_width_f64;
    return i < count ? can[i] : NULL;
}
