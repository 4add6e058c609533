/* LZSS over symbols of one to eight bytes on the device: the stream of kernels/gpulz/spec.md, for every
 * codec that has it. A block for a chunk, a warp for a piece.
 *
 * A codec is a type with
 *
 *     static constexpr unsigned SYMBOL_LOG2_MAX;           the largest symbol's
 *     static __device__ geometry of(uint32_t parameter);   what a frame's parameter says
 *
 * Each kernel is compiled for one size of symbols, and leaves chunks of other sizes alone. */
#ifndef BALE_KERNELS_LZSS_LZSS_CUH
#define BALE_KERNELS_LZSS_LZSS_CUH

#include <stdint.h>

#include "kernels/cuda/lists.h"
#include "kernels/cuda/tables.h"

namespace bale_lzss
{
constexpr unsigned ALL = 0xffffffffu;
constexpr uint32_t PIECE_LOG2_MIN = 9;
constexpr uint32_t PIECES_MAX = BALE_CUDA_CELL >> PIECE_LOG2_MIN;
constexpr uint32_t POINTER = 2; /* bytes */

struct geometry {
    uint32_t symbol_log2; /* bytes */
    uint32_t piece_log2;  /* bytes, PIECE_LOG2_MIN to BALE_CUDA_CHUNK_LOG2_MAX */
    uint32_t window;      /* symbols, 255 at most */
};

template <unsigned LOG2> struct symbol;
template <> struct symbol<0> {
    using type = uint8_t;
};
template <> struct symbol<1> {
    using type = uint16_t;
};
template <> struct symbol<2> {
    using type = uint32_t;
};
template <> struct symbol<3> {
    using type = uint64_t;
};

/* The least symbols of a pointer. */
template <unsigned LOG2> constexpr uint32_t LEAST = (2u >> LOG2) + 1;

/* How a chunk is cut. */
struct cut {
    uint32_t body; /* bytes that are symbols */
    uint32_t tail;
    uint32_t piece_log2;
    uint32_t pieces;

    __device__ uint32_t begin(uint32_t piece) const
    {
        return piece << piece_log2;
    }

    __device__ uint32_t bytes(uint32_t piece) const
    {
        return min(1u << piece_log2, body - begin(piece));
    }
};

template <unsigned LOG2> __device__ inline cut cut_of(geometry g, uint32_t raw_length)
{
    const uint32_t body = raw_length >> LOG2 << LOG2;

    return cut{body, raw_length - body, g.piece_log2,
               (body + (1u << g.piece_log2) - 1) >> g.piece_log2};
}

__device__ inline uint32_t lane()
{
    return threadIdx.x % 32;
}

__device__ inline uint32_t lower_lanes()
{
    return (1u << lane()) - 1;
}

/* Four bytes from any place; up to three behind them are read as well. */
__device__ inline uint32_t load32(const uint8_t *p)
{
    const uint32_t *words = (const uint32_t *)((uintptr_t)p & ~(uintptr_t)3);

    return __funnelshift_r(words[0], words[1], 8 * ((uintptr_t)p & 3));
}

__device__ inline void copy_bytes(uint8_t *to, const uint8_t *from, uint32_t length, uint32_t first,
                                  uint32_t step)
{
    for (uint32_t n = first; n < length; n += step)
        to[n] = from[n];
}

/* A chunk's pieces: how many tokens and bytes, and then where they go. */
struct sizes {
    uint32_t tokens[PIECES_MAX];
    uint32_t payload[PIECES_MAX + 1];
    uint32_t flags[PIECES_MAX + 1];
};

/* By one thread: payload[k] are sizes, and become places behind the flags. */
__device__ inline void place_flags(sizes *s, uint32_t pieces)
{
    uint32_t at = 2 * pieces;

    for (uint32_t k = 0; k < pieces; k++) {
        s->flags[k] = at;
        at += (s->tokens[k] + 7) / 8;
    }
    s->flags[pieces] = at;
}

__device__ inline void place_payloads(sizes *s, uint32_t pieces)
{
    uint32_t at = s->flags[pieces];

    for (uint32_t k = 0; k < pieces; k++) {
        const uint32_t bytes = s->payload[k];
        s->payload[k] = at;
        at += bytes;
    }
    s->payload[pieces] = at;
}
} // namespace bale_lzss

#endif
