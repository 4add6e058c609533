/* The steps that need more than every processor of its kind has. */
#ifndef BALE_KERNELS_RANS_VECTORS_H
#define BALE_KERNELS_RANS_VECTORS_H

#include "kernels/rans/rans.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define BALE_RANS_X86
extern const struct bale_rans_steps bale_rans_avx512;
extern const struct bale_rans_steps bale_rans_avx2;
#endif

#endif
