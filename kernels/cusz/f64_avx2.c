/* Elements of 64 bits, for processors with AVX2: the build allows it for this file. */
#include <stdint.h>

#ifdef __x86_64__
#define ELEMENT double
#define WORD uint64_t
#define SIGNED int64_t
#define FOLD 63
#define LIMIT 0x1p50
#define SWAP __builtin_bswap64
#define NAME cusz_width_f64_avx2
#include "kernels/cusz/width.inc"
#endif
