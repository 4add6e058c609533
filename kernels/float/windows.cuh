/* float on the device: what an extent's windows take with an exponent and orders (spec.md, What an
 * encoder chooses, 3 to 5 and 7). */
#ifndef BALE_KERNELS_FLOAT_WINDOWS_CUH
#define BALE_KERNELS_FLOAT_WINDOWS_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/planes.cuh"
#include "kernels/float/predict.cuh"

namespace bale_float
{
/* An extent whose layout is chosen. Its chunks lie one behind the other. */
struct extent {
    const uint8_t *raw;
    uint32_t length;
    uint32_t used;  /* the bytes that windows lie in */
    uint32_t chunk; /* bytes */
};

/* What an attempt costs. */
struct attempt_costs {
    /* Bytes, by orders along y and x, or by kinds of rows (tries.h) and orders along x; for each
     * pair of windows WAS_TRIED is added, so that orders that were not tried have 0. */
    uint32_t groups[FLOAT_ORDERS][FLOAT_ORDERS];
    uint32_t bits; /* raw ones */
};
constexpr uint32_t WAS_TRIED = 1u << 24;
static_assert(FLOAT_WINDOWS * FLOAT_BLOCK * sizeof(uint64_t) < WAS_TRIED &&
                  FLOAT_WINDOWS < UINT32_MAX / WAS_TRIED,
              "both fit");

/* What is known so far; the same in all threads. */
struct choice {
    float_layout layout;
    uint32_t least; /* what its windows take */
};

/* The first element, and where it is from the chunk's elements on; how many these are. */
struct window_place {
    const uint8_t *chunk;
    uint32_t first, count;
};

__device__ inline window_place window_at(const extent &e, const float_layout &l, uint32_t window)
{
    const uint32_t from = (uint32_t)((uint64_t)(e.used - 1) * window / (FLOAT_WINDOWS - 1));
    const uint32_t chunk = from / e.chunk * e.chunk;
    const uint32_t count = extents_of(l, min(e.length - chunk, e.chunk)).count;

    return {e.raw + chunk + l.lead, min((from - chunk) >> l.size_log2, count - FLOAT_BLOCK), count};
}

/* What is tried: an exponent, strides, and orders; one along z. */
struct attempt {
    uint32_t exponent, row, plane;
    float_range range; /* of fourth rows, if rows are interpolated */
    bool interpolated;
    float_range levels; /* then: orders along x, not by axes but by levels */
};

/* A warp has two windows, and a lane four elements of one. */
constexpr uint32_t LANE_ELEMENTS = 4, WINDOW_LANES = FLOAT_BLOCK / LANE_ELEMENTS;
constexpr uint32_t WINDOW_PAIRS = FLOAT_WINDOWS * WINDOW_LANES / 32;

template <typename T> struct lane_values {
    T at[LANE_ELEMENTS];
};

__device__ inline uint32_t lane_of_window()
{
    return bale_warp::lane() % WINDOW_LANES;
}

/* By a warp: exceptions become the integer before them in their window, or 0. */
template <typename T>
__device__ inline void fill_exceptions(lane_values<T> *q, const bool is[LANE_ELEMENTS])
{
    using S = typename wide<T>::type;
    const uint32_t first = bale_warp::lane() - lane_of_window();
    T last = 0;
    bool any = false;

    for (uint32_t k = 0; k < LANE_ELEMENTS; k++)
        if (is[k])
            last = q->at[k], any = true;
    const uint32_t before =
        __ballot_sync(bale_warp::ALL, any) & bale_warp::lower_lanes() & ~((1u << first) - 1);
    const S other = __shfl_sync(bale_warp::ALL, (S)last, before != 0 ? 31 - __clz((int)before) : 0);
    last = before != 0 ? (T)other : (T)0;
    for (uint32_t k = 0; k < LANE_ELEMENTS; k++) {
        last = is[k] ? q->at[k] : last;
        q->at[k] = last;
    }
}

/* By a thread: a lane's patterns from `first` on. */
template <typename T> __device__ inline lane_values<T> load_lane(const uint8_t *first)
{
    const bool is_aligned = (uintptr_t)first % sizeof(T) == 0;
    lane_values<T> x;

#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS; k++)
        x.at[k] =
            is_aligned ? ((const T *)first)[k] : load_element<T>(first + k * sizeof(T), false);
    return x;
}

/* By a warp: the integers of a lane's patterns, zeros where there are none; *bits is its share of
 * the bits that they have besides. */
template <typename T>
__device__ inline lane_values<T> map_lane(const float_map &map, lane_values<T> q, bool big_endian,
                                          bool is_there, uint32_t *bits)
{
    bool is[LANE_ELEMENTS] = {};

    *bits = 0;
#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS && is_there; k++) {
        unsigned its;
        is[k] = map_element(map, big_endian ? swapped(q.at[k]) : q.at[k], &q.at[k], &its);
        *bits += is[k] ? its : 8 * element<T>::EXCEPTION;
    }
    if (map.is_decimal)
        fill_exceptions(&q, is);
    return q;
}

/* By a warp: what the seven groups behind the history take, of both windows. */
template <typename T> __device__ inline uint32_t groups_of(const lane_values<T> &x)
{
    using S = typename wide<T>::type;
    S all = 0;

#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS; k++)
        all |= zigzag(x.at[k]);
    all |= __shfl_xor_sync(bale_warp::ALL, all, 1);
    const uint32_t length = sizeof(T) == 8 ? bit_length(all) : 32 - (uint32_t)__clz((int)all);
    const bool counts =
        bale_warp::lane() % 2 == 0 && lane_of_window() >= FLOAT_HISTORY / LANE_ELEMENTS;
    /* A group of a block whose longest number is much longer takes more than its own ones need. */
    uint32_t most = counts ? length : 0;
#pragma unroll
    for (uint32_t by = 2; by < WINDOW_LANES; by *= 2) /* every other lane counts */
        most = max(most, __shfl_xor_sync(bale_warp::ALL, most, by));
    const uint32_t least = most - min(most, (uint32_t)FLOAT_DELTA_MOST);
    return __reduce_add_sync(bale_warp::ALL, counts ? max(length, least) : 0);
}

/* By a warp: tries orders along x. The cost of order x is added in lane `first` + x. */
template <typename T>
__device__ inline void try_along(lane_values<T> x, const float_range &range, uint32_t first,
                                 uint32_t *cost)
{
    using S = typename wide<T>::type;

#pragma unroll 1
    for (uint32_t order = 0; order <= range.most[0]; order++) {
        if (order >= range.least[0]) {
            const uint32_t its = groups_of(x) + WAS_TRIED;
            *cost += bale_warp::lane() == first + order ? its : 0;
        }
        const T before = (T)__shfl_up_sync(bale_warp::ALL, (S)x.at[LANE_ELEMENTS - 1], 1);
#pragma unroll
        for (uint32_t k = LANE_ELEMENTS - 1; k > 0; k--)
            x.at[k] = (T)(x.at[k] - x.at[k - 1]);
        x.at[0] = lane_of_window() == 0 ? (T)0 : (T)(x.at[0] - before);
    }
}

/* Number k of row n of Pascal's triangle, up to 3. */
__device__ inline uint32_t binomial(uint32_t n, uint32_t k)
{
    return k == 0 || k == n ? 1 : n;
}

/* A lane's elements of a window, and those of rows and planes before it, as far as the chunk has
 * them. */
struct lane_rows {
    const uint8_t *own;
    uint32_t row, plane;   /* elements */
    uint32_t rows, planes; /* that are there */

    __device__ bool has(uint32_t y, uint32_t z) const
    {
        return y <= rows && z <= planes;
    }

    template <typename T> __device__ lane_values<T> load(uint32_t y, uint32_t z) const
    {
        return has(y, z) ? load_lane<T>(own - (size_t)(z * plane + y * row) * sizeof(T))
                         : lane_values<T>{};
    }
};

template <typename T>
__device__ inline lane_rows rows_of(const extent &e, const float_layout &l, uint32_t windows,
                                    const attempt &its)
{
    const window_place at = window_at(e, l, 2 * windows + bale_warp::lane() / WINDOW_LANES);
    const float_range &range = its.range;
    const uint32_t rows = its.row == 0 ? 0 : min(at.first / its.row, (uint32_t)range.most[1]);
    const uint32_t left = at.first - rows * its.row;
    const uint32_t planes = its.plane == 0 ? 0 : min(left / its.plane, (uint32_t)range.most[2]);

    return {at.chunk + (size_t)(at.first + LANE_ELEMENTS * lane_of_window()) * sizeof(T), its.row,
            its.plane, rows, planes};
}

/* By a warp: tries orders of an attempt in two windows. is_first: of its parts, whose raw bits
 * count once. */
template <typename T>
__device__ inline void try_windows(attempt_costs *costs, const extent &e, const float_layout &l,
                                   const float_map &map, uint32_t windows, const attempt &its,
                                   const float_range &range, bool is_first)
{
    using S = typename wide<T>::type;
    static_assert(FLOAT_ORDERS * FLOAT_ORDERS <= 32, "a lane for each pair of orders");
    const uint32_t lane = bale_warp::lane(), z = range.most[2];
    const lane_rows from = rows_of<T>(e, l, windows, its);
    lane_values<T> rows_at[FLOAT_ORDERS] = {}, next = from.load<T>(range.most[1], 0);
    uint32_t cost = 0;

    /* Not unrolled: where few frames are tried, much of the time goes to loading instructions. The
     * next patterns come while integers are made of these. */
#pragma unroll 1
    for (uint32_t y = range.most[1] + 1u; y-- > 0;) {
        lane_values<T> sum = {};
#pragma unroll 1
        for (uint32_t k = 0; k <= z; k++) {
            uint32_t bits;
            const bool is_there = from.has(y, k), is_end = k == z;
            const lane_values<T> patterns = next;
            if (!is_end || y > 0)
                next = from.load<T>(y - is_end, is_end ? 0 : k + 1);
            const lane_values<T> q = map_lane<T>(map, patterns, l.big_endian, is_there, &bits);
            const S times =
                k % 2 != 0 ? (S)0 - (S)binomial(from.planes, k) : binomial(from.planes, k);
#pragma unroll
            for (uint32_t n = 0; n < LANE_ELEMENTS; n++)
                sum.at[n] = (T)(sum.at[n] + (is_there ? (T)(times * q.at[n]) : (T)0));
            if (y == 0 && k == 0 && is_first) {
                bits = __reduce_add_sync(bale_warp::ALL, bits);
                if (lane == 0 && bits > 0)
                    atomicAdd(&costs->bits, bits);
            }
        }
#pragma unroll
        for (uint32_t j = FLOAT_ORDERS - 1; j > 0; j--)
            rows_at[j] = rows_at[j - 1];
        rows_at[0] = sum;
    }
#pragma unroll 1
    for (uint32_t y = 0; y <= range.most[1]; y++) {
        if (y >= range.least[1])
            try_along(rows_at[0], range, y * FLOAT_ORDERS, &cost);
#pragma unroll
        for (uint32_t j = 0; j + 1 < FLOAT_ORDERS; j++)
#pragma unroll
            for (uint32_t n = 0; n < LANE_ELEMENTS; n++)
                if (y + j < from.rows)
                    rows_at[j].at[n] = (T)(rows_at[j].at[n] - rows_at[j + 1].at[n]);
    }
    if (cost > 0)
        atomicAdd(&costs->groups[0][0] + lane, cost);
}

/* ---- Interpolated rows ---- */

/* A lane's elements of a window, which has ten rows or more on either side, and its map. */
template <typename T> struct lane_around {
    const uint8_t *own;
    uint32_t row;
    float_map map;
    bool big_endian;

    /* Patterns of the elements so many rows behind them. */
    __device__ lane_values<T> load(int rows) const
    {
        return load_lane<T>(own + (ptrdiff_t)rows * (int)(row * sizeof(T)));
    }

    /* By a warp: integers of patterns. */
    __device__ lane_values<T> mapped(const lane_values<T> &patterns, uint32_t *bits) const
    {
        return map_lane<T>(map, patterns, big_endian, true, bits);
    }
};

/* By a warp: what integers are less those of other fourth rows. */
template <typename T>
__device__ inline lane_values<T> left_of_fourth(const lane_around<T> &from, lane_values<T> q,
                                                uint32_t order)
{
    using S = typename wide<T>::type;

#pragma unroll 1
    for (uint32_t k = 1; k <= order; k++) {
        uint32_t unused;
        const lane_values<T> other = from.mapped(from.load(-(int)(k << FLOAT_LEVELS)), &unused);
        const S times = k % 2 != 0 ? (S)0 - (S)binomial(order, k) : (S)binomial(order, k);
#pragma unroll
        for (uint32_t n = 0; n < LANE_ELEMENTS; n++)
            q.at[n] = (T)(q.at[n] + times * other.at[n]);
    }
    return q;
}

/* By a warp: what integers are less the predictions from rows at odd multiples of the step. */
template <typename T>
__device__ inline lane_values<T> left_of_level(const lane_around<T> &from, lane_values<T> q,
                                               int step)
{
    lane_values<T> rows[2 * SIDE];

#pragma unroll
    for (uint32_t j = 0; j < 2 * SIDE; j++)
        rows[j] = from.load((2 * (int)j + 1 - 2 * (int)SIDE) * step);
        /* Not unrolled, as above: each takes its turn as the first, and comes back as the last. */
#pragma unroll 1
    for (uint32_t k = 0; k < 2 * SIDE; k++) {
        const lane_values<T> patterns = rows[0];
        uint32_t unused;
#pragma unroll
        for (uint32_t j = 0; j + 1 < 2 * SIDE; j++)
            rows[j] = rows[j + 1];
        rows[2 * SIDE - 1] = from.mapped(patterns, &unused);
    }
#pragma unroll
    for (uint32_t n = 0; n < LANE_ELEMENTS; n++) {
        T around[2 * SIDE];
#pragma unroll
        for (uint32_t j = 0; j < 2 * SIDE; j++)
            around[j] = rows[j].at[n];
        q.at[n] = (T)(q.at[n] - predicted(around, {SIDE, SIDE}));
    }
    return q;
}

/* By a warp: tries interpolated rows in two windows, kinds of them (tries.h) from `first` to
 * `last`. */
template <typename T>
__device__ inline void
try_interpolated(attempt_costs *costs, const extent &e, const float_layout &l, const float_map &map,
                 uint32_t windows, const attempt &its, uint32_t first, uint32_t last)
{
    const uint32_t lane = bale_warp::lane(), most = FLOAT_AROUND * its.row;
    const window_place at = window_at(e, l, 2 * windows + lane / WINDOW_LANES);
    const uint32_t begin = min(max(at.first, most), at.count - FLOAT_BLOCK - most);
    const lane_around<T> from = {at.chunk +
                                     (size_t)(begin + LANE_ELEMENTS * lane_of_window()) * sizeof(T),
                                 its.row, map, l.big_endian};
    uint32_t bits, cost = 0;
    const lane_values<T> q = from.mapped(from.load(0), &bits);

    bits = __reduce_add_sync(bale_warp::ALL, bits);
    if (lane == 0 && bits > 0 && first == 0)
        atomicAdd(&costs->bits, bits);
#pragma unroll 1
    for (uint32_t kind = first; kind <= last; kind++) {
        const bool is_fourth = kind < FLOAT_COSTS_FOURTH;
        float_range range = its.range;
        if (is_fourth && (kind < range.least[1] || kind > range.most[1]))
            continue;
        if (!is_fourth) {
            range.least[0] = its.levels.least[kind - FLOAT_COSTS_FOURTH];
            range.most[0] = its.levels.most[kind - FLOAT_COSTS_FOURTH];
        }
        try_along(is_fourth ? left_of_fourth(from, q, kind)
                            : left_of_level(from, q, 1 << (kind - FLOAT_COSTS_FOURTH)),
                  range, kind * FLOAT_ORDERS, &cost);
    }
    if (cost > 0)
        atomicAdd(&costs->groups[0][0] + lane, cost);
}
} // namespace bale_float

#endif
