/* float on the device: decoding a chunk of several cells, a block for each tile of a cell. What a
 * tile needs of those before it blocks tell each other: along x the levels (sums.cuh) behind the
 * tile, between rows and planes those of each column, in the tile's cell, or, where these do not
 * fit there or have few rows, all of its integers; and bits. Where rows are interpolated the chunk's
 * integers lie in its cells, and the blocks share its rows and columns instead. */
#ifndef BALE_KERNELS_FLOAT_TILES_CUH
#define BALE_KERNELS_FLOAT_TILES_CUH

#include "kernels/codec/lists.h"
#include "kernels/codec/tickets.cuh"
#include "kernels/float/interpolate.cuh"

namespace bale_float
{
/* What a tile has told. */
enum {
    TILE_ALONG = 1,             /* its levels along x */
    TILE_ACROSS,                /* what the passes along y need of it; + 2: along z */
    TILE_TAKEN,                 /* that it has read that of the tiles before; + 2: of z */
    TILE_BITS = TILE_TAKEN + 3, /* its raw bits */

    /* Where rows are interpolated, before its bits: */
    TILE_LEFT = 1, /* what is left of its integers, in its cell */
    TILE_ROWS,     /* its share of the chunk's rows, summed up */
    TILE_COLUMNS,  /* its share of the columns */
    TILE_BACK,     /* that it has read its integers */
};
static_assert(TILE_BACK < TILE_BITS, "stages follow each other");

/* In each cell's working memory; zeros at first. */
struct tile_work {
    uint32_t next; /* of the first cell: the next block's turn */
    uint32_t stage, bits;
    uint64_t along[ORDER_MAX];
};
static_assert(sizeof(tile_work) <= BALE_CUDA_WORK, "in each cell's working memory");
static_assert(FLOAT_CHUNK / BALE_CUDA_CELL <= bale_tickets::TOGETHER, "a chunk's tiles");

/* A tile, and those of its chunk. */
struct tile {
    tile_work *work; /* of its chunk's first cell */
    uint32_t own, tiles;
    uint32_t first, count, elements; /* elements: of a whole tile */

    __device__ tile_work *at(uint32_t k) const
    {
        return (tile_work *)((uint8_t *)work + (size_t)k * BALE_CUDA_WORK);
    }

    __device__ void tell(uint32_t stage) const
    {
        bale_tickets::publish(&at(own)->stage, stage);
    }

    /* By a block: waits until the tiles [from, to) have told. */
    __device__ void await(uint32_t from, uint32_t to, uint32_t stage) const
    {
        if (from + threadIdx.x < to)
            bale_tickets::await(&at(from + threadIdx.x)->stage, stage);
        __syncthreads();
    }
};

/* ---- Along x ---- */

/* By a block: tells the levels behind the tile, which are in the room, and adds what those
 * before it make. */
template <typename T>
__device__ inline void add_tiles_along(const tile &t, T *values, uint32_t order,
                                       const uint64_t behind_all[ORDER_MAX])
{
    using S = typename wide<T>::type;
    levels<S> carry = {};

    if (threadIdx.x < order)
        t.at(t.own)->along[threadIdx.x] = behind_all[threadIdx.x];
    t.tell(TILE_ALONG);
    t.await(0, t.own, TILE_ALONG);
    if (order == 0 || t.own == 0)
        return;
    for (uint32_t k = 0; k < t.own; k++) {
        levels<S> its = {};
#pragma unroll
        for (uint32_t p = 0; p < ORDER_MAX; p++)
            if (p < order)
                its.at[p] = (S)__ldcg(&t.at(k)->along[p]);
        carry = added(behind(carry, weights<S>(t.elements), order), its);
    }
    for (uint32_t g = threadIdx.x; g * FLOAT_GROUP < t.count; g += THREADS) {
        group<T> x = load_group(values, g);
        add_levels(&x, behind(carry, weights<S>(FLOAT_GROUP * g), order), order);
        store_group(values, g, x);
    }
    __syncthreads();
}

/* ---- Across rows and planes ---- */

/* An axis whose passes are undone, of rows or planes, and the stage at which a tile tells what they
 * need of it. */
struct tile_axis {
    uint32_t stride, order, stage;
};

/* Columns of a tile, and how threads share them: pieces of whole rows. */
struct tile_columns {
    uint32_t stride, order;
    uint32_t at_once, pieces, each; /* each: rows of a piece */

    __device__ tile_columns(uint32_t row, uint32_t passes, uint32_t count)
        : stride(row), order(passes), at_once(min(row, THREADS)),
          pieces(min(THREADS / at_once, PIECES_MAX)),
          each(max(((count + row - 1) / row + pieces - 1) / pieces, ORDER_MAX))
    {
    }

    /* Rows of a column in so many elements. */
    __device__ uint32_t rows(uint32_t count, uint32_t column) const
    {
        return column < count ? (count - column + stride - 1) / stride : 0;
    }
};

/* By a thread: the levels of a column before the tile. */
template <typename T>
__device__ inline levels<typename wide<T>::type>
levels_of_column(const tile &t, const tile_columns &c, uint32_t column, const uint8_t *raw)
{
    using S = typename wide<T>::type;
    levels<S> sum = {};

    for (uint32_t k = 0; k < t.own; k++) {
        const uint32_t its = (column + (t.own - k) * t.elements) % c.stride;
        const T *from = (const T *)(raw + (size_t)k * BALE_CUDA_CELL);
        levels<S> own = {};
#pragma unroll
        for (uint32_t p = 0; p < ORDER_MAX; p++)
            if (p < c.order)
                own.at[p] = __ldcg(from + p * c.stride + its);
        sum = added(behind(sum, weights<S>(c.rows(t.elements, its)), c.order), own);
    }
    return sum;
}

/* By a thread: the levels of a column's pieces before piece `end`, behind those before the tile. */
template <typename T>
__device__ inline levels<typename wide<T>::type>
behind_pieces(levels<typename wide<T>::type> sum, const tile_columns &c, const sum_room *room,
              uint32_t own, uint32_t rows, uint32_t end)
{
    using S = typename wide<T>::type;

    for (uint32_t k = 0; k < end && k * c.each < rows; k++) {
        levels<S> its;
#pragma unroll
        for (uint32_t p = 0; p < ORDER_MAX; p++)
            its.at[p] = (S)room->of[p][k * c.at_once + own];
        sum = added(behind(sum, weights<S>(min(rows - k * c.each, c.each)), c.order), its);
    }
    return sum;
}

/* By a block: the levels that the tile's own values make of each column go to its cell, and
 * those of the pieces to the room. */
template <typename T>
__device__ inline void tell_columns(const tile &t, const tile_columns &c, T *values, uint8_t *raw,
                                    sum_room *room)
{
    using S = typename wide<T>::type;
    const uint32_t own = threadIdx.x % c.at_once, piece = threadIdx.x / c.at_once;
    const bool is_told = t.own + 1 < t.tiles;
    T *to = (T *)(raw + (size_t)t.own * BALE_CUDA_CELL);

    for (uint32_t first = 0; first < c.stride && (is_told || c.pieces > 1); first += c.at_once) {
        const uint32_t column = first + own;
        const uint32_t rows = column < c.stride ? c.rows(t.count, column) : 0;
        const uint32_t from = min(piece * c.each, rows);
        const uint32_t end = piece < c.pieces ? min(from + c.each, rows) : from;
        T last[ORDER_MAX] = {};
        add_column(values + column, t.count - min(t.count, column), c.stride, from, end, c.order,
                   t.own == 0 && piece == 0 ? 0 : ORDER_MAX, last, false);
#pragma unroll
        for (uint32_t p = 0; p < ORDER_MAX; p++)
            room->of[p][threadIdx.x] = last[p];
        __syncthreads();
        if (is_told && piece == 0 && column < c.stride) {
            const levels<S> all = behind_pieces<T>({}, c, room, own, rows, c.pieces);
#pragma unroll
            for (uint32_t p = 0; p < ORDER_MAX; p++)
                if (p < c.order)
                    to[p * c.stride + column] = (T)all.at[p];
        }
        if (c.stride > c.at_once)
            __syncthreads();
    }
}

/* By a block: undoes the passes of an axis whose columns' levels fit into a cell, and have more than
 * a few rows in a tile: else a thread has many columns, one after the other. */
template <typename T>
__device__ inline void add_tile_columns(const tile &t, const tile_axis &axis, T *values,
                                        uint8_t *raw, sum_room *room)
{
    const tile_columns c(axis.stride, axis.order, t.count);
    const uint32_t own = threadIdx.x % c.at_once, piece = threadIdx.x / c.at_once;

    tell_columns(t, c, values, raw, room);
    t.tell(axis.stage);
    t.await(0, t.own, axis.stage);
    for (uint32_t first = 0; first < c.stride; first += c.at_once) {
        const uint32_t column = first + own;
        const uint32_t rows = column < c.stride ? c.rows(t.count, column) : 0;
        const uint32_t from = min(piece * c.each, rows);
        const uint32_t end = piece < c.pieces ? min(from + c.each, rows) : from;
        T before[ORDER_MAX] = {};
        if (from < end) {
            const auto its =
                behind_pieces<T>(levels_of_column<T>(t, c, column, raw), c, room, own, rows, piece);
#pragma unroll
            for (uint32_t p = 0; p < ORDER_MAX; p++)
                before[p] = (T)its.at[p];
        }
        add_column(values + column, t.count - min(t.count, column), c.stride, from, end, c.order,
                   t.own == 0 && piece == 0 ? 0 : ORDER_MAX, before, true);
    }
}

/* By a thread: what the passes of an axis make of column `column` of a chunk's values before `end`.
 * Returns how many there are. */
template <typename T>
__device__ inline uint32_t sum_up_column(const tile_axis &axis, const T *values, uint32_t column,
                                         uint32_t end, T before[ORDER_MAX])
{
    constexpr uint32_t LOADED = 4;
    uint32_t row = 0;

    for (uint32_t i = column; i < end; i += LOADED * axis.stride) {
        T x[LOADED];
#pragma unroll
        for (uint32_t k = 0; k < LOADED; k++)
            x[k] = i + k * axis.stride < end ? __ldcg(values + i + k * axis.stride) : (T)0;
#pragma unroll
        for (uint32_t k = 0; k < LOADED; k++)
            if (i + k * axis.stride < end)
                (void)next_sum(x[k], before, axis.order, row++);
    }
    return row;
}

/* By a block: undoes the passes of an axis with few rows in a tile. */
template <typename T>
__device__ inline void add_tile_rows(const tile &t, const tile_axis &axis, T *values, uint8_t *raw)
{
    const uint32_t stride = axis.stride;

    if (t.own + 1 < t.tiles)
        copy_out(raw + (size_t)t.own * BALE_CUDA_CELL, (const uint8_t *)values, BALE_CUDA_CELL);
    t.tell(axis.stage);
    t.await(0, t.own, axis.stage);
    for (uint32_t column = threadIdx.x; column < min(stride, t.count); column += THREADS) {
        const uint32_t left = t.count - column, rows = (left + stride - 1) / stride;
        T before[ORDER_MAX] = {};
        const uint32_t row =
            sum_up_column(axis, (const T *)raw, (t.first + column) % stride, t.first, before);
        add_column(values + column, left, stride, 0, rows, axis.order, row, before, true);
    }
}

constexpr uint32_t TILE_ROWS_LEAST = 4;

/* By a block: undoes the passes between rows, and between planes. Returns the stage from which on
 * the tiles behind it do not need its cell any more. */
template <typename T>
__device__ inline uint32_t add_tile_across(const tile &t, const float_layout &l, uint32_t count,
                                           T *values, uint8_t *raw, sum_room *room)
{
    uint32_t taken = 0;

#pragma unroll 1
    for (uint32_t k = 0; k < FLOAT_AXES - 1; k++) {
        const tile_axis axis = {k == 0 ? l.strides[1] : l.strides[2],
                                k == 0 ? l.orders[1] : l.orders[2], TILE_ACROSS + 2 * k};
        if (axis.order == 0 || axis.stride >= count)
            continue;
        t.await(t.own + 1, t.tiles, taken);
        if (max(axis.order, TILE_ROWS_LEAST) * axis.stride <= t.elements)
            add_tile_columns(t, axis, values, raw, room);
        else
            add_tile_rows(t, axis, values, raw);
        taken = TILE_TAKEN + 2 * k;
        t.tell(taken);
    }
    return taken;
}

/* ---- Interpolated rows ---- */

/* By a block: undoes the interpolation. Returns the stage as add_tile_across does. It is called, as
 * undo_interpolation is. */
template <typename T>
__device__ __noinline__ uint32_t interpolate_tile(tile t, rows_of_chunk its, T *values,
                                                  uint8_t *raw)
{
    const share_of_chunk share = {t.own, t.tiles};
    uint8_t *cell = raw + (size_t)t.own * BALE_CUDA_CELL;

    copy_out(cell, (const uint8_t *)values, t.count * sizeof(T));
    t.tell(TILE_LEFT);
    t.await(0, t.tiles, TILE_LEFT);
    sum_rows<T, false>(its, (T *)raw, share);
    t.tell(TILE_ROWS);
    t.await(0, t.tiles, TILE_ROWS);
    undo_columns<T, false>(its, (T *)raw, share);
    t.tell(TILE_COLUMNS);
    t.await(0, t.tiles, TILE_COLUMNS);
    for (uint32_t i = threadIdx.x; i * vector<T>::VALUES < t.count; i += THREADS)
        ((uint4 *)values)[i] = __ldcg((const uint4 *)cell + i);
    t.tell(TILE_BACK);
    return TILE_BACK;
}
} // namespace bale_float

#endif
