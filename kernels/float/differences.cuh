/* float on the device: differences along the axes of integers in shared memory (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_DIFFERENCES_CUH
#define BALE_KERNELS_FLOAT_DIFFERENCES_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/planes.cuh"

namespace bale_float
{
/* How many passes of an axis there are at an element. */
__device__ inline uint32_t passes_at(uint32_t i, uint32_t order, uint32_t stride)
{
    uint32_t passes = 0;

    while (passes < order && i >= (passes + 1) * stride)
        passes++;
    return passes;
}

/* Number k of row n of Pascal's triangle, up to 4; every other one negative. */
template <typename S> __device__ inline S coefficient(uint32_t n, uint32_t k)
{
    const uint32_t row = n == 4   ? 0x14641u
                         : n == 3 ? 0x1331u
                         : n == 2 ? 0x121u
                         : n == 1 ? 0x11u
                                  : 1u;
    const S its = row >> 4 * k & 15;

    return k % 2 != 0 ? 0 - its : its;
}

constexpr uint32_t ORDER_MAX = FLOAT_ORDERS - 1;
constexpr uint32_t ROWS = 8; /* that are loaded before what becomes of them is stored */

/* The rows of columns that threads share out: a task is a column's piece. */
struct row_pieces {
    uint32_t rows, each, tasks;
};

__device__ inline row_pieces pieces_of(uint32_t count, uint32_t stride, uint32_t order)
{
    const uint32_t rows = (count + stride - 1) / stride;
    const uint32_t one = max(blockDim.x / stride, 1u), two = max(2 * blockDim.x / stride, 1u);
    const uint32_t of_one = (rows + one - 1) / one + order, of_two = (rows + two - 1) / two + order;
    const uint32_t pieces = stride <= blockDim.x && of_one <= 2 * of_two ? one : two;
    const uint32_t each = max((rows + pieces - 1) / pieces, 2 * ORDER_MAX);

    return {rows, each, min(stride, count) * ((rows + each - 1) / each)};
}

/* By a thread: what becomes of the next value of a column by `order` passes. `row` counts from the
 * column's beginning or from so many rows before the first whose result counts. */
template <typename T>
__device__ inline T next_difference(T x, T before[ORDER_MAX], uint32_t order, uint32_t row)
{
#pragma unroll
    for (uint32_t pass = 0; pass < ORDER_MAX; pass++)
        if (pass < order) {
            const T less = (T)(x - before[pass]);
            before[pass] = row >= pass ? x : (T)0;
            x = less;
        }
    return x;
}

/* By a block: `order` passes of differences of rows, in place: a thread runs down a column's piece.
 * Later pieces come first, since they begin with the rows before them. */
template <typename T>
__device__ inline void subtract_rows(T *values, uint32_t count, uint32_t stride, uint32_t order)
{
    const row_pieces p = pieces_of(count, stride, order);
    const uint32_t columns = min(stride, count);

    for (uint32_t round = (p.tasks + blockDim.x - 1) / blockDim.x; round-- > 0;) {
        const uint32_t task = round * blockDim.x + threadIdx.x, piece = task / columns;
        const uint32_t column = task % columns, first = piece * p.each;
        const uint32_t end = task < p.tasks ? min(first + p.each, p.rows) : 0;
        const uint32_t begin = first > 0 ? first - order : 0;
        T before[ORDER_MAX] = {}, head[ORDER_MAX];
#pragma unroll
        for (uint32_t k = 0; k < ORDER_MAX; k++) {
            const uint32_t i = (begin + k) * stride + column;
            if (k < order && end > 0 && i < count)
                head[k] = next_difference(values[i], before, order, k);
        }
        __syncthreads();
#pragma unroll
        for (uint32_t k = 0; k < ORDER_MAX; k++)
            if (k < order && end > 0 && first == 0 && k * stride + column < count)
                values[k * stride + column] = head[k];
        for (uint32_t row = begin + order; row < end; row += ROWS) {
            T *at = values + (size_t)row * stride + column;
            const uint32_t left = count - min(count, row * stride + column);
            const uint32_t there = min(min(end - row, (left + stride - 1) / stride), ROWS);
            T x[ROWS];
#pragma unroll
            for (uint32_t k = 0; k < ROWS; k++)
                x[k] = k < there ? at[k * stride] : (T)0;
#pragma unroll
            for (uint32_t k = 0; k < ROWS; k++) {
                x[k] = next_difference(x[k], before, order, ORDER_MAX);
                if (k < there)
                    at[k * stride] = x[k];
            }
        }
        __syncthreads();
    }
}

/* A group's values, and those before it from which differences are. */
template <typename T> struct values_before {
    T at[ORDER_MAX + FLOAT_GROUP];
};

template <typename T> __device__ inline values_before<T> load_values(const T *values, uint32_t g)
{
    constexpr uint32_t N = vector<T>::VALUES, HALF = ORDER_MAX;
    const group<T> own = load_group(values, g);
    values_before<T> x;

#pragma unroll
    for (uint32_t k = 0; k < HALF; k += min(N, HALF)) {
        vector<T> v;
        v.all = *(const uint4 *)(values + (size_t)g * FLOAT_GROUP - (N < HALF ? HALF - k : N));
#pragma unroll
        for (uint32_t n = 0; n < min(N, HALF); n++)
            x.at[k + n] = v.at[N < HALF ? n : N - HALF + n];
    }
#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        x.at[HALF + k] = own.at[k];
    return x;
}

template <typename T> __device__ inline group<T> group_of(const values_before<T> &x)
{
    group<T> its;

#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++)
        its.at[k] = x.at[ORDER_MAX + k];
    return its;
}

/* By a thread: `order` passes of differences of a group's values along x; of the chunk's first
 * group nothing is before it. */
template <typename T>
__device__ inline group<T> subtract_along(const T *values, uint32_t g, bool is_first,
                                          uint32_t order)
{
    constexpr uint32_t HALF = ORDER_MAX;
    values_before<T> x = load_values(values, g);

#pragma unroll
    for (uint32_t pass = 1; pass <= ORDER_MAX; pass++)
        if (pass <= order)
#pragma unroll
            for (uint32_t k = HALF + FLOAT_GROUP - 1; k >= pass; k--)
                if (k >= HALF + pass || !is_first)
                    x.at[k] = (T)(x.at[k] - x.at[k - 1]);
    return group_of(x);
}
} // namespace bale_float

#endif
