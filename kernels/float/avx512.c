/* With AVX-512: the build compiles this file for it. */
#ifdef __AVX512VBMI__
#define FLOAT_STEPS float_avx512
#include "kernels/float/sizes.inc"
#endif
