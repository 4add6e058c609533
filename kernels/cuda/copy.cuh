/* Copies between pinned host memory and cells. The lanes of a warp read and write whole, aligned
 * 16-byte words of host memory side by side, whatever a chunk's address: over PCIe a word costs
 * as much as its sector. All other kernels work in device memory. */
#ifndef BALE_KERNELS_CUDA_COPY_CUH
#define BALE_KERNELS_CUDA_COPY_CUH

#include <stdint.h>

#include "kernels/codec/equality.cuh"
#include "kernels/codec/lists.h"
#include "kernels/codec/tables.h"
#include "kernels/codec/warp.cuh"

namespace bale_copy
{
using bale_equality::compare_bytes;
using bale_equality::equality;
using bale_equality::verdict_of_block;
using bale_warp::ALL;

constexpr unsigned THREADS = 256, WARPS = THREADS / 32;
constexpr uint32_t WORD = 16;
constexpr uint32_t DEEP = 4;          /* words that a thread has in flight */
constexpr uint32_t GROUP = 32 * DEEP; /* words of a warp */

/* The 16 bytes from byte shift (1 to 15) of the 32 bytes in lo and hi. */
__device__ inline uint4 shifted(uint4 lo, uint4 hi, uint32_t shift)
{
    uint32_t w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};

    if (shift & 4)
        for (int i = 0; i < 7; i++)
            w[i] = w[i + 1];
    if (shift & 8)
        for (int i = 0; i < 6; i++)
            w[i] = w[i + 2];
    for (int i = 0; i < 4; i++)
        w[i] = __funnelshift_r(w[i], w[i + 1], 8 * (shift & 3));
    return make_uint4(w[0], w[1], w[2], w[3]);
}

__device__ inline uint4 of_lane(uint4 v, unsigned lane)
{
    return make_uint4(__shfl_sync(ALL, v.x, lane), __shfl_sync(ALL, v.y, lane),
                      __shfl_sync(ALL, v.z, lane), __shfl_sync(ALL, v.w, lane));
}

/* By a warp: copies words [base, base + GROUP) of so many words. in: the aligned words that
 * contain them, loaded of them, the first of which begins shift bytes before the first word. IN:
 * the words go to device memory, where they stay in the cache, and e gets their bytes. */
template <bool IN>
__device__ inline void copy_group(const uint4 *in, uint32_t loaded, uint32_t shift, uint32_t base,
                                  uint32_t words, uint4 *out, equality *e)
{
    const unsigned lane = bale_warp::lane();
    const uint4 none = make_uint4(0, 0, 0, 0);
    uint4 v[DEEP + 1];

    for (uint32_t u = 0; u < DEEP; u++) {
        uint32_t k = base + 32 * u + lane;
        v[u] = k < loaded ? __ldcs(in + k) : none;
    }
    v[DEEP] = shift && base + GROUP < loaded ? __ldcs(in + base + GROUP) : none;
    for (uint32_t u = 0; u < DEEP; u++) {
        uint32_t k = base + 32 * u + lane;
        uint4 word = v[u];
        if (shift) {
            uint4 next = of_lane(v[u], (lane + 1) & 31), after = of_lane(v[u + 1], 0);
            word = shifted(word, lane < 31 ? next : after, shift);
        }
        if (k < words && IN) {
            out[k] = word;
            compare_bytes(e, word);
        } else if (k < words) {
            __stcs(out + k, word);
        }
    }
}

/* By a block: copies words from any address to an aligned one. Reads only aligned words that
 * contain bytes of them. */
template <bool IN>
__device__ inline void copy_words(const uint8_t *from, uint32_t words, uint8_t *to, equality *e)
{
    const uint32_t shift = (uintptr_t)from % WORD;
    const uint32_t loaded = words + (shift > 0 && words > 0);

    for (uint32_t g = threadIdx.x / 32 * GROUP; g < words; g += WARPS * GROUP)
        copy_group<IN>((const uint4 *)(from - shift), loaded, shift, g, words, (uint4 *)to, e);
}

/* A block for each chunk: copies its bytes to its cell, unless they are there already, and sets
 * the result's flags to whether they are all equal. */
__global__ void __launch_bounds__(THREADS)
    gather(const cuda_chunk *chunks, uint32_t count, uint8_t *cells, size_t cell, bool there,
           size_t *lengths, cuda_result *results)
{
    for (uint32_t c = blockIdx.x; c < count; c += gridDim.x) {
        const uint32_t length = chunks[c].length, words = length / WORD;
        const uint32_t first = chunks[c].first;
        uint8_t *to = cells + first * cell + (size_t)(c - first) * BALE_CUDA_CELL;
        const uint8_t *from = there ? to : (const uint8_t *)chunks[c].address;
        equality e = {};

        copy_words<true>(from, words, to, &e);
        if (threadIdx.x < length % WORD) {
            uint8_t byte = from[words * WORD + threadIdx.x];
            uint32_t four = byte * 0x01010101u;
            to[words * WORD + threadIdx.x] = byte;
            compare_bytes(&e, make_uint4(four, four, four, four));
        }
        uint32_t flags = verdict_of_block(e);
        if (threadIdx.x == 0) {
            lengths[c] = length;
            results[c].flags = flags;
        }
    }
}

/* A block for each frame: copies its extent part to its cell. */
__global__ void __launch_bounds__(THREADS)
    gather_parts(const cuda_frame *frames, uint32_t count, cuda_lists lists)
{
    for (uint32_t f = blockIdx.x; f < count; f += gridDim.x) {
        const uint32_t length = frames[f].length, words = length / WORD;
        uint8_t *to = lists.parts + (size_t)f * BALE_CUDA_PART;
        const uint8_t *from = (const uint8_t *)frames[f].address;
        equality unused = {};

        copy_words<true>(from, words, to, &unused);
        if (threadIdx.x < length % WORD)
            to[words * WORD + threadIdx.x] = from[words * WORD + threadIdx.x];
        if (threadIdx.x == 0)
            lists.made[f].length = length;
    }
}

/* A block for each move. Whole words are written aligned to sectors of the host's memory, and
 * the bytes before and behind them one by one. */
__global__ void __launch_bounds__(THREADS) scatter(const cuda_move *moves, uint32_t count)
{
    constexpr uint32_t SECTOR = 32;

    for (uint32_t m = blockIdx.x; m < count; m += gridDim.x) {
        const uint8_t *from = (const uint8_t *)moves[m].from;
        uint8_t *to = (uint8_t *)moves[m].to;
        const uint32_t length = (uint32_t)moves[m].length;
        const uint32_t before = min(length, (uint32_t)(-moves[m].to % SECTOR));
        const uint32_t words = (length - before) / WORD;
        const uint32_t after = before + words * WORD;

        if (threadIdx.x < before)
            to[threadIdx.x] = from[threadIdx.x];
        copy_words<false>(from + before, words, to + before, nullptr);
        if (after + threadIdx.x < length)
            to[after + threadIdx.x] = from[after + threadIdx.x];
    }
}
} // namespace bale_copy

#endif
