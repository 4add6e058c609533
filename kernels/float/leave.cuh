/* float on the device: what is left of interpolated rows, in shared memory (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_LEAVE_CUH
#define BALE_KERNELS_FLOAT_LEAVE_CUH

#include "kernels/float/cells.cuh"
#include "kernels/float/predict.cuh"

namespace bale_float
{
/* Where an element is. */
struct row_place {
    uint32_t row, column;

    /* Of a column: rows that begin before the element. */
    __device__ uint32_t rows_before(uint32_t of) const
    {
        return row + (of < column);
    }
};

/* The rows of elements [first, end) of a chunk, whose integers lie in shared memory; those of other
 * elements are made of their patterns. */
template <typename T> struct cell_rows {
    integers<T> q;
    T *values;
    uint32_t first, end, row; /* elements */
    row_place first_at, end_at, chunk_end;

    __device__ row_place place_of(uint32_t i) const
    {
        return {i / row, i % row};
    }

    __device__ cell_rows(const integers<T> &its, T *from, uint32_t begin, uint32_t behind,
                         uint32_t count, uint32_t stride)
        : q(its), values(from), first(begin), end(behind), row(stride), first_at(place_of(begin)),
          end_at(place_of(behind)), chunk_end(place_of(count))
    {
    }

    __device__ bool has(uint32_t i) const
    {
        return i - first < end - first;
    }

    /* An element's integer, or its pattern where that is not in shared memory. */
    __device__ T fetch(uint32_t i) const
    {
        return has(i) ? values[i - first] : q.from.template load<T>(i);
    }

    /* The integer of what was fetched: apart, so that patterns come at the same time. */
    __device__ T integer_of(T fetched, uint32_t i) const
    {
        unsigned unused;

        if (has(i))
            return fetched;
        if (q.map.is_decimal)
            return q.at(i, &unused);
        (void)map_element(q.map, fetched, &fetched, &unused);
        return fetched;
    }
};

/* What a thread does at a time: some rows of a column, as far as shared memory has them. */
struct column_piece {
    uint32_t column, begin, end;
};

/* How columns are shared out: pieces of whole cycles. */
struct column_pieces {
    uint32_t columns, base, each, tasks;
};

template <typename T> __device__ inline column_pieces pieces_of(const cell_rows<T> &r)
{
    const uint32_t columns = min(r.row, r.end - r.first), base = r.first_at.row / CYCLE * CYCLE;
    const uint32_t rows = r.end_at.rows_before(0) - base;
    const uint32_t pieces = max(blockDim.x / columns, 1u);
    const uint32_t each = ((rows + pieces - 1) / pieces + CYCLE - 1) / CYCLE * CYCLE;

    return {columns, base, each, columns * ((rows + each - 1) / each)};
}

template <typename T>
__device__ inline column_piece piece_of(const cell_rows<T> &r, const column_pieces &p,
                                        uint32_t task)
{
    const uint32_t n = task / p.columns, begin = p.base + n * p.each;
    const uint32_t from = r.first_at.column + task - n * p.columns;
    const uint32_t column = from < r.row ? from : from - r.row;
    const uint32_t end = task < p.tasks ? begin + p.each : 0;

    return {column, max(begin, r.first_at.rows_before(column)),
            min(end, r.end_at.rows_before(column))};
}

/* By a block: what rows at odd multiples of the step are less their predictions, in place. They
 * depend on none of each other. */
template <typename T>
__device__ inline void subtract_predictions(const cell_rows<T> &r, uint32_t step)
{
    const column_pieces p = pieces_of(r);

    for (uint32_t task = threadIdx.x; task < p.tasks; task += blockDim.x) {
        const column_piece its = piece_of(r, p, task);
        const uint32_t rows = r.chunk_end.rows_before(its.column);
        uint32_t y = its.begin + ((step - its.begin) & (2 * step - 1));
        T around[2 * SIDE];
        if (y >= its.end)
            continue;
#pragma unroll
        for (uint32_t k = 0; k < 2 * SIDE; k++) {
            const uint32_t other = y + 2 * k * step - (2 * SIDE - 1) * step; /* wraps above 0 */
            around[k] = other < rows ? r.fetch(other * r.row + its.column) : (T)0;
        }
#pragma unroll
        for (uint32_t k = 0; k + 1 < 2 * SIDE; k++) {
            const uint32_t other = y + 2 * k * step - (2 * SIDE - 1) * step;
            if (other < rows)
                around[k] = r.integer_of(around[k], other * r.row + its.column);
        }
        for (; y < its.end; y += 2 * step) {
            const uint32_t last = y + (2 * SIDE - 1) * step, next = last + 2 * step;
            const T fetched =
                next < rows && y + 2 * step < its.end ? r.fetch(next * r.row + its.column) : (T)0;
            if (last < rows)
                around[2 * SIDE - 1] =
                    r.integer_of(around[2 * SIDE - 1], last * r.row + its.column);
            T *own = r.values + (y * r.row + its.column - r.first);
            *own = (T)(*own - predicted(around, rows_around_of(y, step, rows)));
#pragma unroll
            for (uint32_t k = 0; k + 1 < 2 * SIDE; k++)
                around[k] = around[k + 1];
            around[2 * SIDE - 1] = fetched;
        }
    }
    __syncthreads();
}

/* By a block: differences of fourth rows, in place. Later pieces come first, since they begin with
 * the rows before them. */
template <typename T>
__device__ inline void subtract_fourth_rows(const cell_rows<T> &r, uint32_t order)
{
    const column_pieces p = pieces_of(r);

    for (uint32_t round = (p.tasks + blockDim.x - 1) / blockDim.x; round-- > 0;) {
        const column_piece its = piece_of(r, p, round * blockDim.x + threadIdx.x);
        uint32_t y = (its.begin + CYCLE - 1) / CYCLE * CYCLE;
        T before[2] = {};
#pragma unroll
        for (uint32_t k = 0; k < 2; k++)
            if (y < its.end && y >= (k + 1) * CYCLE)
                before[k] = r.fetch((y - (k + 1) * CYCLE) * r.row + its.column);
#pragma unroll
        for (uint32_t k = 0; k < 2; k++)
            if (y < its.end && y >= (k + 1) * CYCLE)
                before[k] = r.integer_of(before[k], (y - (k + 1) * CYCLE) * r.row + its.column);
        __syncthreads();
        for (; y < its.end; y += CYCLE) {
            T *own = r.values + (y * r.row + its.column - r.first);
            const T x = *own;
            const uint32_t passes = min(order, y / CYCLE);
            *own = (T)(x - (passes == 0   ? (T)0
                            : passes == 1 ? before[0]
                                          : (T)(2 * before[0] - before[1])));
            before[1] = before[0];
            before[0] = x;
        }
        __syncthreads();
    }
}

/* The rows that a group and the values before it lie in, two at most. */
struct group_rows {
    uint32_t first, second; /* their orders; 0 for the first if the group has none of it */
    uint32_t begin;         /* of the second, from the first value before the group on */

    __device__ group_rows(const float_layout &l, uint32_t i)
    {
        const uint32_t row = l.strides[1], y = i / row;
        const uint32_t column = i - y * row;
        const bool is_behind = column > ORDER_MAX; /* the second begins in the group, if at all */

        first = is_behind ? order_of_row(l, y) : 0;
        begin = is_behind ? min(row - column, FLOAT_GROUP) + ORDER_MAX : ORDER_MAX - column;
        second = begin < ORDER_MAX + FLOAT_GROUP ? order_of_row(l, y + is_behind) : 0;
    }
};

/* By a thread: differences along x of a group's values, in rows by themselves. */
template <typename T>
__device__ inline group<T> subtract_in_rows(const group_rows &rows, const T *values, uint32_t g)
{
    values_before<T> x = load_values(values, g);

#pragma unroll
    for (uint32_t pass = 1; pass <= ORDER_MAX; pass++) {
        const uint32_t in_first = pass <= rows.first ? (1u << rows.begin) - 1 : 0;
        const uint32_t in_second = pass <= rows.second ? UINT32_MAX << (rows.begin + pass) : 0;
        if ((in_first | in_second) != 0)
#pragma unroll
            for (uint32_t k = ORDER_MAX + FLOAT_GROUP - 1; k >= pass; k--)
                if (((in_first | in_second) >> k & 1) != 0)
                    x.at[k] = (T)(x.at[k] - x.at[k - 1]);
    }
    return group_of(x);
}

/* By a block: differences of a cell's rows along x, in place. From the last groups to the first,
 * since each needs values before it. */
template <typename T>
__device__ inline void subtract_all_in_rows(const float_layout &l, T *values, uint32_t first,
                                            uint32_t count)
{
    const uint32_t groups = (count + FLOAT_GROUP - 1) / FLOAT_GROUP;

    for (uint32_t round = (groups + blockDim.x - 1) / blockDim.x; round-- > 0;) {
        const uint32_t g = round * blockDim.x + threadIdx.x;
        const group_rows rows(l, first + g * FLOAT_GROUP);
        const bool has_any = g < groups && (rows.first | rows.second) != 0;
        group<T> x = {};
        if (has_any)
            x = subtract_in_rows(rows, values, g);
        __syncthreads();
        if (has_any)
            store_group(values, g, x);
    }
    __syncthreads();
}

/* By a block: what is left of a cell's rows. Not inlined, so that it takes no registers from what
 * all layouts need. elements: the chunk's, with their marks; before: those before the cell whose
 * integers lie before the values. */
template <typename T>
__device__ __noinline__ void leave_rows(const float_layout &l, const uint8_t *elements, marks m,
                                        cell at, uint32_t before, T *values)
{
    const integers<T> q = {map_of<T>(l), {elements, l.big_endian}, m};
    const cell_rows<T> r(q, values - before, at.first - before, at.first + at.count, at.its.count,
                         l.strides[1]);

    if (at.count == 0)
        return;
#pragma unroll 1
    for (uint32_t step = 1; step < CYCLE; step *= 2)
        subtract_predictions(r, step);
    if (l.orders[1] > 0)
        subtract_fourth_rows(r, l.orders[1]);
    if ((l.orders[0] | l.details[0] | l.details[1]) != 0)
        subtract_all_in_rows(l, values, at.first, at.count);
}
} // namespace bale_float

#endif
