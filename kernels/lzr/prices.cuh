/* lzr on the device: what literals, lengths and offsets cost in the parse of level 2. */
#ifndef BALE_KERNELS_LZR_PRICES_CUH
#define BALE_KERNELS_LZR_PRICES_CUH

#include "kernels/lzr/full.cuh"

namespace bale_lzr
{
/* In 1/16 bit. */
constexpr uint32_t PRICE_OF_NONE = 0xffff; /* more than any way costs */
constexpr uint32_t BIT = 16;
constexpr uint32_t LITERAL_MOST = 12 * BIT;
constexpr uint32_t RUN_PRICE = 20; /* of the run before a match */
constexpr uint32_t LENGTH_FIRST = 30, CLASS_FIRST = 2, LENGTH_PRICE_MOST = 140;
constexpr uint32_t OFFSET_FIRST = 80, OFFSET_PRICE_MOST = 176, REPEAT_FIRST = 32, REPEAT_MORE = 10;
constexpr uint32_t QUARTER = 16; /* of the class among those of the same log2 */
constexpr uint32_t FIRST_EVERY =
    4;                          /* of so many times 2 KiB, those whose literals are counted first */
constexpr uint32_t SAMPLED = 8; /* of so many threads' bytes, those that are a sample */
constexpr uint32_t SAMPLE_LEAST = 64; /* matches from which on a sample is one */

/* The price of what was counted so often, of total. */
__device__ inline uint32_t price_of(uint32_t count, uint32_t total)
{
    return (bale_rans::log2_q16(16 * total + 16) - bale_rans::log2_q16(16 * count + 1)) >> 12;
}

/* By a thread: of a match length. price: of its class. There is no match of fewer than three bytes. */
__device__ inline uint16_t length_price(uint32_t length, uint32_t price)
{
    return (uint16_t)(length < LENGTH_NONE
                          ? PRICE_OF_NONE
                          : RUN_PRICE + price + BIT * match_class(class_of_length(length)).bits);
}

/* By a thread: of offsets with this log2. price: without raw bits. */
__device__ inline uint16_t offset_price(uint32_t log2, uint32_t price)
{
    return (uint16_t)(price + BIT * (max(log2, 2u) - 2));
}

__device__ inline uint32_t length_class(uint32_t length)
{
    return length < LENGTH_NONE ? 1 : class_of_length(length);
}

/* By a block: the prices of literals, from their counts, which it clears. */
__device__ inline void price_literals(full_shared *f)
{
    const uint32_t count = threadIdx.x < 256 ? f->literals[threadIdx.x] : 0;
    uint32_t total;

    (void)block_sum(count, f->s.sums, &total);
    if (threadIdx.x < 256) {
        f->literal_price[threadIdx.x] = (uint16_t)min(LITERAL_MOST, price_of(count, total));
        f->literals[threadIdx.x] = 0;
    }
}

/* By a warp: counts the bytes at p to p + 3 that no match covers. four: the matches there. Lanes
 * have four positions each, one behind the other; matches before the warp's are not known. */
__device__ inline void count_literals(full_shared *f, uint32_t length, uint32_t p, uint4 four)
{
    const uint32_t of[4] = {four.x, four.y, four.z, four.w};
    uint32_t upto = 0; /* where the matches so far end */

#pragma unroll
    for (uint32_t k = 0; k < 4; k++)
        upto = max(upto, p + k < length && of[k] != 0 ? p + k + (of[k] >> 16) : 0);
    for (uint32_t by = 1; by < 32; by *= 2) {
        const uint32_t other = __shfl_up_sync(ALL, upto, by);
        if (lane() >= by)
            upto = max(upto, other);
    }
    const uint32_t before = __shfl_up_sync(ALL, upto, 1);
    upto = lane() > 0 ? before : 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
        if (p + k >= length)
            break;
        if (of[k] != 0)
            upto = max(upto, p + k + (of[k] >> 16));
        if (p + k >= upto)
            atomicAdd(&f->literals[f->s.byte(p + k)], 1u);
    }
}

/* By a block: the prices to begin with. A literal's is from the bytes that no match covers. */
__device__ inline void first_prices(full_shared *f, uint32_t length, const uint32_t *found)
{
    const uint32_t t = threadIdx.x;

    if (t < 256)
        f->literals[t] = 0;
    if (t < MATCHES)
        f->lengths[t] = 0;
    if (t <= OFFSETS_LOG2)
        f->offsets[t] = 0;
    __syncthreads();
    for (uint32_t p = 4 * t; p - 4 * lane() < length; p += FIRST_EVERY * 4 * ENCODE_THREADS)
        count_literals(f, length, p, p < length ? *(const uint4 *)(found + p) : uint4{});
    __syncthreads();
    price_literals(f);
    for (uint32_t i = t; i <= MATCH_MOST; i += ENCODE_THREADS)
        f->length_price[i] = length_price(i, LENGTH_FIRST + CLASS_FIRST * length_class(i));
    if (t < OFFSETS_LOG2)
        f->offset_price[t] = offset_price(t, OFFSET_FIRST);
    if (t == 0)
        f->repeat_price = REPEAT_FIRST;
    __syncthreads();
}

/* By a block: the prices from what was counted in a sample, if that is large enough. */
__device__ inline void prices_of_sample(full_shared *f)
{
    const uint32_t t = threadIdx.x;
    uint32_t total;

    (void)block_sum(t < MATCHES ? f->lengths[t] : 0, f->s.sums, &total);
    if (total < SAMPLE_LEAST)
        return;
    price_literals(f);
    for (uint32_t i = t; i <= MATCH_MOST; i += ENCODE_THREADS) {
        const uint32_t c = length_class(i);
        f->length_price[i] =
            length_price(i, min(LENGTH_PRICE_MOST, price_of(f->lengths[c], total)));
    }
    if (t < OFFSETS_LOG2)
        f->offset_price[t] =
            offset_price(t, QUARTER + min(OFFSET_PRICE_MOST, price_of(f->offsets[1 + t], total)));
    if (t == 0)
        f->repeat_price = (uint16_t)(REPEAT_MORE + price_of(f->offsets[0], total));
    __syncthreads();
}
} // namespace bale_lzr

#endif
