/* float on the device: what an extent's windows take with an exponent and orders (spec.md, What an
 * encoder chooses, 3 to 5 and 7). */
#ifndef BALE_KERNELS_FLOAT_WINDOWS_CUH
#define BALE_KERNELS_FLOAT_WINDOWS_CUH

#include "kernels/float/block.cuh"
#include "kernels/float/planes.cuh"

namespace bale_float
{
/* An extent whose layout is chosen. Its chunks lie one behind the other. */
struct extent {
    const uint8_t *raw;
    uint32_t length;
    uint32_t used;  /* the bytes that windows lie in */
    uint32_t chunk; /* bytes */
};

/* Attempts that do not depend on each other, at most. */
constexpr uint32_t ATTEMPTS_MAX = FLOAT_EXPONENTS;

/* Of an attempt. */
struct attempt_costs {
    uint32_t groups[FLOAT_PLANES][FLOAT_ORDERS][FLOAT_ORDERS]; /* bytes, by orders along z, y, x */
    uint32_t bits;                                             /* raw ones */
};

/* What is known so far; the same in all threads. */
struct choice {
    float_layout layout;
    uint32_t least; /* what its windows take */
};

/* The first element, and where it is from the chunk's elements on. */
struct window_place {
    const uint8_t *chunk;
    uint32_t first;
};

__device__ inline window_place window_at(const extent &e, const float_layout &l, uint32_t window)
{
    const uint32_t from = (uint32_t)((uint64_t)(e.used - 1) * window / (FLOAT_WINDOWS - 1));
    const uint32_t chunk = from / e.chunk * e.chunk;
    const uint32_t count = extents_of(l, min(e.length - chunk, e.chunk)).count;

    return {e.raw + chunk + l.lead, min((from - chunk) >> l.size_log2, count - FLOAT_BLOCK)};
}

/* What is tried: an exponent, strides, and orders. */
struct attempt {
    uint32_t exponent, row, plane;
    float_range range;

    /* The part of it with order y along rows. False: it has none. */
    __device__ bool take_part(uint32_t y)
    {
        const bool has = y >= range.least[1] && y <= range.most[1];

        range.least[1] = range.most[1] = (uint8_t)y;
        return has;
    }
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

/* By a warp: a lane's integers of patterns from `first` on, where it has some; *bits is its share
 * of the bits that they have besides. */
template <typename T>
__device__ inline lane_values<T> map_lane(const float_map &map, const uint8_t *first,
                                          bool big_endian, bool is_there, uint32_t *bits)
{
    const bool is_aligned = (uintptr_t)first % sizeof(T) == 0;
    lane_values<T> q = {};
    bool is[LANE_ELEMENTS] = {};

    *bits = 0;
#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS && is_there; k++)
        q.at[k] =
            is_aligned ? ((const T *)first)[k] : load_element<T>(first + k * sizeof(T), false);
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
    return __reduce_add_sync(bale_warp::ALL, counts ? length : 0);
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
            const uint32_t its = groups_of(x);
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

/* By a warp: tries orders in two windows, one of them along z. Rows and planes before them are looked
 * at as far as the chunk has them. is_first: of an attempt's parts, whose raw bits count once. */
template <typename T>
__device__ inline void try_windows(attempt_costs *costs, const extent &e, const float_layout &l,
                                   const float_map &map, uint32_t windows, const attempt &its,
                                   bool is_first)
{
    using S = typename wide<T>::type;
    static_assert(FLOAT_ORDERS * FLOAT_ORDERS <= 32, "a lane for each pair of orders");
    const float_range &range = its.range;
    const uint32_t row = its.row, plane = its.plane, lane = bale_warp::lane();
    const window_place at = window_at(e, l, 2 * windows + lane / WINDOW_LANES);
    const uint32_t rows = row == 0 ? 0 : min(at.first / row, (uint32_t)range.most[1]);
    const uint32_t left = at.first - rows * row;
    const uint32_t planes = plane == 0 ? 0 : min(left / plane, (uint32_t)range.most[2]);
    const uint8_t *own =
        at.chunk + (size_t)(at.first + LANE_ELEMENTS * lane_of_window()) * sizeof(T);

    const uint32_t z = range.most[2], passes = min(z, planes);
    lane_values<T> rows_at[FLOAT_ORDERS] = {};
    uint32_t cost = 0;

    /* Not unrolled: where few frames are tried, much of the time goes to loading instructions. */
#pragma unroll 1
    for (uint32_t y = range.most[1] + 1u; y-- > 0;) {
        lane_values<T> sum = {};
#pragma unroll 1
        for (uint32_t k = 0; k <= z; k++) {
            uint32_t bits;
            const bool is_there = y <= rows && k <= passes;
            const lane_values<T> q =
                map_lane<T>(map, own - (size_t)(is_there ? k * plane + y * row : 0) * sizeof(T),
                            l.big_endian, is_there, &bits);
            const S times = k % 2 != 0 ? (S)0 - (S)binomial(passes, k) : binomial(passes, k);
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
                if (y + j < rows)
                    rows_at[j].at[n] = (T)(rows_at[j].at[n] - rows_at[j + 1].at[n]);
    }
    if (cost > 0)
        atomicAdd(&costs->groups[z][0][0] + lane, cost);
}
} // namespace bale_float

#endif
