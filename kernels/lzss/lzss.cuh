/* LZSS (spec.md) on the device, for every codec with LZSS streams.
 *
 * A codec is a type with
 *
 *     static geometry of(uint32_t parameter);   host and device: the geometry of a frame's parameter
 *
 * Each kernel is compiled for one size of symbols, and skips chunks with other sizes. */
#ifndef BALE_KERNELS_LZSS_LZSS_CUH
#define BALE_KERNELS_LZSS_LZSS_CUH

#include <stdint.h>

#include "kernels/codec/bytes.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/tables.h"
#include "kernels/codec/warp.cuh"

namespace bale_lzss
{
using bale_warp::ALL;
using bale_warp::lane;
using bale_warp::lower_lanes;

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

/* The shortest match that becomes a pointer, in symbols. */
template <unsigned LOG2> constexpr uint32_t LEAST = (2u >> LOG2) + 1;

/* How a chunk is cut into pieces. */
struct cut {
    uint32_t body; /* bytes that are symbols */
    uint32_t tail; /* bytes behind them */
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

__host__ __device__ inline cut cut_of(geometry g, uint32_t raw_length)
{
    const uint32_t body = raw_length >> g.symbol_log2 << g.symbol_log2;

    return cut{body, raw_length - body, g.piece_log2,
               (body + (1u << g.piece_log2) - 1) >> g.piece_log2};
}

/* How many symbols of a and b agree, most at most. */
template <unsigned LOG2>
__device__ inline uint32_t agree(const uint8_t *a, const uint8_t *b, uint32_t most)
{
    const uint32_t bytes = most << LOG2;
    uint32_t n = 0;

    for (; n < bytes; n += 4) {
        const uint32_t differ = bale_bytes::load32(a + n) ^ bale_bytes::load32(b + n);
        if (differ != 0) {
            n += (uint32_t)(__ffs((int)differ) - 1) / 8;
            break;
        }
    }
    return min(n, bytes) >> LOG2;
}

/* The pieces of a chunk: their tokens, and the sizes of their flags and payloads, which become
 * offsets. */
struct sizes {
    uint32_t tokens[PIECES_MAX];
    uint32_t flags[PIECES_MAX + 1];
    uint32_t payload[PIECES_MAX + 1];
};

__device__ inline uint32_t flag_bytes(uint32_t tokens)
{
    return (tokens + 7) / 8;
}
} // namespace bale_lzss

#endif
