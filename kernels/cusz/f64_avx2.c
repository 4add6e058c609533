/* Elements of 64 bits, for processors with AVX2: the build allows it for this file. */
#include <stdint.h>

#ifdef __x86_64__
#define ELEMENT double
#define WORD uint64_t
#define SIGNED int64_t
#define FOLD 63
#define LIMIT 0x1p50
#define QUICK_LOG2 49
#define QUICK_MAGIC 0x1.8p52
#define QUICK_NUMBER(word, sum, magic) ((sum) - (magic))
#define SWAP __builtin_bswap64
#define NAME cusz_width_f64_avx2
#include "kernels/cusz/width.inc"
#endif
