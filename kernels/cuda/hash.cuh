/* XXH3-64 with seed 0 (FORMAT.md section 1), by a warp for each input. The algorithm is that of
 * xxHash 0.8. Up to 240 bytes one lane does everything. Above, a block's 16 stripes are summed
 * before the block's scramble, so four stripes at a time are summed side by side, by eight lanes
 * each. */
#ifndef BALE_KERNELS_CUDA_HASH_CUH
#define BALE_KERNELS_CUDA_HASH_CUH

#include <stdint.h>

#include "kernels/codec/warp.cuh"

namespace bale_xxh3
{
constexpr uint64_t P32_1 = 0x9E3779B1u, P32_2 = 0x85EBCA77u, P32_3 = 0xC2B2AE3Du;
constexpr uint64_t P64_1 = 0x9E3779B185EBCA87u, P64_2 = 0xC2B2AE3D27D4EB4Fu;
constexpr uint64_t P64_3 = 0x165667B19E3779F9u, P64_4 = 0x85EBCA77C2B2AE63u;
constexpr uint64_t P64_5 = 0x27D4EB2F165667C5u;
using bale_warp::ALL;
constexpr uint32_t STRIPE = 64, BLOCK = 1024, MIDSIZE = 240;

__device__ const uint8_t secret[192] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

__device__ inline uint32_t read32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

__device__ inline uint64_t read64(const uint8_t *p)
{
    return read32(p) | (uint64_t)read32(p + 4) << 32;
}

__device__ inline uint64_t fold(uint64_t a, uint64_t b)
{
    return (a * b) ^ __umul64hi(a, b);
}

__device__ inline uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

__device__ inline uint64_t swap64(uint64_t v)
{
    return (uint64_t)__byte_perm((uint32_t)v, 0, 0x0123) << 32 |
           __byte_perm((uint32_t)(v >> 32), 0, 0x0123);
}

__device__ inline uint64_t avalanche(uint64_t h)
{
    h ^= h >> 37;
    h *= 0x165667919E3779F9u;
    return h ^ h >> 32;
}

__device__ inline uint64_t avalanche64(uint64_t h)
{
    h ^= h >> 33;
    h *= P64_2;
    h ^= h >> 29;
    h *= P64_3;
    return h ^ h >> 32;
}

__device__ inline uint64_t mix16(const uint8_t *in, uint32_t at)
{
    return fold(read64(in) ^ read64(secret + at), read64(in + 8) ^ read64(secret + at + 8));
}

__device__ inline uint64_t up_to_16(const uint8_t *in, uint32_t length)
{
    if (length > 8) {
        uint64_t lo = read64(in) ^ read64(secret + 24) ^ read64(secret + 32);
        uint64_t hi = read64(in + length - 8) ^ read64(secret + 40) ^ read64(secret + 48);
        return avalanche(length + swap64(lo) + hi + fold(lo, hi));
    }
    if (length >= 4) {
        uint64_t both = read32(in + length - 4) + ((uint64_t)read32(in) << 32);
        uint64_t h = both ^ read64(secret + 8) ^ read64(secret + 16);
        h ^= rotate(h, 49) ^ rotate(h, 24);
        h *= 0x9FB21C651E98DF25u;
        h ^= (h >> 35) + length;
        h *= 0x9FB21C651E98DF25u;
        return h ^ h >> 28;
    }
    if (length > 0) {
        uint32_t combined =
            (uint32_t)in[0] << 16 | (uint32_t)in[length >> 1] << 24 | in[length - 1] | length << 8;
        return avalanche64(combined ^ (uint64_t)(read32(secret) ^ read32(secret + 4)));
    }
    return avalanche64(read64(secret + 56) ^ read64(secret + 64));
}

__device__ inline uint64_t up_to_128(const uint8_t *in, uint32_t length)
{
    uint64_t acc = length * P64_1;

    for (uint32_t i = (length - 1) / 32 + 1; i-- > 0;)
        acc += mix16(in + 16 * i, 32 * i) + mix16(in + length - 16 * (i + 1), 32 * i + 16);
    return avalanche(acc);
}

__device__ inline uint64_t up_to_240(const uint8_t *in, uint32_t length)
{
    uint64_t acc = length * P64_1;

    for (uint32_t i = 0; i < 8; i++)
        acc += mix16(in + 16 * i, 16 * i);
    acc = avalanche(acc);
    for (uint32_t i = 8; i < length / 16; i++)
        acc += mix16(in + 16 * i, 16 * (i - 8) + 3);
    return avalanche(acc + mix16(in + length - 16, 136 - 17));
}

__device__ inline uint64_t shortly(const uint8_t *in, uint32_t length)
{
    if (length <= 16)
        return up_to_16(in, length);
    return length <= 128 ? up_to_128(in, length) : up_to_240(in, length);
}

/* The accumulators' first values. */
__device__ inline uint64_t initial(unsigned i)
{
    switch (i) {
    case 0:
        return P32_3;
    case 1:
        return P64_1;
    case 2:
        return P64_2;
    case 3:
        return P64_3;
    case 4:
        return P64_4;
    case 5:
        return P32_2;
    case 6:
        return P64_5;
    default:
        return P32_1;
    }
}

/* What words of stripes add: their values to the neighbour's accumulator, the products to their
 * own. */
struct sums {
    uint64_t value;
    uint64_t product;
};

__device__ inline void add(sums *s, uint64_t word, uint64_t key)
{
    uint64_t k = word ^ key;

    s->value += word;
    s->product += (k & 0xffffffffu) * (k >> 32);
}

/* The accumulator of this lane's word after the sums of all four groups. */
__device__ inline uint64_t gathered(uint64_t acc, sums s)
{
    uint64_t all = s.product + __shfl_xor_sync(ALL, s.value, 1);

    all += __shfl_xor_sync(ALL, all, 8);
    all += __shfl_xor_sync(ALL, all, 16);
    return acc + all;
}

/* in: aligned to 8 bytes. All 32 lanes call it with the same arguments, and all get the hash. */
__device__ inline uint64_t of(const uint8_t *in, uint32_t length)
{
    const unsigned lane = bale_warp::lane(), i = lane & 7, group = lane >> 3;

    if (length <= MIDSIZE) {
        uint64_t h = lane == 0 ? shortly(in, length) : 0;
        return __shfl_sync(ALL, h, 0);
    }

    uint64_t key[4];
    for (unsigned t = 0; t < 4; t++)
        key[t] = read64(secret + 8 * (4 * t + group + i));
    const uint64_t scramble = read64(secret + 128 + 8 * i);
    const uint32_t blocks = (length - 1) / BLOCK;
    const uint32_t stripes = (length - 1 - blocks * BLOCK) / STRIPE; /* of the last block */
    const uint64_t *words = (const uint64_t *)in + 8 * group + i;
    uint64_t acc = initial(i);
    uint64_t next[4];

    for (unsigned t = 0; t < 4; t++)
        next[t] = blocks > 0 ? words[32 * t] : 0;
    for (uint32_t b = 0; b < blocks; b++) {
        sums s = {0, 0};
        uint64_t word[4];
        words += BLOCK / 8;
        for (unsigned t = 0; t < 4; t++) {
            word[t] = next[t];
            next[t] = b + 1 < blocks ? words[32 * t] : 0;
        }
        for (unsigned t = 0; t < 4; t++)
            add(&s, word[t], key[t]);
        acc = gathered(acc, s);
        acc = (acc ^ acc >> 47 ^ scramble) * P32_1;
    }

    sums s = {0, 0};
    for (unsigned t = 0; t < 4; t++)
        if (4 * t + group < stripes)
            add(&s, words[32 * t], key[t]);
    if (group == 0)
        add(&s, read64(in + length - STRIPE + 8 * i), read64(secret + 121 + 8 * i));
    acc = gathered(acc, s);

    uint64_t keyed = acc ^ read64(secret + 11 + 8 * i);
    uint64_t other = __shfl_xor_sync(ALL, keyed, 1);
    uint64_t sum = i % 2 == 0 && group == 0 ? fold(keyed, other) : 0;
    for (unsigned by = 2; by < 8; by *= 2)
        sum += __shfl_xor_sync(ALL, sum, by);
    return __shfl_sync(ALL, avalanche(sum + length * P64_1), 0);
}
} // namespace bale_xxh3

#endif
