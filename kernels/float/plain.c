/* For every processor, and the choice of what this one can do. */
#define FLOAT_STEPS float_plain
#include "kernels/float/sizes.inc"

const struct float_steps *float_steps_best(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init(); /* every processor with BMI2 has LZCNT, too */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("bmi2"))
        return float_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return float_avx2;
#endif
    return float_plain;
}
