/* cusz on the device: elements, and the words that they become. Words are uint32_t or uint64_t. */
#ifndef BALE_KERNELS_CUSZ_ELEMENTS_CUH
#define BALE_KERNELS_CUSZ_ELEMENTS_CUH

#include <stdint.h>
#include <string.h>

#include "kernels/base/swapped.cuh"
#include "kernels/codec/tables.h"
#include "kernels/codec/warp.cuh"
#include "kernels/cusz/sizes.h"

namespace bale_cusz
{
constexpr uint32_t CELLS = CUSZ_CHUNK / BALE_CUDA_CELL; /* of a chunk, at most */
using bale_base::swapped;
using bale_warp::ALL;

template <typename WORD> struct type_of;
template <> struct type_of<uint32_t> {
    typedef float element;
    typedef int32_t number;
    static constexpr double LIMIT = 0x1p30; /* multiples of more steps are none */
    /* Of quick words: 1.5 * 2^23 as a float, and log2 of the folded words' limit. */
    static constexpr uint32_t MAGIC_BITS = 0x4b400000;
    static constexpr uint32_t QUICK_LOG2 = 22;
};
template <> struct type_of<uint64_t> {
    typedef double element;
    typedef int64_t number;
    static constexpr double LIMIT = 0x1p50;
    static constexpr uint64_t MAGIC_BITS = 0x4338000000000000; /* 1.5 * 2^52 as a double */
    static constexpr uint32_t QUICK_LOG2 = 50;
};

/* Elements or words of a chunk, in device memory. An array may begin at any byte of the file. */
template <typename WORD> struct row {
    uint8_t *at;

    __device__ bool is_aligned() const
    {
        return (uintptr_t)at % sizeof(WORD) == 0;
    }

    __device__ WORD load(uint32_t i) const
    {
        const uint8_t *from = at + (size_t)i * sizeof(WORD);
        WORD word = 0;

        if (is_aligned())
            return *(const WORD *)from;
        for (uint32_t k = 0; k < sizeof(WORD); k++)
            word |= (WORD)from[k] << 8 * k;
        return word;
    }

    __device__ void store(uint32_t i, WORD word) const
    {
        uint8_t *to = at + (size_t)i * sizeof(WORD);

        if (is_aligned())
            *(WORD *)to = word;
        else
            for (uint32_t k = 0; k < sizeof(WORD); k++)
                to[k] = (uint8_t)(word >> 8 * k);
    }
};

/* A frame's rounding: kernels/round/round.h. */
struct rounding {
    double step, inverse;
    float narrow_inverse; /* of quick words of f32 */
    bool big_endian;
};

/* A multiple in the device's byte order and in its place has a quick word: an element x = T(q g)
 * differs from q g by 2^-24 of it in f32, and the inverse from 1 / g by as much; so if q is less
 * than 2^21, x times the inverse is nearer to q than to any other integer. In f64 it is 2^-53, and
 * less than 2^49. The sum with MAGIC_BITS has q in its low bits. These bits stay in the word:
 * differences have none of them. Listed elements have none: theirs may be another number. */
__device__ inline uint32_t quick_word(const rounding &r, uint32_t bits)
{
    float x;
    uint32_t sum_bits;

    memcpy(&x, &bits, sizeof x);
    const float sum = __fmaf_rn(x, r.narrow_inverse, 0x1.8p23f);
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    return sum_bits;
}

__device__ inline uint64_t quick_word(const rounding &r, uint64_t bits)
{
    double x;
    uint64_t sum_bits;

    memcpy(&x, &bits, sizeof x);
    const double sum = __fma_rn(x, r.inverse, 0x1.8p52);
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    return sum_bits;
}

/* The element that a word stands for, as it is in the array. One multiplication and the conversion
 * round; there is nothing that could be contracted. */
template <typename WORD> __device__ inline WORD restored(const rounding &r, WORD word)
{
    typedef type_of<WORD> type;
    const typename type::element x =
        (typename type::element)__dmul_rn((double)(typename type::number)word, r.step);
    WORD bits;

    memcpy(&bits, &x, sizeof bits);
    return r.big_endian ? swapped(bits) : bits;
}

/* The word of an element that is in the array as `raw`. *listed: it is no multiple. Each operation
 * rounds by itself, as on the CPU (width.inc): adding MAGIC leaves the nearest integer in the low
 * bits, ties to even. */
template <typename WORD> __device__ inline WORD quantised(const rounding &r, WORD raw, bool *listed)
{
    typedef type_of<WORD> type;
    constexpr double MAGIC = 0x1.8p52;
    const WORD bits = r.big_endian ? swapped(raw) : raw;
    typename type::element x, again;
    uint64_t sum_bits, magic_bits;
    WORD again_bits;

    memcpy(&x, &bits, sizeof x);
    const double t = __dmul_rn((double)x, r.inverse);
    const double number = t == t ? t : 0;
    const double low = number > -type::LIMIT ? number : -type::LIMIT;
    const double sum = __dadd_rn(low < type::LIMIT ? low : type::LIMIT, MAGIC), magic = MAGIC;
    memcpy(&sum_bits, &sum, sizeof sum_bits);
    memcpy(&magic_bits, &magic, sizeof magic_bits);
    again = (typename type::element)__dmul_rn(__dadd_rn(sum, -MAGIC), r.step);
    memcpy(&again_bits, &again, sizeof again_bits);
    *listed = again_bits != bits;
    return (WORD)(sum_bits - magic_bits);
}

template <typename WORD> __device__ inline WORD folded(WORD word)
{
    return (WORD)(word << 1) ^ (WORD)(0 - (word >> (8 * sizeof word - 1)));
}

template <typename WORD> __device__ inline WORD unfolded(WORD folded)
{
    return (WORD)(folded >> 1) ^ (WORD)(0 - (folded & 1));
}

/* By a warp: the inclusive sum over its lanes. */
template <typename WORD> __device__ inline WORD warp_sums(WORD value)
{
    for (uint32_t by = 1; by < 32; by *= 2) {
        const WORD other = __shfl_up_sync(ALL, value, by);
        if (bale_warp::lane() >= by)
            value += other;
    }
    return value;
}

/* By a warp: the sum of all lanes, in each. */
template <typename WORD> __device__ inline WORD warp_sum(WORD value)
{
    for (uint32_t by = 16; by > 0; by /= 2)
        value += __shfl_xor_sync(ALL, value, by);
    return value;
}
} // namespace bale_cusz

#endif
