/* float on the device: what an extent's windows take with an exponent and orders (spec.md, What an
 * encoder chooses, 3 to 5 and 7). A warp has a window: two elements, 2 i and 2 i + 1, in each lane i. */
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

struct window_shared {
    uint32_t groups[FLOAT_PLANES][FLOAT_ORDERS][FLOAT_ORDERS]; /* bytes, by orders along z, y, x */
    uint32_t bits;                                             /* raw ones */
    uint32_t exponent;                                         /* the greatest */
    uint64_t probed[FLOAT_PROBED];
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
};

/* Two elements' values. */
template <typename T> struct pair {
    T at[2];
};

/* By a warp: the integers of the 64 elements from `first` on; *bits is the lane's share of the bits
 * that they have besides. */
template <typename T>
__device__ inline pair<T> map_row(const float_map &map, const uint8_t *chunk, uint32_t first,
                                  bool big_endian, uint32_t *bits)
{
    pair<T> q;
    bool is[2];

    *bits = 0;
    for (unsigned k = 0; k < 2; k++) {
        const uint32_t i = first + 2 * bale_warp::lane() + k;
        unsigned its;
        q.at[k] = 0;
        is[k] = map_element(map, load_element<T>(chunk + (size_t)i * sizeof(T), big_endian),
                            &q.at[k], &its);
        *bits += is[k] ? its : 8 * element<T>::EXCEPTION;
    }
    if (!map.is_decimal)
        return q;
    using S = typename wide<T>::type;
    const uint32_t before =
        __ballot_sync(bale_warp::ALL, is[0] || is[1]) & bale_warp::lower_lanes();
    const S last = is[1] ? q.at[1] : q.at[0];
    const S other = __shfl_sync(bale_warp::ALL, last, before != 0 ? 31 - __clz((int)before) : 0);
    if (!is[0])
        q.at[0] = before != 0 ? (T)other : (T)0;
    if (!is[1])
        q.at[1] = q.at[0];
    return q;
}

/* By a warp: what the seven groups behind the history take. */
template <typename T> __device__ inline uint32_t groups_of(const pair<T> &x)
{
    using S = typename wide<T>::type;
    S all = (S)(T)(zigzag(x.at[0]) | zigzag(x.at[1]));

    all |= __shfl_xor_sync(bale_warp::ALL, all, 1);
    all |= __shfl_xor_sync(bale_warp::ALL, all, 2);
    const bool counts = bale_warp::lane() % 4 == 0 && bale_warp::lane() >= FLOAT_HISTORY / 2;
    return __reduce_add_sync(bale_warp::ALL, counts ? bit_length(all) : 0);
}

/* By a warp: adds what a window takes after orders along x. */
template <typename T>
__device__ inline void try_along(pair<T> x, const float_range &range, uint32_t costs[FLOAT_ORDERS])
{
    using S = typename wide<T>::type;

    for (unsigned order = 0; order <= range.most[0]; order++) {
        if (order >= range.least[0]) {
            const uint32_t cost = groups_of(x);
            if (bale_warp::lane() == 0)
                atomicAdd(&costs[order], cost);
        }
        const T before = (T)__shfl_up_sync(bale_warp::ALL, (S)x.at[1], 1);
        x = {{bale_warp::lane() == 0 ? (T)0 : (T)(x.at[0] - before), (T)(x.at[1] - x.at[0])}};
    }
}

/* Number k of row n of Pascal's triangle, up to 3. */
__device__ inline uint32_t binomial(uint32_t n, uint32_t k)
{
    return k == 0 || k == n ? 1 : n;
}

/* By a warp: tries orders in a window. Rows and planes before it are looked at as far as the chunk
 * has them. */
template <typename T>
__device__ inline void try_window(window_shared *s, const extent &e, const float_layout &l,
                                  const float_map &map, uint32_t window, const attempt &its)
{
    using S = typename wide<T>::type;
    const float_range &range = its.range;
    const uint32_t row = its.row, plane = its.plane;
    const window_place at = window_at(e, l, window);
    const uint32_t rows = row == 0 ? 0 : min(at.first / row, (uint32_t)range.most[1]);
    const uint32_t left = at.first - rows * row;
    const uint32_t planes = plane == 0 ? 0 : min(left / plane, (uint32_t)range.most[2]);

    for (uint32_t z = range.least[2]; z <= range.most[2]; z++) {
        const uint32_t passes = min(z, planes);
        pair<T> rows_at[FLOAT_ORDERS];
#pragma unroll
        for (uint32_t y = 0; y < FLOAT_ORDERS; y++) {
            rows_at[y] = {};
            for (uint32_t k = 0; y <= rows && k <= passes; k++) {
                uint32_t bits;
                const pair<T> q =
                    map_row<T>(map, at.chunk, at.first - k * plane - y * row, l.big_endian, &bits);
                const S times = k % 2 != 0 ? (S)0 - (S)binomial(passes, k) : binomial(passes, k);
                rows_at[y].at[0] += (T)(times * q.at[0]);
                rows_at[y].at[1] += (T)(times * q.at[1]);
                if (z == range.least[2] && y == 0 && k == 0) {
                    bits = __reduce_add_sync(bale_warp::ALL, bits);
                    if (bale_warp::lane() == 0)
                        atomicAdd(&s->bits, bits);
                }
            }
        }
        for (uint32_t y = 0; y <= range.most[1]; y++) {
            if (y >= range.least[1])
                try_along(rows_at[0], range, s->groups[z][y]);
#pragma unroll
            for (uint32_t j = 0; j + 1 < FLOAT_ORDERS; j++)
                if (y + j < rows)
                    for (unsigned k = 0; k < 2; k++)
                        rows_at[j].at[k] = (T)(rows_at[j].at[k] - rows_at[j + 1].at[k]);
        }
    }
}

/* By a block: takes E, the orders, the row and the plane where they cost less than the choice. */
template <typename T>
__device__ inline void improve(window_shared *s, const extent &e, choice *c, const attempt &its,
                               warp_values *room)
{
    constexpr uint32_t COSTS = FLOAT_PLANES * FLOAT_ORDERS * FLOAT_ORDERS;
    static_assert(COSTS <= 128 && COSTS <= THREADS, "seven bits of a key, and a thread for each");
    const float_range &range = its.range;
    float_layout with = c->layout;

    with.exponent = (uint16_t)its.exponent;
    with.shift = (its.exponent & FLOAT_DECIMAL) != 0 ? 0 : with.shift;
    const float_map map = map_of<T>(with);
    if (threadIdx.x < COSTS)
        (&s->groups[0][0][0])[threadIdx.x] = 0;
    if (threadIdx.x == 0)
        s->bits = 0;
    __syncthreads();
    for (uint32_t window = threadIdx.x / 32; window < FLOAT_WINDOWS; window += warps())
        try_window<T>(s, e, with, map, window, its);
    __syncthreads();
    const uint32_t n = threadIdx.x, x = n % FLOAT_ORDERS, y = n / FLOAT_ORDERS % FLOAT_ORDERS,
                   z = n / FLOAT_ORDERS / FLOAT_ORDERS;
    const uint32_t bits = s->bits - s->bits / (FLOAT_BLOCK / FLOAT_HISTORY);
    const bool tried = n < COSTS && x >= range.least[0] && x <= range.most[0] &&
                       y >= range.least[1] && y <= range.most[1] && z >= range.least[2] &&
                       z <= range.most[2];
    const uint32_t key = least_of_all(
        tried ? (FLOAT_GROUP * (&s->groups[0][0][0])[n] + bits) << 7 | n : UINT32_MAX, room);
    if (key >> 7 >= c->least)
        return;
    c->least = key >> 7;
    c->layout.exponent = (uint16_t)its.exponent;
    c->layout.orders[0] = (uint8_t)((key & 127) % FLOAT_ORDERS);
    c->layout.orders[1] = (uint8_t)((key & 127) / FLOAT_ORDERS % FLOAT_ORDERS);
    c->layout.orders[2] = (uint8_t)((key & 127) / FLOAT_ORDERS / FLOAT_ORDERS);
    c->layout.strides[0] = c->layout.orders[0] > 0;
    c->layout.strides[1] = c->layout.orders[1] > 0 ? its.row : 0;
    c->layout.strides[2] = c->layout.orders[2] > 0 ? its.plane : 0;
}
} // namespace bale_float

#endif
