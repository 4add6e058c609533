/* float on the device: the cells of chunks that are encoded, and the integers of their elements. A
 * cell needs integers of elements before it, too, from which differences are: its halo. */
#ifndef BALE_KERNELS_FLOAT_CELLS_CUH
#define BALE_KERNELS_FLOAT_CELLS_CUH

#include "kernels/float/differences.cuh"
#include "kernels/float/integers.cuh"

namespace bale_float
{
/* Of a halo, at most: two blocks share a multiprocessor. */
constexpr uint32_t HALO_BYTES = 24 << 10;
constexpr uint32_t HALO_LEAST = FLOAT_GROUP * sizeof(uint64_t) / sizeof(uint4); /* vectors */
constexpr uint32_t MARKS_MAX = FLOAT_CHUNK / sizeof(uint32_t) / 32;

/* Which elements of a chunk are decimals, and the number of the last one before each word, and 1;
 * 0 if there is none. In shared memory. */
struct marks {
    uint32_t *word, *before;
};

/* The integers of a chunk's elements, by their patterns. */
template <typename T> struct integers {
    float_map map;
    pattern_source from;
    marks m;

    __device__ T at(uint32_t i, unsigned *raw_bits) const
    {
        T q = 0;

        if (map.is_decimal && (m.word[i / 32] >> i % 32 & 1) == 0) {
            const uint32_t lower = m.word[i / 32] & ((1u << i % 32) - 1);
            const uint32_t last =
                lower != 0 ? i / 32 * 32 + 32 - (uint32_t)__clz((int)lower) : m.before[i / 32];
            *raw_bits = 0;
            if (last == 0)
                return 0;
            i = last - 1;
        }
        (void)map_element(map, from.load<T>(i), &q, raw_bits);
        return q;
    }
};

/* The elements of a cell, and those of its chunk. */
struct cell {
    extents its;
    uint32_t first, count;
};

template <typename T>
__device__ inline cell cell_of(const float_layout &l, const cuda_chunk &chunk, uint32_t c)
{
    const uint32_t most = BALE_CUDA_CELL / sizeof(T);
    const extents its = extents_of(l, chunk.whole);
    const uint32_t first = min((c - chunk.first) * most, its.count);

    return {its, first, min(its.count - first, most)};
}

/* The patterns of its own elements. */
template <typename T>
__device__ inline pattern_source own_patterns(const integers<T> &q, const cell &at)
{
    return {q.from.at + (size_t)at.first * sizeof(T), q.from.big_endian};
}

/* By a block: marks of all of the chunk's elements. */
template <typename T>
__device__ inline void mark_decimals(const float_map &map, const pattern_source &from,
                                     uint32_t count, const marks &m, warp_values *room)
{
    const uint32_t words = (count + 31) / 32;
    uint32_t most = 0;

    for (uint32_t w = threadIdx.x / 32; w < words; w += warps()) {
        const uint32_t i = 32 * w + bale_warp::lane();
        T unused = 0;
        const bool is = i < count && decimal_of(map, from.load<T>(i), &unused);
        const uint32_t word = __ballot_sync(bale_warp::ALL, is);
        if (bale_warp::lane() == 0)
            m.word[w] = word;
    }
    __syncthreads();
    for (uint32_t first = 0; first < words; first += blockDim.x) {
        const uint32_t w = first + threadIdx.x, word = w < words ? m.word[w] : 0;
        const uint32_t last = word != 0 ? 32 * w + 32 - (uint32_t)__clz((int)word) : 0;
        const uint32_t before = max(most, most_before(last, room));
        if (w < words)
            m.before[w] = before;
        most = max(most, ~least_of_all(~last, room));
    }
    __syncthreads();
}

/* By a thread: an element's integer after the differences between planes and rows. */
template <typename T>
__device__ inline T difference_across(const float_layout &l, const integers<T> &q, uint32_t i,
                                      unsigned *raw_bits)
{
    using S = typename wide<T>::type;
    const uint32_t row = l.strides[1], plane = l.strides[2];
    const uint32_t rows = passes_at(i, l.orders[1], row);
    S sum = q.at(i, raw_bits);

    for (uint32_t y = 0; y <= rows; y++) {
        const uint32_t at = i - y * row, planes = passes_at(at, l.orders[2], plane);
        unsigned unused;
        for (uint32_t z = y == 0; z <= planes; z++)
            sum +=
                coefficient<S>(rows, y) * coefficient<S>(planes, z) * q.at(at - z * plane, &unused);
    }
    return (T)sum;
}

/* Which differences are made of integers that lie in shared memory, those of a halo among them. The
 * others are made of patterns of the whole chunk. */
struct halo {
    float_layout across; /* the orders of the latter; along x none */
    uint32_t orders[FLOAT_AXES];
    uint32_t passed; /* elements before the first that has all differences between planes */
    uint32_t length; /* elements, whole groups */
};

template <typename T> __device__ inline halo halo_of(const float_layout &l, const cell &at)
{
    constexpr uint32_t MOST = HALO_BYTES / sizeof(T) - 2 * FLOAT_GROUP;
    halo h = {l, {l.orders[0], 0, 0}, 0, 0};
    uint32_t needed = 0;

    h.across.orders[0] = 0;
    if (l.interpolated) /* leave.cuh has all differences, and what it needs around the cell */
        h.across.orders[1] = h.orders[0] = 0;
    for (unsigned axis = 1; axis < FLOAT_AXES && !l.interpolated; axis++) {
        const uint32_t stride = l.strides[axis];
        const uint32_t most = stride != 0 ? (at.its.count - 1) / stride : 0;
        const uint32_t order = min((uint32_t)l.orders[axis], most);
        const uint32_t its = at.first != 0 ? order * stride : 0;
        /* Planes come before rows, so they are not in shared memory where rows are not. */
        if (needed + its > MOST || (axis == 2 && h.across.orders[1] != 0))
            continue;
        needed += its;
        h.across.orders[axis] = 0;
        h.orders[axis] = order;
        h.passed = axis == 2 ? its : 0;
    }
    h.length = (needed + 2 * FLOAT_GROUP - 1) / FLOAT_GROUP * FLOAT_GROUP;
    if (h.length > at.first)
        h.length = at.first, h.passed = 0;
    return h;
}

/* By a thread: a vector's patterns to integers; adds the bits that they have besides. */
template <typename T>
__device__ inline vector<T> map_vector(const float_map &map, vector<T> v, uint32_t *bits)
{
#pragma unroll
    for (unsigned k = 0; k < vector<T>::VALUES; k++) {
        unsigned its;
        (void)map_element(map, v.at[k], &v.at[k], &its);
        *bits += its; /* a zero has none */
    }
    return v;
}

/* Whether all elements from `first` to `last` have the same passes across. */
__device__ inline bool is_even(const float_layout &l, uint32_t first, uint32_t last)
{
    const uint32_t row = l.strides[1], plane = l.strides[2];
    const uint32_t rows = passes_at(first, l.orders[1], row);
    bool even = passes_at(last, l.orders[1], row) == rows;

    for (uint32_t y = 0; y <= rows && even; y++)
        even = passes_at(first - y * row, l.orders[2], plane) ==
               passes_at(last - y * row, l.orders[2], plane);
    return even;
}

/* By a thread: difference_across of a vector of elements from `first` on, which have the same
 * passes across; there are no decimals. */
template <typename T>
__device__ inline vector<T> differences_across(const float_layout &l, const integers<T> &q,
                                               uint32_t first, uint32_t *bits)
{
    using S = typename wide<T>::type;
    constexpr uint32_t N = vector<T>::VALUES;
    const uint32_t row = l.strides[1], plane = l.strides[2];
    const uint32_t rows = passes_at(first, l.orders[1], row);
    vector<T> sum = map_vector(q.map, load_patterns<T>(q.from, first, first + N), bits);

    for (uint32_t y = 0; y <= rows; y++) {
        const uint32_t at = first - y * row, planes = passes_at(at, l.orders[2], plane);
        for (uint32_t z = y == 0; z <= planes; z++) {
            const S times = coefficient<S>(rows, y) * coefficient<S>(planes, z);
            uint32_t unused = 0;
            const vector<T> v = map_vector(
                q.map, load_patterns<T>(q.from, at - z * plane, at - z * plane + N), &unused);
#pragma unroll
            for (unsigned k = 0; k < N; k++)
                sum.at[k] = (T)(sum.at[k] + times * v.at[k]);
        }
    }
    return sum;
}

/* By a thread: a vector of integers, after the halo's differences across, of the chunk's elements
 * from `first` on that lie before `end`; adds the bits that they have besides. */
template <typename T>
__device__ inline vector<T> load_integers(const integers<T> &q, const halo &h, uint32_t first,
                                          uint32_t end, uint32_t *bits)
{
    constexpr uint32_t N = vector<T>::VALUES;
    vector<T> v = {};

    if (!q.map.is_decimal && first + N <= end && is_even(h.across, first, first + N - 1))
        return differences_across(h.across, q, first, bits);
    for (unsigned k = 0; k < N && first + k < end; k++) {
        const uint32_t i = first + k;
        unsigned its;
        v.at[k] = difference_across(h.across, q, i, &its);
        if (q.map.is_decimal)
            its = (q.m.word[i / 32] >> i % 32 & 1) == 0 ? 8 * element<T>::EXCEPTION : 0;
        *bits += its;
    }
    return v;
}

/* By threads, each with a `place` of so many: vectors of integers to shared memory, of the chunk's
 * elements [first, end); *bits as above. Patterns are loaded some at a time. */
template <typename T>
__device__ inline void load_range(const integers<T> &q, const halo &h, uint32_t first, uint32_t end,
                                  uint4 *to, uint32_t place, uint32_t places, uint32_t *bits)
{
    constexpr uint32_t N = vector<T>::VALUES, AT_ONCE = 4;
    const bool is_across = h.across.orders[1] != 0 || h.across.orders[2] != 0;

    if (q.map.is_decimal || is_across) {
        for (uint32_t n = place; first + n * N < end; n += places)
            to[n] = load_integers(q, h, first + n * N, end, bits).all;
        return;
    }
    for (uint32_t n = place; first + n * N < end; n += AT_ONCE * places) {
        vector<T> v[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            v[k] = load_patterns<T>(q.from, first + (n + k * places) * N, end);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            if (first + (n + k * places) * N < end)
                to[n + k * places] = map_vector(q.map, v[k], bits).all;
    }
}

/* By a block: a cell's integers, the halo before them, to shared memory, and zeros behind them up
 * to a vector's end. Returns the bits that they have besides. */
template <typename T>
__device__ inline bits_behind load_cell(const integers<T> &q, const cell &at, const halo &h,
                                        T *values, warp_values *room)
{
    const span mine = span_of(at.count, 32 * vector<T>::VALUES);
    uint32_t bits = 0, total;

    /* The halo, whose bits do not count, and the cell: one copy of the code, since of few cells
     * much of the time goes to loading instructions. */
#pragma unroll 1
    for (uint32_t part = 0; part < 2; part++) {
        const int first = part == 0 ? -(int)h.length : (int)mine.first;
        bits = 0;
        load_range(q, h, at.first + (uint32_t)first, at.first + (part == 0 ? 0 : mine.end),
                   (uint4 *)(values + first), part == 0 ? threadIdx.x : bale_warp::lane(),
                   part == 0 ? blockDim.x : 32, &bits);
    }
    const uint32_t of_warps = sum_of_warps_before(sum_of_lanes(bits), room, &total);
    return {total, of_warps};
}

/* By a block: all differences but those along x. The first of a halo have not all of theirs. */
template <typename T>
__device__ inline void subtract_across(const float_layout &l, const cell &at, const halo &h,
                                       T *values)
{
    T *first = values - h.length;
    const uint32_t count = h.length + at.count;

    if (h.orders[2] > 0)
        subtract_rows(first, count, l.strides[2], h.orders[2]);
    if (h.orders[1] > 0)
        subtract_rows(first + h.passed, count - h.passed, l.strides[1], h.orders[1]);
}
} // namespace bale_float

#endif
