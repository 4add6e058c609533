/* cusz on the device: undoing the prediction by running sums over a chunk's words, which lie where
 * its elements will (spec.md, Prediction). A block for a chunk. */
#ifndef BALE_KERNELS_CUSZ_SUMS_CUH
#define BALE_KERNELS_CUSZ_SUMS_CUH

#include "kernels/cusz/elements.cuh"

namespace bale_cusz
{
constexpr uint32_t THREADS_MAX = 1024;
constexpr uint32_t FLIGHT = 32;   /* bytes of the loads that a thread has in flight */
constexpr uint32_t ROWS_FROM = 8; /* words of a row for each thread: rows rather than columns */

/* By a thread: adds to each of the words begin, begin + step, ... below end those before it, and
 * `sum` to all, if it stores; returns the sum behind them. */
template <bool STORES, typename WORD>
__device__ inline WORD sum_column(const row<WORD> &words, uint32_t begin, uint32_t end,
                                  uint32_t step, WORD sum)
{
    constexpr uint32_t DEEP = FLIGHT / sizeof(WORD);
    WORD v[DEEP];

    for (uint64_t i = begin; i < end; i += (uint64_t)DEEP * step) {
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            v[k] =
                i + (uint64_t)k * step < end ? words.load((uint32_t)(i + (uint64_t)k * step)) : 0;
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            sum += v[k];
            if (STORES && i + (uint64_t)k * step < end)
                words.store((uint32_t)(i + (uint64_t)k * step), sum);
        }
    }
    return sum;
}

/* By a block: the same for a stride of several words a thread, row after row. */
template <typename WORD>
__device__ inline void sum_rows(const row<WORD> &words, uint32_t count, uint32_t stride)
{
    constexpr uint32_t DEEP = FLIGHT / sizeof(WORD) / 2;

    for (uint64_t begin = stride; begin < count; begin += stride) {
        const uint32_t end = (uint32_t)min(begin + stride, (uint64_t)count);
        for (uint32_t i = (uint32_t)begin + threadIdx.x; i < end; i += DEEP * blockDim.x) {
            WORD v[DEEP];
#pragma unroll
            for (uint32_t k = 0; k < DEEP; k++) {
                const uint32_t at = i + k * blockDim.x;
                v[k] = at < end ? words.load(at) + words.load(at - stride) : 0;
            }
#pragma unroll
            for (uint32_t k = 0; k < DEEP; k++)
                if (i + k * blockDim.x < end)
                    words.store(i + k * blockDim.x, v[k]);
        }
        __syncthreads();
    }
}

/* By a block: adds to each word those at one stride, two strides and so on before it. If there are
 * fewer columns than threads, several threads take rows of one, after they know what is before.
 * partial: room for a word of each thread, in shared memory. */
template <typename WORD>
__device__ inline void sum_stride(const row<WORD> &words, uint32_t count, uint32_t stride,
                                  WORD *partial)
{
    const uint32_t thread = threadIdx.x, threads = blockDim.x;

    if (stride >= count)
        return;
    if (stride >= ROWS_FROM * threads) {
        sum_rows(words, count, stride);
        return;
    }
    if (stride >= threads) {
        for (uint32_t column = thread; column < stride; column += threads)
            sum_column<true>(words, column, count, stride, (WORD)0);
        __syncthreads();
        return;
    }
    const uint32_t groups = threads / stride, rows = (count - 1) / stride + 1;
    const uint32_t each = (rows + groups - 1) / groups;
    const uint32_t group = thread / stride, column = thread % stride;
    const uint32_t begin = min(group * each, rows) * stride,
                   end = min(begin + each * stride, count);
    const bool works = group < groups && begin + column < count;

    partial[thread] = works ? sum_column<false>(words, begin + column, end, stride, (WORD)0) : 0;
    __syncthreads();
    if (works) {
        WORD before = 0;
        for (uint32_t k = 0; k < group; k++)
            before += partial[k * stride + column];
        sum_column<true>(words, begin + column, end, stride, before);
    }
    __syncthreads();
}

/* By a block: turns words into elements, in their places; if sums is true, after each has got those
 * before it. A warp has a slice of the chunk, and adds up what is before it first. */
template <typename WORD>
__device__ inline void restore(const row<WORD> &words, uint32_t count, bool sums, const rounding &r,
                               WORD *partial)
{
    constexpr uint32_t EACH = 4; /* words of a lane, side by side */
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = bale_warp::lane();
    const uint32_t slice = ((count + warps - 1) / warps + 31) / 32 * 32;
    const uint32_t begin = min(warp * slice, count), end = min(begin + slice, count);
    WORD before = 0;

    if (sums) {
        WORD own = sum_column<false>(words, begin + lane, end, 32, (WORD)0);
        own = warp_sum(own);
        if (lane == 0)
            partial[warp] = own;
        __syncthreads();
        before = warp_sum(lane < warp ? partial[lane] : (WORD)0);
    }
    for (uint32_t first = begin; first < end; first += 32 * EACH) {
        const uint32_t i = first + EACH * lane;
        WORD v[EACH], sum = 0;
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) {
            v[k] = i + k < end ? words.load(i + k) : 0;
            sum += v[k];
            v[k] = sums ? sum : v[k];
        }
        const WORD upto = sums ? warp_sums(sum) : 0;
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            if (i + k < end)
                words.store(i + k, restored(r, sums ? (WORD)(before + upto - sum + v[k]) : v[k]));
        if (sums)
            before += __shfl_sync(ALL, upto, 31);
    }
    __syncthreads();
}
} // namespace bale_cusz

#endif
