/* float on the device: sums along the axes, which undo the differences of integers in shared memory
 * (spec.md, Chunk). A tile of a chunk is summed up at a time. */
#ifndef BALE_KERNELS_FLOAT_SUMS_CUH
#define BALE_KERNELS_FLOAT_SUMS_CUH

#include "kernels/float/differences.cuh"

namespace bale_float
{
/* What the passes of an axis have made of the last element: [0] with all passes undone, the next
 * one with all but one, and so on. Zeros behind the axis' order. */
template <typename S> struct levels {
    S at[ORDER_MAX];
};

/* Of n elements whose differences are zeros: how often each level adds to those before it. */
template <typename S> struct weights {
    static constexpr S THIRD = (S)UINT64_C(0xaaaaaaaaaaaaaaab); /* times 3 it is 1 */
    S one, two, three;

    /* Less than 2^16 elements. */
    __device__ explicit weights(uint32_t n)
        : one(n), two(n * (n + 1) / 2), three(two * (S)(n + 2) * THIRD)
    {
    }
};

/* Behind so many elements whose differences are zeros. */
template <typename S>
__device__ inline levels<S> behind(levels<S> x, const weights<S> &w, uint32_t order)
{
    if (order > 1) {
        x.at[0] += w.one * x.at[1] + w.two * x.at[2] + w.three * x.at[3];
        if (order > 2) {
            x.at[1] += w.one * x.at[2] + w.two * x.at[3];
            x.at[2] += w.one * x.at[3];
        }
    }
    return x;
}

template <typename S> __device__ inline levels<S> added(const levels<S> &x, const levels<S> &y)
{
    return {{x.at[0] + y.at[0], x.at[1] + y.at[1], x.at[2] + y.at[2], x.at[3] + y.at[3]}};
}

template <typename S>
__device__ inline levels<S> from_lane_before(const levels<S> &x, uint32_t by, uint32_t order)
{
    levels<S> other = {};

#pragma unroll
    for (uint32_t p = 0; p < ORDER_MAX; p++)
        if (p < order)
            other.at[p] = __shfl_up_sync(bale_warp::ALL, x.at[p], by);
    return other;
}

/* Room for levels of each warp, and of each thread. */
struct sum_room {
    warp_values warps;
    uint64_t of_warps[2][ORDER_MAX][THREADS / 32];
    uint64_t carry[2][ORDER_MAX]; /* before all warps */
    uint64_t of[ORDER_MAX][THREADS];
};

/* ---- Along x ---- */

/* By a warp, a group in each lane: sums of all orders, as if zeros were before the warp. is_first:
 * it is the chunk's first group. Returns the levels of the last element. */
template <typename T>
__device__ inline levels<typename wide<T>::type> add_in_warp(group<T> *x, uint32_t order,
                                                             bool is_first)
{
    using S = typename wide<T>::type;
    levels<S> last = {};

#pragma unroll
    for (uint32_t p = ORDER_MAX; p-- > 0;) {
        if (p >= order)
            continue;
        S sum = 0;
#pragma unroll
        for (uint32_t k = 0; k < FLOAT_GROUP; k++)
            sum += k >= p || !is_first ? x->at[k] : 0;
        sum = sum_upto(sum) - sum;
#pragma unroll
        for (uint32_t k = 0; k < FLOAT_GROUP; k++)
            if (k >= p || !is_first)
                x->at[k] = (T)(sum += x->at[k]);
        last.at[p] = __shfl_sync(bale_warp::ALL, sum, 31);
    }
    return last;
}

/* By a block: the levels before each warp, from those of the warps' own elements, and in the room
 * those before the next turn's. */
template <typename S>
__device__ inline levels<S> levels_before(const levels<S> &own, uint32_t order, sum_room *room,
                                          uint32_t turn)
{
    constexpr uint32_t EACH = 32 * FLOAT_GROUP, WARPS = THREADS / 32;
    const uint32_t warp = threadIdx.x / 32, lane = bale_warp::lane();
    levels<S> all = {};

#pragma unroll
    for (uint32_t p = 0; p < ORDER_MAX; p++)
        if (p < order && lane == 0)
            room->of_warps[turn % 2][p][warp] = own.at[p];
    __syncthreads();
#pragma unroll
    for (uint32_t p = 0; p < ORDER_MAX; p++)
        if (p < order)
            all.at[p] = (S)room->of_warps[turn % 2][p][lane % WARPS];
#pragma unroll
    for (uint32_t by = 1; by < WARPS; by *= 2) {
        const levels<S> other = from_lane_before(all, by, order);
        if (lane >= by)
            all = added(all, behind(other, weights<S>(by * EACH), order));
    }
    levels<S> carry = {};
#pragma unroll
    for (uint32_t p = 0; p < ORDER_MAX; p++)
        if (p < order)
            carry.at[p] = (S)room->carry[turn % 2][p];
    if (threadIdx.x == WARPS - 1) {
        const levels<S> last = added(behind(carry, weights<S>(WARPS * EACH), order), all);
#pragma unroll
        for (uint32_t p = 0; p < ORDER_MAX; p++)
            if (p < order)
                room->carry[1 - turn % 2][p] = last.at[p];
    }
    carry = behind(carry, weights<S>(warp * EACH), order);
#pragma unroll
    for (uint32_t p = 0; p < ORDER_MAX; p++)
        if (p < order) {
            const S its = __shfl_sync(bale_warp::ALL, all.at[p], warp > 0 ? warp - 1 : 0);
            carry.at[p] += warp > 0 ? its : 0;
        }
    return carry;
}

/* By a thread: adds what the levels before its group make of it. */
template <typename T>
__device__ inline void add_levels(group<T> *x, levels<typename wide<T>::type> before,
                                  uint32_t order)
{
#pragma unroll
    for (uint32_t k = 0; k < FLOAT_GROUP; k++) {
        if (order > 1) {
            before.at[2] += before.at[3];
            before.at[1] += before.at[2];
            before.at[0] += before.at[1];
        }
        x->at[k] = (T)(x->at[k] + before.at[0]);
    }
}

/* ---- Across rows and planes ---- */

/* Integers of the chunk before a tile. Those of rows still have their differences between planes. */
template <typename T> struct history {
    const T *all;           /* of the chunk */
    uint32_t first;         /* of the tile */
    uint32_t order, stride; /* of planes; 0: there are none */

    __device__ T at(uint32_t i) const
    {
        using S = typename wide<T>::type;
        const uint32_t passes = order != 0 ? passes_at(i, order, stride) : 0;
        S sum = all[i];

        for (uint32_t k = 1; k <= passes; k++)
            sum += coefficient<S>(passes, k) * all[i - k * stride];
        return (T)sum;
    }
};

/* By a thread: undoes `order` passes at the next value of a column; `row` as next_difference has
 * it. */
template <typename T>
__device__ inline T next_sum(T x, T before[ORDER_MAX], uint32_t order, uint32_t row)
{
#pragma unroll
    for (uint32_t pass = ORDER_MAX; pass-- > 0;)
        if (pass < order) {
            x = (T)(x + before[pass]);
            before[pass] = row >= pass ? x : (T)0;
        }
    return x;
}

/* By a thread: what the passes have made of a column before its first value in the tile. Returns
 * the row from which next_sum goes on. */
template <typename T>
__device__ inline uint32_t begin_column(const history<T> &h, uint32_t column, uint32_t stride,
                                        uint32_t order, T before[ORDER_MAX])
{
    const uint32_t i = h.first + column, rows = min(i / stride, order);
    T x[ORDER_MAX];

#pragma unroll
    for (uint32_t k = 0; k < ORDER_MAX; k++)
        x[k] = k < rows ? h.at(i - (rows - k) * stride) : (T)0;
#pragma unroll
    for (uint32_t k = 0; k < ORDER_MAX; k++)
        if (k < rows)
            (void)next_difference(x[k], before, order, k);
    return rows;
}

/* By a thread: undoes the passes at the rows [from, to) of a column, or only looks what they make. */
template <typename T>
__device__ inline void add_column(T *values, uint32_t count, uint32_t stride, uint32_t from,
                                  uint32_t to, uint32_t order, uint32_t row, T before[ORDER_MAX],
                                  bool keep)
{
    for (uint32_t first = from; first < to; first += ROWS) {
        T *at = values + (size_t)first * stride;
        const uint32_t left = count - min(count, first * stride);
        const uint32_t there = min(min(to - first, (left + stride - 1) / stride), ROWS);
        T x[ROWS];
#pragma unroll
        for (uint32_t k = 0; k < ROWS; k++)
            x[k] = k < there ? at[k * stride] : (T)0;
#pragma unroll
        for (uint32_t k = 0; k < ROWS; k++)
            if (k < there) {
                x[k] = next_sum(x[k], before, order, row++);
                if (keep)
                    at[k * stride] = x[k];
            }
    }
}

constexpr uint32_t PIECES_MAX = 32; /* of a column */

/* By a block: undoes `order` passes of rows of a tile, in place: a thread runs down a column, or
 * several share one, and look first what their pieces make of zeros. */
template <typename T>
__device__ inline void add_rows(T *values, uint32_t count, uint32_t stride, uint32_t order,
                                const history<T> &h, sum_room *room)
{
    using S = typename wide<T>::type;
    const uint32_t rows = (count + stride - 1) / stride, columns = min(stride, THREADS);
    const uint32_t pieces = min(THREADS / columns, PIECES_MAX);
    const uint32_t each = max((rows + pieces - 1) / pieces, ORDER_MAX);
    const uint32_t own = threadIdx.x % columns, piece = threadIdx.x / columns;
    const uint32_t from = min(piece * each, rows), to = piece < pieces ? min(from + each, rows) : 0;

    for (uint32_t first = 0; first < min(stride, count); first += columns) {
        const uint32_t column = first + own;
        const uint32_t end = column < min(stride, count) ? to : 0,
                       there = count - min(count, column);
        T before[ORDER_MAX] = {};
        const uint32_t row =
            piece == 0 && end > 0 ? begin_column(h, column, stride, order, before) : ORDER_MAX;
        if (pieces > 1) {
            T last[ORDER_MAX];
            for (uint32_t p = 0; p < ORDER_MAX; p++)
                last[p] = before[p];
            add_column(values + column, there, stride, from, end, order, row, last, false);
            for (uint32_t p = 0; p < ORDER_MAX; p++)
                room->of[p][threadIdx.x] = last[p];
            __syncthreads();
            levels<S> sum = {};
            for (uint32_t k = 0; k < piece && piece < pieces; k++) {
                levels<S> its;
                for (uint32_t p = 0; p < ORDER_MAX; p++)
                    its.at[p] = (S)room->of[p][k * columns + own];
                sum = added(behind(sum, weights<S>(each), order), its);
            }
            for (uint32_t p = 0; p < ORDER_MAX; p++)
                before[p] = piece > 0 ? (T)sum.at[p] : before[p];
        }
        add_column(values + column, there, stride, from, end, order, row, before, true);
    }
    __syncthreads();
}
} // namespace bale_float

#endif
