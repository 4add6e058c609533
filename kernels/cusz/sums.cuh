/* cusz on the device: undoing the prediction by running sums over words, which lie in shared memory
 * or where their elements will (spec.md, Prediction). By a block. */
#ifndef BALE_KERNELS_CUSZ_SUMS_CUH
#define BALE_KERNELS_CUSZ_SUMS_CUH

#include "kernels/codec/tables.h"
#include "kernels/cusz/book.cuh"

namespace bale_cusz
{
constexpr uint32_t DECODE_THREADS = 512, DECODE_WARPS = DECODE_THREADS / 32;
constexpr uint32_t FLIGHT = 32;   /* bytes of the loads that a thread has in flight */
constexpr uint32_t ROWS_FROM = 8; /* words of a row for each thread: rows rather than columns */

template <typename WORD> constexpr uint32_t CELL_WORDS = BALE_CUDA_CELL / sizeof(WORD);

/* Words of a cell, in shared memory. */
template <typename WORD> struct shared_row {
    WORD *at;

    __device__ WORD load(uint32_t i) const
    {
        return at[i];
    }

    __device__ void store(uint32_t i, WORD word) const
    {
        at[i] = word;
    }
};

/* By a thread: adds to each of the words begin, begin + step, ... below end those before it, and
 * `sum` to all, if it stores; returns the sum behind them. Steps are less than a chunk. */
template <bool STORES, typename ROW, typename WORD>
__device__ inline WORD sum_column(const ROW &words, uint32_t begin, uint32_t end, uint32_t step,
                                  WORD sum)
{
    constexpr uint32_t DEEP = FLIGHT / sizeof(WORD);
    WORD v[DEEP];
    uint32_t i = begin;

    for (; i + (DEEP - 1) * step < end; i += DEEP * step) {
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++)
            v[k] = words.load(i + k * step);
#pragma unroll
        for (uint32_t k = 0; k < DEEP; k++) {
            sum += v[k];
            if (STORES)
                words.store(i + k * step, sum);
        }
    }
    for (; i < end; i += step) {
        sum += words.load(i);
        if (STORES)
            words.store(i, sum);
    }
    return sum;
}

/* By a block: the same for a stride of several words a thread, row after row. */
template <typename ROW, typename WORD>
__device__ inline void sum_rows(const ROW &words, uint32_t count, uint32_t stride, const WORD *)
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
 * few columns, several threads take rows of one, after they know what is before. partial: room for
 * a word of each thread, in shared memory. */
template <typename ROW, typename WORD>
__device__ inline void sum_stride(const ROW &words, uint32_t count, uint32_t stride, WORD *partial)
{
    const uint32_t thread = threadIdx.x, threads = blockDim.x;

    if (stride >= count)
        return;
    if (stride >= ROWS_FROM * threads) {
        sum_rows(words, count, stride, partial);
        return;
    }
    if (stride > threads / 2) {
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

/* Words that a lane loads at once, side by side. */
template <typename WORD> struct alignas(16) quad {
    static constexpr uint32_t COUNT = 16 / sizeof(WORD);
    WORD words[COUNT];
};

/* Whether the last word that is not zero, as it was before turning, is negative behind some lanes;
 * before: ahead of them. sets: lanes with the least word, which is negative whatever is before it;
 * odd: those of them that end with a negative word, and others that change what is before them. */
__device__ inline bool negative_behind(uint32_t odd, uint32_t sets, bool before)
{
    return sets == 0 ? before != (__popc(odd) % 2 != 0)
                     : __popc(odd >> (31 - __clz((int)sets))) % 2 != 0;
}

/* By a warp: undoes turning, of the words of 32 quads side by side. negative: whether the last word
 * before them in their group that is not zero is; becomes that of the last one. */
template <typename WORD> __device__ inline void turn_back(quad<WORD> *q, bool *negative)
{
    constexpr uint32_t COUNT = quad<WORD>::COUNT, TOP = 8 * sizeof(WORD) - 1;
    constexpr WORD LEAST = (WORD)1 << TOP; /* its own negative */
    const uint32_t lower = bale_warp::lower_lanes();
    WORD signs = 0;
    bool least = false;

#pragma unroll
    for (uint32_t k = 0; k < COUNT; k++) {
        signs ^= q->words[k];
        least = least || q->words[k] == LEAST;
    }
    bool odd = signs >> TOP;
    const uint32_t sets = __ballot_sync(ALL, least);
    if (least) {
        odd = false;
        for (uint32_t k = 0; k < COUNT; k++)
            odd = q->words[k] == LEAST || odd != (q->words[k] >> TOP != 0);
    }
    const uint32_t odds = __ballot_sync(ALL, odd);
    WORD sign = 0 - (WORD)negative_behind(odds & lower, sets & lower, *negative);
    *negative = negative_behind(odds, sets, *negative);
#pragma unroll
    for (uint32_t k = 0; k < COUNT; k++) {
        const WORD word = (q->words[k] ^ sign) - sign;
        sign = word != 0 ? 0 - (word >> TOP) : sign;
        q->words[k] = word;
    }
}

/* Quads of a cell that a warp has. Groups do not cross them. */
template <typename WORD>
constexpr uint32_t SLICE = CELL_WORDS<WORD> / quad<WORD>::COUNT / DECODE_WARPS;
static_assert(SLICE<uint64_t> * 2 % (1 << CUSZ_SEGMENT_MIN) == 0, "whole groups");

/* By a warp: the lane's quad i of a slice; if words are turned, turned back and stored so. */
template <typename WORD>
__device__ inline quad<WORD> load_quad(quad<WORD> *slice, uint32_t i, bool turned, bool *negative)
{
    constexpr uint32_t QUADS = (1u << CUSZ_SEGMENT_MIN) / quad<WORD>::COUNT; /* of a group */
    quad<WORD> *const at = slice + i + bale_warp::lane();
    quad<WORD> q = *at;

    if (turned) {
        *negative = *negative && i % QUADS > 0;
        turn_back(&q, negative);
        *at = q;
    }
    return q;
}

/* By a block of DECODE_THREADS: turns a cell's words back. */
template <typename WORD> __device__ inline void turn_cell(quad<WORD> *cell)
{
    bool negative = false;

    for (uint32_t i = 0; i < SLICE<WORD>; i += 32)
        (void)load_quad(cell + threadIdx.x / 32 * SLICE<WORD>, i, true, &negative);
    __syncthreads();
}

/* By a block of DECODE_THREADS: turns a cell's words back, if they are turned, and adds to each
 * those before it in the cell. Returns the sum of all. A warp has a slice. */
template <typename WORD>
__device__ inline WORD sum_near(quad<WORD> *cell, bool turned, WORD *partial)
{
    constexpr uint32_t COUNT = quad<WORD>::COUNT;
    const uint32_t warp = threadIdx.x / 32, lane = bale_warp::lane();
    quad<WORD> *slice = cell + warp * SLICE<WORD>;
    WORD own = 0, before = 0, all = 0;
    bool negative = false;

#pragma unroll
    for (uint32_t i = 0; i < SLICE<WORD>; i += 32) {
        const quad<WORD> q = load_quad(slice, i, turned, &negative);
#pragma unroll
        for (uint32_t k = 0; k < COUNT; k++)
            own += q.words[k];
    }
    own = warp_sum(own);
    if (lane == 0)
        partial[warp] = own;
    __syncthreads();
    for (uint32_t k = 0; k < DECODE_WARPS; k++) {
        before += k < warp ? partial[k] : 0;
        all += partial[k];
    }
#pragma unroll 4
    for (uint32_t i = 0; i < SLICE<WORD>; i += 32) {
        quad<WORD> q = slice[i + lane];
#pragma unroll
        for (uint32_t k = 1; k < COUNT; k++)
            q.words[k] += q.words[k - 1];
        const WORD sum = q.words[COUNT - 1], upto = warp_sums(sum);
#pragma unroll
        for (uint32_t k = 0; k < COUNT; k++)
            q.words[k] += before + upto - sum;
        slice[i + lane] = q;
        before += __shfl_sync(ALL, upto, 31);
    }
    __syncthreads();
    return all;
}

/* By a block: turns words into elements, in their places, after each has got those before it. A
 * warp has a slice of the chunk, and adds up what is before it first. */
template <typename WORD>
__device__ inline void restore(const row<WORD> &words, uint32_t count, const rounding &r,
                               WORD *partial)
{
    constexpr uint32_t EACH = 4; /* words of a lane, side by side */
    const uint32_t warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = bale_warp::lane();
    const uint32_t slice = ((count + warps - 1) / warps + 31) / 32 * 32;
    const uint32_t begin = min(warp * slice, count), end = min(begin + slice, count);
    const WORD own = warp_sum(sum_column<false>(words, begin + lane, end, 32, (WORD)0));

    if (lane == 0)
        partial[warp] = own;
    __syncthreads();
    WORD before = warp_sum(lane < warp ? partial[lane] : (WORD)0);
    for (uint32_t first = begin; first < end; first += 32 * EACH) {
        const uint32_t i = first + EACH * lane;
        WORD v[EACH], sum = 0;
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++) {
            sum += i + k < end ? words.load(i + k) : 0;
            v[k] = sum;
        }
        const WORD upto = warp_sums(sum);
#pragma unroll
        for (uint32_t k = 0; k < EACH; k++)
            if (i + k < end)
                words.store(i + k, restored(r, (WORD)(before + upto - sum + v[k])));
        before += __shfl_sync(ALL, upto, 31);
    }
    __syncthreads();
}
} // namespace bale_cusz

#endif
