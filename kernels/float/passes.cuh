/* float on the device: sums along the axes of a chunk that lies in shared memory, one pass after
 * the other (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_PASSES_CUH
#define BALE_KERNELS_FLOAT_PASSES_CUH

#include "kernels/float/sums.cuh"

namespace bale_float
{
/* ---- Along x ---- */

/* The sum of a lane's values of a vector that begins with value `first`; those before `from` do not
 * count. */
template <typename T>
__device__ inline typename wide<T>::type sum_of(const vector<T> &v, uint32_t first, uint32_t from)
{
    typename wide<T>::type sum = 0;

#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++)
        sum += first + k >= from ? v.at[k] : 0;
    return sum;
}

/* By a block: values[i] becomes the sum of values[from, i] for all i >= from. Garbage may follow
 * the values, up to a vector's end. */
template <typename T>
__device__ inline void add_along(T *values, uint32_t count, uint32_t from, warp_values *room)
{
    using S = typename wide<T>::type;
    constexpr uint32_t N = vector<T>::VALUES, TILE = 32 * N;
    const span mine = span_of(count, TILE);
    const uint32_t lane_at = N * bale_warp::lane();
    uint4 *vectors = (uint4 *)values;
    S sum = 0, total;

    for (uint32_t i = mine.first + lane_at; i < mine.end; i += TILE) {
        vector<T> v;
        v.all = vectors[i / N];
        sum += sum_of(v, i, from);
    }
    sum = sum_of_warps_before(sum_of_lanes(sum), room, &total);
    vector<T> next = {};
    if (mine.first + lane_at < mine.end)
        next.all = vectors[(mine.first + lane_at) / N];
    for (uint32_t tile = mine.first; tile < mine.end; tile += TILE) {
        const uint32_t i = tile + lane_at;
        vector<T> v = next;
        if (i + TILE < mine.end)
            next.all = vectors[(i + TILE) / N];
        const S its = sum_of(v, i, from), upto = sum_upto(its);
        S running = sum + upto - its;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            if (i + k >= from)
                v.at[k] = (T)(running += v.at[k]);
        if (i < mine.end)
            vectors[i / N] = v.all;
        sum += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    __syncthreads();
}

/* ---- Across rows and planes ---- */

/* Whether a row before `to` has the column. */
__device__ inline bool row_has(uint32_t count, uint32_t stride, uint32_t column, uint32_t row,
                               uint32_t to)
{
    return row < to && row * stride + column < count;
}

/* By a thread: adds up the column's values of the rows [from, to), beginning with sum. */
template <typename T>
__device__ inline void add_column_once(T *values, uint32_t count, uint32_t stride, uint32_t column,
                                       uint32_t from, uint32_t to, T sum)
{
    for (uint32_t row = from; row < to; row += ROWS) {
        T x[ROWS];
#pragma unroll
        for (uint32_t k = 0; k < ROWS; k++)
            x[k] = row_has(count, stride, column, row + k, to) ? values[(row + k) * stride + column]
                                                               : (T)0;
#pragma unroll
        for (uint32_t k = 0; k < ROWS; k++) {
            sum = (T)(sum + x[k]);
            if (row_has(count, stride, column, row + k, to))
                values[(row + k) * stride + column] = sum;
        }
    }
}

/* By a block: one pass of rows shorter than the block. Several threads share a column. */
template <typename T>
__device__ inline void add_short_rows(T *values, uint32_t count, uint32_t stride, uint32_t from,
                                      sum_room *room)
{
    const uint32_t pieces = THREADS / stride, rows = (count + stride - 1) / stride - from;
    const uint32_t each = (rows + pieces - 1) / pieces;
    const uint32_t column = threadIdx.x % stride, piece = threadIdx.x / stride;
    const uint32_t first = from + min(piece * each, rows), end = min(first + each, from + rows);
    T sum = 0;

    if (piece >= pieces)
        sum = 0;
    else
        for (uint32_t row = first; row < end; row++)
            sum = (T)(sum + (row * stride + column < count ? values[row * stride + column] : 0));
    room->of[0][threadIdx.x] = sum;
    __syncthreads();
    for (uint32_t by = 1; by < pieces; by *= 2) {
        const uint64_t other = piece >= by ? room->of[0][threadIdx.x - by * stride] : 0;
        __syncthreads();
        room->of[0][threadIdx.x] += other;
        __syncthreads();
    }
    if (piece < pieces)
        add_column_once(values, count, stride, column, first, end,
                        piece > 0 ? (T)room->of[0][threadIdx.x - stride] : (T)0);
    __syncthreads();
}

/* By a block: values[i] += values[i - stride] for ascending i >= (from + 1) stride. */
template <typename T>
__device__ inline void add_rows_once(T *values, uint32_t count, uint32_t stride, uint32_t from,
                                     sum_room *room)
{
    const uint32_t rows = (count + stride - 1) / stride;

    if (stride <= THREADS / 2) {
        add_short_rows(values, count, stride, from, room);
        return;
    }
    for (uint32_t column = threadIdx.x; column < stride; column += THREADS)
        add_column_once(values, count, stride, column, from, rows, (T)0);
    __syncthreads();
}

/* By a block: the other way of subtract_all. */
template <typename T>
__device__ inline void add_all(const float_layout &l, T *values, uint32_t count, sum_room *room)
{
    for (uint32_t pass = l.orders[0]; pass > 0; pass--)
        add_along(values, count, pass - 1, &room->warps);
    for (unsigned axis = 1; axis < FLOAT_AXES; axis++)
        for (uint32_t pass = l.orders[axis]; pass > 0; pass--)
            if (pass * l.strides[axis] < count)
                add_rows_once(values, count, l.strides[axis], pass - 1, room);
}
} // namespace bale_float

#endif
