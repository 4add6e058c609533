/* Elements of 32 bits. */
#include <stdint.h>

#define ELEMENT float
#define WORD uint32_t
#define SIGNED int32_t
#define FOLD 31
#define LIMIT 0x1p30
#define QUICK_LOG2 21
#define QUICK_MAGIC 0x1.8p23f
#define QUICK_NUMBER(word, sum, magic) ((double)(SIGNED)(word))
#define SWAP __builtin_bswap32
#define NAME cusz_width_f32
#include "kernels/cusz/width.inc"
