/* Bytes at addresses that need not be aligned: loads, and copies by a warp or a block. */
#ifndef BALE_KERNELS_CODEC_BYTES_CUH
#define BALE_KERNELS_CODEC_BYTES_CUH

#include <stdint.h>

#include "kernels/codec/warp.cuh"

namespace bale_bytes
{
/* Four bytes from any address; up to three behind them are read as well. */
__device__ inline uint32_t load32(const uint8_t *p)
{
    const uintptr_t first = (uintptr_t)p & ~(uintptr_t)3, last = (uintptr_t)(p + 3) & ~(uintptr_t)3;

    return __funnelshift_r(*(const uint32_t *)first, *(const uint32_t *)last,
                           8 * ((uintptr_t)p & 3));
}

/* Up to 4 WORDS bytes from any offset, loaded as aligned words. word() shifts them into place, so a
 * thread waits for the loads only when it uses the bytes. */
template <unsigned WORDS> class unaligned_words
{
  public:
    /* in: aligned to 4 bytes. Reads only the words that hold the bytes; bytes may be 0. */
    __device__ void load(const uint32_t *in, uint32_t at, uint32_t bytes)
    {
        const uint32_t last = bytes != 0 ? (at + bytes - 1) / 4 : 0;

        shift_ = 8 * (at % 4);
#pragma unroll
        for (unsigned k = 0; k <= WORDS; k++)
            word_[k] = __ldg(in + min(at / 4 + k, last));
    }

    __device__ uint32_t word(unsigned k) const
    {
        return __funnelshift_r(word_[k], word_[k + 1], shift_);
    }

  private:
    uint32_t word_[WORDS + 1];
    uint32_t shift_; /* bits before the first byte */
};

/* Copies every step-th byte from first on, one by one: each of step threads calls it with its
 * own first. */
__device__ inline void copy_strided(uint8_t *to, const uint8_t *from, uint32_t length,
                                    uint32_t first, uint32_t step)
{
    for (uint32_t n = first; n < length; n += step)
        to[n] = from[n];
}

/* By a warp: copies from an address that is aligned to 4 bytes to any address. Up to three bytes
 * behind the source are read. */
__device__ inline void copy_to_unaligned(uint8_t *to, const uint8_t *from, uint32_t length)
{
    const uint32_t lane = bale_warp::lane();
    const uint32_t before = min(length, (uint32_t)(-(uintptr_t)to % 4));
    const uint32_t words = (length - before) / 4, after = before + 4 * words;
    const uint32_t *in = (const uint32_t *)from;

    if (lane < before)
        to[lane] = from[lane];
    for (uint32_t k = lane; k < words; k += 32)
        ((uint32_t *)(to + before))[k] =
            before != 0 ? __funnelshift_r(in[k], in[k + 1], 8 * before) : in[k];
    if (after + lane < length)
        to[after + lane] = from[after + lane];
}

/* By a block: copies between addresses that are aligned to 16 bytes. */
__device__ inline void copy_aligned(uint8_t *to, const uint8_t *from, uint32_t length)
{
    const uint32_t words = length / 16;

    for (uint32_t k = threadIdx.x; k < words; k += blockDim.x)
        ((uint4 *)to)[k] = ((const uint4 *)from)[k];
    copy_strided(to + 16 * words, from + 16 * words, length % 16, threadIdx.x, blockDim.x);
}
} // namespace bale_bytes

#endif
