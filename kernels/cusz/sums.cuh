/* cusz on the device: undoing the prediction by running sums over a chunk's words, which lie where
 * its elements will (spec.md, Prediction). A block for a chunk. */
#ifndef BALE_KERNELS_CUSZ_SUMS_CUH
#define BALE_KERNELS_CUSZ_SUMS_CUH

#include "kernels/cusz/book.cuh"

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
/* By a block: turns sums[0, count), of segments, into those of all before. partial: of each
 * warp. */
template <typename WORD>
__device__ inline void place_sums(WORD *sums, uint32_t count, WORD *partial)
{
    const uint32_t thread = threadIdx.x, warp = thread / 32;
    WORD base = 0;

    for (uint32_t first = 0; first < count; first += blockDim.x) {
        const WORD own = first + thread < count ? sums[first + thread] : 0, upto = warp_sums(own);
        WORD before = base, all = 0;
        if (bale_warp::lane() == 31)
            partial[warp] = upto;
        __syncthreads();
        for (uint32_t k = 0; k < blockDim.x / 32; k++) {
            before += k < warp ? partial[k] : 0;
            all += partial[k];
        }
        if (first + thread < count)
            sums[first + thread] = before + upto - own;
        base += all;
        __syncthreads();
    }
}

/* Words that are added up within their segments, and what is before these. */
template <typename WORD> struct local_sums {
    WORD *words;
    const WORD *before;
    uint32_t segment_log2;
};

constexpr uint32_t COLUMN_FLIGHT = 64; /* bytes of the loads that a thread has in flight */

/* What sum_down() does with words: nothing, or they become sums, or elements. */
enum outcome { LEFT, SUMS, ELEMENTS };

/* By a thread: adds up `sum` and each of the words begin, begin + step, ... below end; returns what
 * that comes to. LOCAL: the words have been added up within their segments only. ALONE: words are
 * not added up. Loads depend on nothing, so that several are in flight. */
template <bool LOCAL, bool ALONE, outcome HOW, typename WORD>
__device__ inline WORD sum_down(const local_sums<WORD> &local, uint64_t begin, uint64_t end,
                                uint32_t step, WORD sum, const rounding &r)
{
    constexpr uint32_t DEEP = COLUMN_FLIGHT / sizeof(WORD);
    WORD *const words = local.words, v[DEEP];

    for (uint64_t first = begin; first < end; first += (uint64_t)DEEP * step) {
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            const uint32_t i = (uint32_t)min(first + (uint64_t)k * step, end - 1);
            v[k] = words[i] + (LOCAL ? local.before[i >> local.segment_log2] : 0);
        }
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            const uint64_t at = first + (uint64_t)k * step;
            if (at >= end)
                break;
            sum = ALONE ? v[k] : sum + v[k];
            if (HOW != LEFT)
                words[at] = HOW == ELEMENTS ? restored(r, sum) : sum;
        }
    }
    return sum;
}

/* By a block: running sums for one stride. If there are fewer columns than threads, several threads
 * take rows of one, after they know what is before. */
template <bool LOCAL, outcome HOW, typename WORD>
__device__ inline void sum_columns(const local_sums<WORD> &local, uint32_t count, uint32_t stride,
                                   WORD *partial, const rounding &r)
{
    const uint32_t thread = threadIdx.x, threads = blockDim.x, columns = min(stride, count);

    if (columns > threads / 2) {
        for (uint32_t column = thread; column < columns; column += threads)
            sum_down<LOCAL, false, HOW>(local, column, count, stride, (WORD)0, r);
        __syncthreads();
        return;
    }
    const uint32_t parts = threads / columns, rows = (count - 1) / stride + 1;
    const uint32_t each = (rows + parts - 1) / parts, part = thread / columns;
    const uint64_t begin = (uint64_t)part * each * stride + thread % columns;
    const uint64_t end = min((uint64_t)(part + 1) * each * stride, (uint64_t)count);
    const bool works = part < parts && begin < end;
    WORD before = 0;
    partial[thread] =
        works ? sum_down<LOCAL, false, LEFT>(local, begin, end, stride, (WORD)0, r) : 0;
    __syncthreads();
    for (uint32_t k = 0; works && k < part; k++)
        before += partial[k * columns + thread % columns];
    if (works)
        sum_down<LOCAL, false, HOW>(local, begin, end, stride, before, r);
    __syncthreads();
}

/* By a block: turns words that have been added up within their segments into elements, in their
 * places. */
template <typename WORD>
__device__ inline void sum_strides(const local_sums<WORD> &local, uint32_t count, const head &h,
                                   WORD *partial)
{
    if (h.order == 1)
        sum_down<true, true, ELEMENTS>(local, threadIdx.x, count, blockDim.x, (WORD)0, h.r);
    else if (h.order == 2)
        sum_columns<true, ELEMENTS>(local, count, h.strides[1], partial, h.r);
    else
        sum_columns<true, SUMS>(local, count, h.strides[1], partial, h.r);
    __syncthreads();
    if (h.order == 3)
        sum_columns<false, ELEMENTS>(local, count, h.strides[2], partial, h.r);
}
} // namespace bale_cusz

#endif
