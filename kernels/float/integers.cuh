/* float on the device: patterns of shared memory's integers, and what of them is no integer: raw
 * bits and exceptions (spec.md, Map). */
#ifndef BALE_KERNELS_FLOAT_INTEGERS_CUH
#define BALE_KERNELS_FLOAT_INTEGERS_CUH

#include "kernels/float/block.cuh"

namespace bale_float
{
constexpr uint32_t WORDS_MAX = BALE_CUDA_CELL / sizeof(uint32_t) / 32; /* decimals have 4 bytes */
static_assert(WORDS_MAX <= THREADS, "a thread for each word of marks");

/* Which elements are decimals: a bit for each. */
struct marks {
    uint32_t word[WORDS_MAX];
    uint32_t exceptions_before[WORDS_MAX]; /* of each word */
};

/* Patterns of elements. */
struct pattern_source {
    const uint8_t *at;
    bool big_endian;

    template <typename T> __device__ T load(uint32_t i) const
    {
        return load_element<T>(at + (size_t)i * sizeof(T), big_endian);
    }
};

/* By a block, after map_all: exceptions become the integer before them, or 0. Returns how many there
 * are. */
template <typename T>
__device__ inline uint32_t fill_exceptions(T *values, uint32_t count, marks *m, warp_values *room)
{
    const uint32_t w = threadIdx.x, first = 32 * w;
    const uint32_t there = first >= count        ? 0
                           : count - first >= 32 ? UINT32_MAX
                                                 : (1u << (count - first)) - 1;
    const uint32_t word = there != 0 ? m->word[w] : 0;
    uint32_t exceptions;

    /* One more than the number of the word's last decimal. */
    const uint32_t last = word != 0 ? first + 32 - (uint32_t)__clz((int)word) : 0;
    const uint32_t before = most_before(last, room);
    const uint32_t number = sum_before(__popc(there & ~word), room, &exceptions);
    if (there != 0)
        m->exceptions_before[w] = number;
    for (uint32_t left = there & ~word; left != 0; left &= left - 1) {
        const uint32_t k = (uint32_t)__ffs((int)left) - 1, lower = word & ((1u << k) - 1);
        const uint32_t from = lower != 0 ? first + 32 - (uint32_t)__clz((int)lower) : before;
        values[first + k] = from > 0 ? values[from - 1] : (T)0;
    }
    __syncthreads();
    return exceptions;
}

/* Elements whose raw bits a lane writes at once, and those that are joined to one number first. */
template <typename T> constexpr uint32_t LANE_ELEMENTS = 16 / sizeof(T);
template <typename T> constexpr uint32_t JOINED = 8 / sizeof(T);

/* The bits behind the planes: raw bits, or those of exceptions. */
struct bits_behind {
    uint32_t all;
    uint32_t before; /* raw bits of the warps before, by spans of whole tiles of LANE_ELEMENTS */
};

/* By a block: the integers of patterns; m is used for decimals. */
template <typename T>
__device__ inline bits_behind map_all(const float_map &map, const pattern_source &from,
                                      uint32_t count, T *values, marks *m, warp_values *room)
{
    const span mine = span_of(count, 32 * LANE_ELEMENTS<T>);
    uint32_t bits = 0, total;

    for (uint32_t tile = mine.first; tile < mine.end; tile += 32) {
        const uint32_t i = tile + bale_warp::lane();
        unsigned its = 0;
        bool is = false;
        T q = 0;
        if (i < mine.end) {
            is = map_element(map, from.load<T>(i), &q, &its);
            values[i] = q;
        }
        bits += its;
        if (map.is_decimal) {
            const uint32_t word = __ballot_sync(bale_warp::ALL, is);
            if (bale_warp::lane() == 0)
                m->word[tile / 32] = word;
        }
    }
    const uint32_t before = sum_of_warps_before(sum_of_lanes(bits), room, &total);
    if (map.is_decimal)
        total = 8 * element<T>::EXCEPTION * fill_exceptions(values, count, m, room);
    return {total, before};
}

/* By a thread: adds the low `bits` bits of x, less than 64, at bit `at` of words that are zero. */
__device__ inline void put_bits(uint32_t *words, uint32_t at, uint64_t x, unsigned bits)
{
    const uint32_t shift = at % 32;

    x &= (UINT64_C(1) << bits) - 1;
    const uint32_t part[3] = {(uint32_t)(x << shift), (uint32_t)(x >> 1 >> (31 - shift)),
                              shift > 0 ? (uint32_t)(x >> (64 - shift)) : 0};
#pragma unroll
    for (unsigned k = 0; k < 3; k++)
        if (part[k] != 0)
            atomicOr(words + at / 32 + k, part[k]);
}

/* Of an element, with a fixed point. */
template <typename T>
__device__ inline unsigned raw_bits_at(const float_map &map, const pattern_source &from, uint32_t i)
{
    unsigned bits;

    fix(map, magnitude(from.load<T>(i), map.shift), &bits);
    return bits;
}

/* By a block: the raw bits of the warps before, as map_all finds them. */
template <typename T>
__device__ inline uint32_t raw_bits_before(const float_map &map, const pattern_source &from,
                                           uint32_t count, warp_values *room)
{
    const span mine = span_of(count, 32 * LANE_ELEMENTS<T>);
    uint32_t bits = 0, unused;

    for (uint32_t i = mine.first + bale_warp::lane(); i < mine.end; i += 32)
        bits += raw_bits_at<T>(map, from, i);
    return sum_of_warps_before(sum_of_lanes(bits), room, &unused);
}

/* Raw bits of a lane's elements: of each, and of all. */
template <typename T> struct lane_bits {
    T low[LANE_ELEMENTS<T>];
    uint32_t lengths[LANE_ELEMENTS<T>], all;
};

template <typename T>
__device__ inline lane_bits<T> find_lane_bits(const float_map &map, const pattern_source &from,
                                              uint32_t first, uint32_t end)
{
    lane_bits<T> found;

    found.all = 0;
#pragma unroll
    for (uint32_t k = 0; k < LANE_ELEMENTS<T>; k++) {
        const T m = first + k < end ? magnitude(from.load<T>(first + k), map.shift) : (T)0;
        unsigned bits;
        (void)fix(map, m, &bits);
        bits = first + k < end ? bits : 0;
        found.low[k] = (T)(m & (T)(((uint64_t)1 << bits) - 1));
        found.lengths[k] = bits;
        found.all += bits;
    }
    return found;
}

/* By a block: the raw bits, `total` of them, to words from bit `begin` on. One word more is there.
 * before: of the warps before. */
template <typename T>
__device__ inline void put_raw_bits(const float_map &map, const pattern_source &from,
                                    uint32_t count, uint32_t total, uint32_t before, uint32_t begin,
                                    uint32_t *words)
{
    const span mine = span_of(count, 32 * LANE_ELEMENTS<T>);
    uint32_t at = begin + before;

    for (uint32_t k = threadIdx.x; k <= (begin + total) / 32; k += THREADS)
        words[k] = 0;
    __syncthreads();
    for (uint32_t tile = mine.first; tile < mine.end; tile += 32 * LANE_ELEMENTS<T>) {
        const uint32_t first = tile + LANE_ELEMENTS<T> * bale_warp::lane();
        const lane_bits<T> its = find_lane_bits<T>(map, from, first, mine.end);
        const uint32_t upto = sum_upto(its.all);
        uint32_t place = at + upto - its.all;
#pragma unroll
        for (uint32_t k = 0; k < LANE_ELEMENTS<T>; k += JOINED<T>) {
            uint64_t x = 0;
            uint32_t bits = 0;
#pragma unroll
            for (uint32_t j = k; j < k + JOINED<T>; j++) {
                x |= (uint64_t)its.low[j] << bits;
                bits += its.lengths[j];
            }
            if (bits > 0)
                put_bits(words, place, x, bits);
            place += bits;
        }
        at += __shfl_sync(bale_warp::ALL, upto, 31);
    }
    __syncthreads();
}

/* By a block: the exceptions of decimals. */
template <typename T>
__device__ inline void put_exceptions(const pattern_source &from, uint32_t count, const marks *m,
                                      uint32_t *words)
{
    for (uint32_t i = threadIdx.x; i < count; i += THREADS) {
        const uint32_t word = m->word[i / 32], lower = (1u << i % 32) - 1;
        if ((word >> i % 32 & 1) != 0)
            continue;
        uint32_t *to = words + (m->exceptions_before[i / 32] + __popc(~word & lower)) *
                                   (element<T>::EXCEPTION / sizeof *words);
        const uint64_t pattern = from.load<T>(i);
        to[0] = i;
        to[1] = (uint32_t)pattern;
        if (sizeof(T) == 8)
            to[2] = (uint32_t)(pattern >> 32);
    }
    __syncthreads();
}
} // namespace bale_float

#endif
