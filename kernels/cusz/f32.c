/* Elements of 32 bits. */
#include <stdint.h>

#define ELEMENT float
#define WORD uint32_t
#define SIGNED int32_t
#define FOLD 31
#define LIMIT 0x1p30
#define SWAP __builtin_bswap32
#define NAME cusz_width_f32
#include "kernels/cusz/width.inc"
