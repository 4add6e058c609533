/* float on the device: planes of groups (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_PLANES_CUH
#define BALE_KERNELS_FLOAT_PLANES_CUH

#include "kernels/float/widths.cuh"

namespace bale_float
{
/* The 8 x 8 bits of a word, transposed. */
__device__ inline uint64_t transposed(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & UINT64_C(0x00aa00aa00aa00aa);

    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & UINT64_C(0x0000cccc0000cccc);
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & UINT64_C(0x00000000f0f0f0f0);
    return x ^ t ^ t << 28;
}

/* A group's values, which lie one behind the other. */
template <typename T> union group {
    uint4 vectors[FLOAT_GROUP * sizeof(T) / 16];
    T at[FLOAT_GROUP];
};

template <typename T> __device__ inline group<T> load_group(const T *values, uint32_t g)
{
    group<T> x;

#pragma unroll
    for (unsigned k = 0; k < FLOAT_GROUP * sizeof(T) / 16; k++)
        x.vectors[k] = ((const uint4 *)(values + (size_t)g * FLOAT_GROUP))[k];
    return x;
}

template <typename T> __device__ inline void store_group(T *values, uint32_t g, const group<T> &x)
{
#pragma unroll
    for (unsigned k = 0; k < FLOAT_GROUP * sizeof(T) / 16; k++)
        ((uint4 *)(values + (size_t)g * FLOAT_GROUP))[k] = x.vectors[k];
}

template <typename T> __device__ inline T zigzag(T x)
{
    return (T)((T)(x << 1) ^ sign_of(x));
}

template <typename T> __device__ inline uint32_t length_of(T number)
{
    return sizeof(T) == 8 ? bit_length(number) : 32 - (uint32_t)__clz((int)number);
}

/* Bits of the longest number. */
template <typename T> __device__ inline uint32_t need_of(const group<T> &x)
{
    T all = 0;

#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP; i++)
        all |= x.at[i];
    return length_of(all);
}

/* Planes of a group: byte j of word b is plane 8 b + j. */
template <typename T> struct planes {
    uint64_t word[sizeof(T)];
};

/* Byte b of eight numbers. */
template <typename T> __device__ inline uint64_t bytes_of(const group<T> &x, unsigned b)
{
    const unsigned pick = b % 4 | (b % 4 + 4) << 4;
    uint32_t pairs[FLOAT_GROUP / 2];

#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP / 2; i++)
        pairs[i] = __byte_perm((uint32_t)(x.at[2 * i] >> 8 * (b - b % 4)),
                               (uint32_t)(x.at[2 * i + 1] >> 8 * (b - b % 4)), pick);
    return (uint64_t)__byte_perm(pairs[2], pairs[3], 0x5410) << 32 |
           __byte_perm(pairs[0], pairs[1], 0x5410);
}

/* The first `most` planes of numbers; the same in all lanes. */
template <typename T> __device__ inline planes<T> planes_of(const group<T> &x, uint32_t most)
{
    planes<T> p = {};

#pragma unroll
    for (unsigned b = 0; b < sizeof(T); b++)
        if (8 * b < most)
            p.word[b] = transposed(bytes_of(x, b));
    return p;
}

/* The first `width` of the planes, `most` in all lanes, to any address. */
template <typename T>
__device__ inline void store_planes(const planes<T> &p, uint32_t width, uint32_t most, uint8_t *to)
{
#pragma unroll
    for (unsigned k = 0; k < 8 * sizeof(T); k++) {
        if (k % 4 == 0 && k >= most)
            break;
        if (k < width)
            to[k] = (uint8_t)(p.word[k / 8] >> 8 * (k % 8));
    }
}

/* The numbers of a group whose `width` planes are in the words. */
template <typename T>
__device__ inline group<T>
numbers_of_planes(const bale_bytes::unaligned_words<2 * sizeof(T)> &words, uint32_t width)
{
    group<T> x;

#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP; i++)
        x.at[i] = 0;
#pragma unroll
    for (unsigned b = 0; b < sizeof(T); b++) {
        const uint64_t both = (uint64_t)words.word(2 * b + 1) << 32 | words.word(2 * b);
        const uint32_t there = width > 8 * b ? width - 8 * b : 0;
        const uint64_t bytes = transposed(both & bytes_there(there));
#pragma unroll
        for (unsigned i = 0; i < FLOAT_GROUP; i++)
            x.at[i] |= (T)((T)(bytes >> 8 * i & 0xff) << 8 * b);
    }
    return x;
}

/* Numbers to integers. */
template <typename T> __device__ inline void undo_zigzag(group<T> *x)
{
#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP; i++)
        x->at[i] = (T)((T)(x->at[i] >> 1) ^ (T) - (T)(x->at[i] & 1));
}
} // namespace bale_float

#endif
