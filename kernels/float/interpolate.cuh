/* float on the device: what a decoder undoes where rows are interpolated (spec.md, Chunk). The
 * chunk's integers lie where all threads can reach them. One block or several do it, each a share of
 * the rows, and then of the columns. */
#ifndef BALE_KERNELS_FLOAT_INTERPOLATE_CUH
#define BALE_KERNELS_FLOAT_INTERPOLATE_CUH

#include "kernels/float/predict.cuh"
#include "kernels/float/sums.cuh"

namespace bale_float
{
/* The rows of a chunk. */
struct rows_of_chunk {
    uint32_t row, count; /* elements of a row, and of all */
    uint32_t along;      /* orders along x: byte y % 4 is that of row y */
    uint32_t between;    /* order between fourth rows */

    __device__ rows_of_chunk(const float_layout &l, uint32_t elements)
        : row(l.strides[1]), count(elements),
          along(order_of_row(l, 0) | order_of_row(l, 1) << 8 | order_of_row(l, 2) << 16 |
                order_of_row(l, 3) << 24),
          between(l.orders[1])
    {
    }

    __device__ uint32_t rows() const
    {
        return (count + row - 1) / row;
    }

    __device__ uint32_t rows_of_column(uint32_t column) const
    {
        return (count - column + row - 1) / row;
    }

    __device__ uint32_t order_of(uint32_t y) const
    {
        return along >> 8 * (y % 4) & 0xff;
    }
};

/* Of blocks that share a chunk. */
struct share_of_chunk {
    uint32_t own, all;
};

/* IN_SHARED: in shared memory; else other blocks may have written it. */
template <typename T, bool IN_SHARED> __device__ inline T load_integer(const T *from)
{
    return IN_SHARED ? *from : __ldcg(from);
}

/* Values that a thread loads before it uses the first one. */
template <typename T> constexpr uint32_t LOADS = sizeof(T) == 8 ? 4 : 8;

/* ---- Along x ---- */

/* By a warp: undoes the passes of 32 elements of a row, of which the lane's one is number i.
 * before: what the passes have made of the element before the first one. */
template <typename S>
__device__ inline S sum_of_row(S x, S before[ORDER_MAX], uint32_t order, uint32_t i)
{
#pragma unroll
    for (uint32_t pass = ORDER_MAX; pass-- > 0;)
        if (pass < order) {
            const S sum = sum_upto(i >= pass ? x : (S)0) + (i >= 32 ? before[pass] : (S)0);
            x = i >= pass ? sum : x;
            before[pass] = __shfl_sync(bale_warp::ALL, sum, 31);
        }
    return x;
}

/* By a block: its share of the rows. A warp has whole rows, and some 32 elements of these at once. */
template <typename T, bool IN_SHARED>
__device__ inline void sum_rows(const rows_of_chunk &its, T *all, share_of_chunk share)
{
    using S = typename wide<T>::type;
    constexpr uint32_t WARPS = THREADS / 32;
    const uint32_t warp = share.own * WARPS + threadIdx.x / 32, warps = share.all * WARPS;
    const uint32_t end = its.rows() * (warp + 1) / warps;
    uint32_t y = its.rows() * warp / warps, column = bale_warp::lane();
    S before[ORDER_MAX] = {};

    while (its.along != 0 && y < end) {
        uint32_t columns[LOADS<T>], ys[LOADS<T>];
        S x[LOADS<T>];
#pragma unroll
        for (uint32_t k = 0; k < LOADS<T>; k++) {
            const uint32_t i = y * its.row + column;
            const bool is_there = y < end && column < its.row && i < its.count;
            x[k] = is_there ? load_integer<T, IN_SHARED>(all + i) : (T)0;
            columns[k] = column;
            ys[k] = y;
            column += 32;
            if (column - bale_warp::lane() >= its.row) {
                column = bale_warp::lane();
                y++;
            }
        }
#pragma unroll
        for (uint32_t k = 0; k < LOADS<T>; k++) {
            const uint32_t i = ys[k] * its.row + columns[k];
            const bool is_there = ys[k] < end && columns[k] < its.row && i < its.count;
            x[k] = sum_of_row(x[k], before, its.order_of(ys[k]), columns[k]);
            if (is_there)
                all[i] = (T)x[k];
        }
    }
}

/* ---- Columns ---- */

/* By a block: the passes between fourth rows of the columns [first, end). */
template <typename T, bool IN_SHARED>
__device__ inline void sum_fourth_rows(const rows_of_chunk &its, T *all, uint32_t first,
                                       uint32_t end)
{
    constexpr uint32_t EACH = 2 * LOADS<T>;

    for (uint32_t column = first + threadIdx.x; column < end; column += THREADS) {
        const uint32_t rows = (its.rows_of_column(column) + 3) / 4;
        T before[ORDER_MAX] = {};
        for (uint32_t row = 0; row < rows; row += EACH) {
            T *from = all + column + (size_t)row * 4 * its.row;
            T x[EACH];
#pragma unroll
            for (uint32_t k = 0; k < EACH; k++)
                x[k] = row + k < rows ? load_integer<T, IN_SHARED>(from + k * 4 * its.row) : (T)0;
#pragma unroll
            for (uint32_t k = 0; k < EACH; k++)
                if (row + k < rows)
                    from[k * 4 * its.row] = next_sum(x[k], before, its.between, row + k);
        }
    }
}

/* By a thread: adds what they are predicted to be to some rows of a column. Those are 2^log2 rows
 * from the next known ones, and twice as far from each other, and this is number `first` of them. */
template <typename T, bool IN_SHARED>
__device__ inline void predict_rows(const rows_of_chunk &its, T *column, uint32_t rows,
                                    uint32_t log2, uint32_t first)
{
    const uint32_t end = (rows - 1 + (1u << log2)) >> (log2 + 1), stride = its.row << log2;
    const uint32_t known_end = ((rows - 1) >> (log2 + 1)) + 1;
    T known[LOADS<T> + DIFFERENCES], x[LOADS<T>];

#pragma unroll
    for (uint32_t k = 0; k < LOADS<T> + DIFFERENCES; k++) {
        const uint32_t i = first + k - (SIDE - 1); /* or far behind the end */
        known[k] = i < known_end ? load_integer<T, IN_SHARED>(column + 2 * i * stride) : (T)0;
    }
#pragma unroll
    for (uint32_t k = 0; k < LOADS<T>; k++)
        x[k] = first + k < end ? load_integer<T, IN_SHARED>(column + (2 * (first + k) + 1) * stride)
                               : (T)0;
#pragma unroll
    for (uint32_t k = 0; k < LOADS<T>; k++) {
        const uint32_t i = first + k;
        if (i < end)
            column[(2 * i + 1) * stride] =
                (T)(x[k] + predicted(known + k,
                                     rows_around{min(i + 1, SIDE), min(known_end - 1 - i, SIDE)}));
    }
}

/* By a block: all such rows of the columns [first, end). */
template <typename T, bool IN_SHARED>
__device__ inline void predict_all(const rows_of_chunk &its, T *all, uint32_t first, uint32_t end,
                                   uint32_t log2)
{
    const uint32_t columns = end - first, rows = (its.rows() - 1 + (1u << log2)) >> (log2 + 1);
    const uint32_t pieces = (rows + LOADS<T> - 1) / LOADS<T>;

    for (uint32_t k = threadIdx.x; k < columns * pieces; k += THREADS) {
        const uint32_t column = first + k % columns;
        predict_rows<T, IN_SHARED>(its, all + column, its.rows_of_column(column), log2,
                                   k / columns * LOADS<T>);
    }
}

/* By a block: its share of the columns, whose rows have been summed up. */
template <typename T, bool IN_SHARED>
__device__ inline void undo_columns(const rows_of_chunk &its, T *all, share_of_chunk share)
{
    const uint32_t columns = min(its.row, its.count);
    const uint32_t first = columns * share.own / share.all;
    const uint32_t end = columns * (share.own + 1) / share.all;

    if (its.between > 0)
        sum_fourth_rows<T, IN_SHARED>(its, all, first, end);
    __syncthreads();
    predict_all<T, IN_SHARED>(its, all, first, end, 1);
    __syncthreads();
    predict_all<T, IN_SHARED>(its, all, first, end, 0);
    __syncthreads();
}

/* By a block: the whole of a chunk. It is called, since its registers would not be left to others. */
template <typename T, bool IN_SHARED>
__device__ __noinline__ void undo_interpolation(rows_of_chunk its, T *all)
{
    sum_rows<T, IN_SHARED>(its, all, {0, 1});
    __syncthreads();
    undo_columns<T, IN_SHARED>(its, all, {0, 1});
}
} // namespace bale_float

#endif
