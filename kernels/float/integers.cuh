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

/* By a block: the integers of patterns; m is used for decimals. Returns the bits behind the planes:
 * of raw bits, or exceptions. */
template <typename T>
__device__ inline uint32_t map_all(const float_map &map, const pattern_source &from, uint32_t count,
                                   T *values, marks *m, warp_values *room)
{
    const span mine = span_of(count, 32);
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
    (void)sum_of_warps_before(sum_of_lanes(bits), room, &total);
    if (map.is_decimal)
        total = 8 * element<T>::EXCEPTION * fill_exceptions(values, count, m, room);
    return total;
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

/* By a block: the raw bits, `total` of them, to words from bit `begin` on. One word more is there. */
template <typename T>
__device__ inline void put_raw_bits(const float_map &map, const pattern_source &from,
                                    uint32_t count, uint32_t total, uint32_t begin, uint32_t *words,
                                    warp_values *room)
{
    const span mine = span_of(count, 32);
    uint32_t at = 0, unused;

    for (uint32_t k = threadIdx.x; k <= (begin + total) / 32; k += THREADS)
        words[k] = 0;
    for (uint32_t i = mine.first + bale_warp::lane(); i < mine.end; i += 32) {
        unsigned bits;
        fix(map, magnitude(from.load<T>(i), map.shift), &bits);
        at += bits;
    }
    at = begin + sum_of_warps_before(sum_of_lanes(at), room, &unused);
    for (uint32_t tile = mine.first; tile < mine.end; tile += 32) {
        const uint32_t i = tile + bale_warp::lane();
        const T m = i < mine.end ? magnitude(from.load<T>(i), map.shift) : (T)0;
        unsigned bits;
        fix(map, m, &bits);
        bits = i < mine.end ? bits : 0;
        const uint32_t upto = sum_upto((uint32_t)bits);
        if (bits > 0)
            put_bits(words, at + upto - bits, m, bits);
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
