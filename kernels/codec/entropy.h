/* Logarithms and entropy in integers, so that what is chosen by them is the same everywhere. */
#ifndef BALE_KERNELS_CODEC_ENTROPY_H
#define BALE_KERNELS_CODEC_ENTROPY_H

#include <stdint.h>

/* log2(n) in 1/65536, n > 0, to within 0.01: with mantissa f, log2(1 + f) = f + 0.344 f (1 - f). */
static inline uint32_t bale_log2_q16(uint32_t n)
{
    uint32_t exponent = 31u - (uint32_t)__builtin_clz(n);
    uint32_t f = ((n << (31u - exponent)) >> 15) & 0xffffu;
    uint32_t bow = (f * (65536u - f)) >> 16;

    return (exponent << 16) + f + ((bow * 22544u) >> 16);
}

/* The order-0 entropy of total bytes in 1/65536 bit. counts[] says how often each value occurs. */
static inline uint64_t bale_entropy_bits(const uint32_t counts[256], uint32_t total)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < 256; i++)
        if (counts[i] > 0)
            sum += (uint64_t)counts[i] * bale_log2_q16(counts[i]);
    return total > 0 ? (uint64_t)total * bale_log2_q16(total) - sum : 0;
}

/* The size of total bytes after order-0 entropy coding, never more than total. */
static inline uint32_t bale_entropy_bytes(const uint32_t counts[256], uint32_t total)
{
    uint32_t bytes = (uint32_t)(bale_entropy_bits(counts, total) >> 19);

    return bytes < total ? bytes : total;
}

#endif
