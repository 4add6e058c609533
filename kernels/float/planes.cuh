/* float on the device: widths and planes of groups (spec.md, Chunk). */
#ifndef BALE_KERNELS_FLOAT_PLANES_CUH
#define BALE_KERNELS_FLOAT_PLANES_CUH

#include "kernels/float/layout.cuh"

namespace bale_float
{
constexpr uint32_t BLOCKS_MAX = BALE_CUDA_CELL / sizeof(uint16_t) / FLOAT_BLOCK;
static_assert(BLOCKS_MAX <= THREADS, "a thread for each block of elements");

constexpr uint64_t EVERY = UINT64_C(0x0101010101010101);

/* ---- Widths ---- */

/* The widths of a block's groups, and deltas: a byte for each group. */
struct widths {
    uint64_t widths, deltas;
    uint32_t header, bits; /* bits: bytes of deltas in the chunk */
};

__device__ inline uint32_t sum_of_bytes(uint64_t bytes)
{
    const uint64_t pairs = UINT64_C(0x00ff00ff00ff00ff);

    return (uint32_t)(((bytes & pairs) + (bytes >> 8 & pairs)) * UINT64_C(0x0001000100010001) >>
                      48);
}

/* The sum of the first `count` bytes, less than 8. */
__device__ inline uint32_t sum_of_first(uint64_t bytes, uint32_t count)
{
    return sum_of_bytes(bytes & ((UINT64_C(1) << 8 * count) - 1));
}

/* Bytes of groups that are there. */
__device__ inline uint64_t bytes_there(uint32_t groups)
{
    return groups >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * groups) - 1;
}

/* Groups of a block of a chunk with so many elements. */
__device__ inline uint32_t groups_there(uint32_t count, uint32_t block)
{
    const uint32_t first = block * FLOAT_BLOCK;

    return first >= count ? 0 : min((count - first + FLOAT_GROUP - 1) / FLOAT_GROUP, 8u);
}

/* Reads the deltas at `in`. False: a rule is broken. */
__device__ inline bool read_widths(uint32_t header, const uint8_t *in, uint32_t groups,
                                   unsigned size_bits, widths *w)
{
    const uint32_t code = header & 63, most = size_bits == 64 && code == 63 ? 64 : code;
    const uint64_t there = bytes_there(groups);

    w->deltas = 0;
    for (uint32_t k = 0; k < header >> 6; k++) /* float_spread_bits (work.h) */
        w->deltas |= (((in[k] * EVERY & UINT64_C(0x8040201008040201)) + EVERY * 0x7f) >> 7 & EVERY)
                     << k;
    w->widths = most * EVERY - w->deltas;
    if (most > size_bits || (w->widths & EVERY * 0x80) != 0 || (w->deltas & ~there) != 0)
        return false;
    w->widths &= there;
    return true;
}

/* What `groups` groups that need so many bits take with deltas of `bits` bits. */
__device__ inline uint32_t cost_of(uint64_t need, uint32_t groups, uint32_t most, uint32_t bits)
{
    const uint32_t range = (1u << bits) - 1, least = most > range ? most - range : 0;
    uint32_t cost = bits;

#pragma unroll
    for (uint32_t g = 0; g < 8; g++)
        if (g < groups)
            cost += max((uint32_t)(need >> 8 * g & 0xff), least);
    return cost;
}

/* The widths that take the fewest bytes. */
__device__ inline widths choose_widths(uint64_t need, uint32_t groups, unsigned size_bits)
{
    widths w = {};
    uint32_t most = 0, least_cost = UINT32_MAX;

#pragma unroll
    for (uint32_t g = 0; g < 8; g++)
        if (g < groups)
            most = max(most, (uint32_t)(need >> 8 * g & 0xff));
    const uint32_t code = min(most, 63u);
    most = size_bits == 64 && code == 63 ? 64 : code;
    for (uint32_t bits = 0; bits <= FLOAT_DELTA_BITS; bits++) {
        const uint32_t cost = cost_of(need, groups, most, bits);
        if (cost < least_cost)
            least_cost = cost, w.bits = bits;
    }
    w.header = code | w.bits << 6;
    const uint32_t range = (1u << w.bits) - 1, least = most > range ? most - range : 0;
#pragma unroll
    for (uint32_t g = 0; g < 8; g++) {
        const uint32_t width = max((uint32_t)(need >> 8 * g & 0xff), least);
        w.widths |= (uint64_t)(g < groups ? width : 0) << 8 * g;
        w.deltas |= (uint64_t)(g < groups ? most - width : 0) << 8 * g;
    }
    return w;
}

/* Byte k of a block's deltas: bit k of each. */
__device__ inline uint8_t delta_byte(uint64_t deltas, uint32_t k)
{
    return (uint8_t)((deltas >> k & EVERY) * UINT64_C(0x0102040810204080) >> 56);
}

/* ---- Planes ---- */

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

/* Bits of the longest number. */
template <typename T> __device__ inline uint32_t need_of(const group<T> &x)
{
    T all = 0;

#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP; i++)
        all |= x.at[i];
    return sizeof(T) == 8 ? bit_length(all) : 32 - (uint32_t)__clz((int)all);
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

/* `width` planes at byte `at` of a cell to the group's values. */
template <typename T>
__device__ inline group<T> load_planes(const uint8_t *cell, uint32_t at, uint32_t width)
{
    bale_bytes::unaligned_words<2 * sizeof(T)> words;
    group<T> x;

    words.load((const uint32_t *)cell, at, width);
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
#pragma unroll
    for (unsigned i = 0; i < FLOAT_GROUP; i++)
        x.at[i] = (T)((T)(x.at[i] >> 1) ^ (T) - (T)(x.at[i] & 1));
    return x;
}
} // namespace bale_float

#endif
