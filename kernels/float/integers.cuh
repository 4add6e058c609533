/* float on the device: patterns of shared memory's integers, and what of them is no integer: raw
 * bits and exceptions (spec.md, Map). */
#ifndef BALE_KERNELS_FLOAT_INTEGERS_CUH
#define BALE_KERNELS_FLOAT_INTEGERS_CUH

#include "kernels/float/block.cuh"

namespace bale_float
{
/* Patterns of elements. */
struct pattern_source {
    const uint8_t *at;
    bool big_endian;

    template <typename T> __device__ T load(uint32_t i) const
    {
        return load_element<T>(at + (size_t)i * sizeof(T), big_endian);
    }
};

/* Patterns of a vector of elements, as far as they lie before `end`. */
template <typename T>
__device__ inline vector<T> load_patterns(const pattern_source &from, uint32_t first, uint32_t end)
{
    constexpr uint32_t N = vector<T>::VALUES;
    const uint8_t *at = from.at + (size_t)first * sizeof(T);
    const uint32_t there = first < end ? min(end - first, N) : 0;
    vector<T> v = {};

    if ((uintptr_t)at % sizeof(uint4) == 0 && there == N) {
        v.all = *(const uint4 *)at;
    } else if (there > 0) {
        bale_bytes::unaligned_words<4> words;
        words.load((const uint32_t *)((uintptr_t)at & ~(uintptr_t)3), (uintptr_t)at & 3,
                   there * (uint32_t)sizeof(T));
        v.all = {words.word(0), words.word(1), words.word(2), words.word(3)};
    }
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        v.at[k] = k >= there ? (T)0 : from.big_endian ? swapped(v.at[k]) : v.at[k];
    return v;
}

/* Elements whose raw bits a lane joins to one number first. */
template <typename T> constexpr uint32_t JOINED = 8 / sizeof(T);

/* A cell's bits behind the planes: raw bits, or those of exceptions. */
struct bits_behind {
    uint32_t all;
    uint32_t before; /* raw bits of the warps before, by spans of whole tiles */
};

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

/* Raw bits of a lane's elements: of each, and of all. */
template <typename T> struct lane_bits {
    T low[vector<T>::VALUES];
    uint32_t lengths[vector<T>::VALUES], all;
};

template <typename T>
__device__ inline lane_bits<T> find_lane_bits(const float_map &map, const vector<T> &patterns)
{
    lane_bits<T> found;

    found.all = 0;
#pragma unroll
    for (uint32_t k = 0; k < vector<T>::VALUES; k++) {
        const T m = magnitude(patterns.at[k], map.shift);
        unsigned bits;
        (void)fix(map, m, &bits);
        found.low[k] = (T)(m & (T)(((T)1 << bits) - 1));
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
    const span mine = span_of(count, 32 * vector<T>::VALUES);
    uint32_t at = begin + before, first = mine.first + vector<T>::VALUES * bale_warp::lane();
    vector<T> next = load_patterns<T>(from, first, mine.end);

    for (uint32_t k = threadIdx.x; k <= (begin + total) / 32; k += blockDim.x)
        words[k] = 0;
    __syncthreads();
    for (uint32_t tile = mine.first; tile < mine.end; tile += 32 * vector<T>::VALUES) {
        const lane_bits<T> its = find_lane_bits(map, next);
        const uint32_t upto = sum_upto(its.all);
        const uint32_t of_tile = __shfl_sync(bale_warp::ALL, upto, 31);
        uint32_t place = at + upto - its.all;
        next = load_patterns<T>(from, first += 32 * vector<T>::VALUES, mine.end);
        at += of_tile;
        if (of_tile == 0)
            continue;
#pragma unroll
        for (uint32_t k = 0; k < vector<T>::VALUES; k += JOINED<T>) {
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
    }
    __syncthreads();
}
} // namespace bale_float

#endif
