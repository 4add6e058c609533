/* Elements of 32 bits, for processors with AVX2: the build allows it for this file. */
#include <stdint.h>

#ifdef __x86_64__
#define ELEMENT float
#define WORD uint32_t
#define SIGNED int32_t
#define FOLD 31
#define LIMIT 0x1p30
#define VECTORS "kernels/cusz/f32_avx2.inc"
#define SWAP __builtin_bswap32
#define NAME cusz_width_f32_avx2
#include "kernels/cusz/width.inc"
#endif
