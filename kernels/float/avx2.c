/* With AVX2: the build compiles this file for it. */
#ifdef __AVX2__
#define FLOAT_STEPS float_avx2
#include "kernels/float/sizes.inc"
#endif
