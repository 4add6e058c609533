/* fsst on the device: the symbols of an extent part, and finding the longest one at a place
 * (spec.md, Extent part and Matching). */
#ifndef BALE_KERNELS_FSST_MATCH_CUH
#define BALE_KERNELS_FSST_MATCH_CUH

#include <stdint.h>

#include "kernels/codec/tables.h"
#include "kernels/fsst/sizes.h"

namespace bale_fsst
{
constexpr uint32_t SYMBOLS = 255, SYMBOL = 8; /* symbols, and bytes of one, at most */
constexpr uint32_t ESCAPE = 255;
constexpr uint32_t SPLIT = 1u << BALE_FSST_SPLIT_LOG2;
constexpr uint32_t SPLITS = BALE_CUDA_CELL / SPLIT; /* of a chunk, at most */
constexpr uint32_t PART_HEAD = SYMBOL, HEAD = 3, WIDTH_MAX = BALE_FSST_SPLIT_LOG2 + 1;
constexpr uint32_t LONG_LOG2 = BALE_FSST_LONG_LOG2, PAIR_LOG2 = BALE_FSST_PAIR_LOG2;
/* Slots: those of one byte, then those of two, then the longer ones. */
constexpr uint32_t PAIRS_AT = 256, LONGS_AT = PAIRS_AT + (1u << PAIR_LOG2);
constexpr uint32_t SLOTS = LONGS_AT + (1u << LONG_LOG2);
constexpr uint32_t LITERAL = 256; /* an item: a symbol's code, or this and a byte */

static_assert(PART_HEAD + SYMBOLS * SYMBOL <= BALE_CUDA_PART, "the longest part fits its cell");

/* By code; the codes without a symbol, the escape among them, have the length 0. */
struct symbols {
    uint64_t bytes[256]; /* the first one lowest; those behind the symbol are zero */
    uint8_t length[256];
};

__device__ inline uint32_t long_slot(uint32_t bytes)
{
    return LONGS_AT + ((bytes & 0xffffff) * 0x9e3779b1u >> (32 - LONG_LOG2));
}

__device__ inline uint32_t pair_slot(uint32_t bytes)
{
    return PAIRS_AT + ((bytes & 0xffff) * 0x9e3779b1u >> (32 - PAIR_LOG2));
}

__device__ inline uint32_t slot_of(uint64_t bytes, uint32_t length)
{
    if (length == 1)
        return (uint32_t)bytes;
    return length == 2 ? pair_slot((uint32_t)bytes) : long_slot((uint32_t)bytes);
}

/* What a step needs lies in its slots, but for the bytes of a long symbol: 6.5 KiB for a block. */
struct matcher {
    symbols s;
    alignas(
        16) uint32_t pairs[1u << PAIR_LOG2]; /* bytes, and from bit 16 on the code; or NO_PAIR */
    uint16_t longs[1u << LONG_LOG2];         /* code, and from bit 8 on the length; or ESCAPE */
    uint8_t singles[256];                    /* code; ESCAPE: a literal */
};

constexpr uint32_t NO_PAIR = 1u << 24;

struct match {
    uint32_t item;
    uint32_t length;
};

/* The longest symbol that the bytes begin with, of which `left` may be used, 1 or more; those
 * behind them may be any. Without branches: the threads of a warp would take each of them. */
__device__ inline match match_at(const matcher *m, uint64_t bytes, uint32_t left)
{
    const uint32_t three = m->longs[long_slot((uint32_t)bytes) - LONGS_AT];
    const uint32_t two = m->pairs[pair_slot((uint32_t)bytes) - PAIRS_AT];
    const uint32_t byte = (uint32_t)bytes & 0xff, one = m->singles[byte];
    const uint32_t code = three & 0xff, length = three >> 8;
    const uint64_t differ = (bytes ^ m->s.bytes[code]) << ((64 - 8 * length) & 63);
    const bool is_long = (length - 1 < left) & (differ == 0);
    const bool is_pair =
        (left >= 2) & (((two ^ ((uint32_t)bytes & 0xffff)) & (NO_PAIR | 0xffff)) == 0);
    const uint32_t single = one != ESCAPE ? one : LITERAL + byte;

    return match{is_long   ? code
                 : is_pair ? two >> 16
                           : single,
                 is_long   ? length
                 : is_pair ? 2u
                           : 1u};
}

/* By a block: reads the symbols of a hostile part. False, for all threads: it is corrupt. The block
 * synchronizes before it uses them. */
__device__ inline bool read_part(const uint8_t *part, uint32_t length, symbols *s)
{
    uint32_t count[SYMBOL + 1] = {0}, total = length == 0 ? 0 : PART_HEAD, symbols = 0;

    if (length > 0 && length < PART_HEAD)
        return false;
    for (uint32_t n = 1; n <= SYMBOL; n++) {
        count[n] = length == 0 ? 0 : part[n - 1];
        symbols += count[n];
        total += n * count[n];
    }
    if (symbols > SYMBOLS || total != length)
        return false;
    for (uint32_t code = threadIdx.x; code < 256; code += blockDim.x) {
        uint32_t first = 0, n = 1, at = PART_HEAD;
        uint64_t bytes = 0;
        for (; n <= SYMBOL && code >= first + count[n]; n++) {
            first += count[n];
            at += n * count[n];
        }
        n = n <= SYMBOL ? n : 0;
        for (uint32_t i = 0; i < n; i++)
            bytes |= (uint64_t)part[at + (code - first) * n + i] << 8 * i;
        s->bytes[code] = bytes;
        s->length[code] = (uint8_t)n;
    }
    return true;
}

/* By a block: makes the slots empty. */
__device__ inline void clear_slots(matcher *m)
{
    for (uint32_t i = threadIdx.x; i < 1u << PAIR_LOG2; i += blockDim.x)
        m->pairs[i] = NO_PAIR;
    for (uint32_t i = threadIdx.x; i < 1u << LONG_LOG2; i += blockDim.x)
        m->longs[i] = ESCAPE;
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x)
        m->singles[i] = ESCAPE;
}

/* By a thread: sets the slot of a symbol, which no other symbol has. */
__device__ inline void set_slot(matcher *m, uint32_t code, uint64_t bytes, uint32_t length)
{
    const uint32_t slot = slot_of(bytes, length);

    if (length == 1)
        m->singles[slot] = (uint8_t)code;
    else if (length == 2)
        m->pairs[slot - PAIRS_AT] = (uint32_t)bytes | code << 16;
    else
        m->longs[slot - LONGS_AT] = (uint16_t)(code | length << 8);
}

/* By a block: the matcher of the symbols in a part that an encoder made. */
__device__ inline void build_matcher(const uint8_t *part, uint32_t length, matcher *m)
{
    clear_slots(m);
    (void)read_part(part, length, &m->s);
    __syncthreads();
    for (uint32_t code = threadIdx.x; code < SYMBOLS; code += blockDim.x)
        if (m->s.length[code] > 0)
            set_slot(m, code, m->s.bytes[code], m->s.length[code]);
    __syncthreads();
}
} // namespace bale_fsst

#endif
