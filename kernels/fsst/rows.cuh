/* fsst on the device: the splits of a chunk in shared memory, a row each. Rows have an odd number of
 * words, so that threads that are at the same byte of their splits read different banks. */
#ifndef BALE_KERNELS_FSST_ROWS_CUH
#define BALE_KERNELS_FSST_ROWS_CUH

#include "kernels/fsst/match.cuh"

namespace bale_fsst
{
constexpr unsigned THREADS = SPLITS; /* of a block that encodes or decodes: one for each split */
constexpr uint32_t ROW_WORDS = SPLIT / 4 + 3, ROW = 4 * ROW_WORDS; /* two that load_eight reads */

struct rows {
    uint32_t words[SPLITS * ROW_WORDS];
};

/* Eight bytes of a row. */
__device__ inline uint64_t load_eight(const uint32_t *row, uint32_t at)
{
    const uint32_t *w = row + at / 4;
    const uint32_t shift = 8 * (at % 4);

    return __funnelshift_r(w[0], w[1], shift) | (uint64_t)__funnelshift_r(w[1], w[2], shift) << 32;
}

/* By a block: the chunk's cell to rows. Up to three bytes behind the chunk are read. */
__device__ inline void load_rows(rows *r, const uint8_t *raw, uint32_t raw_length)
{
    const uint32_t *from = (const uint32_t *)raw;

    for (uint32_t k = threadIdx.x; k < (raw_length + 3) / 4; k += THREADS)
        r->words[k / (SPLIT / 4) * ROW_WORDS + k % (SPLIT / 4)] = from[k];
}

/* By a block: the rows to the chunk's cell. */
__device__ inline void store_rows(const rows *r, uint8_t *raw, uint32_t raw_length)
{
    uint32_t *to = (uint32_t *)raw;
    const uint32_t words = raw_length / 4;
    const auto word = [r](uint32_t k) {
        return r->words[k / (SPLIT / 4) * ROW_WORDS + k % (SPLIT / 4)];
    };

    for (uint32_t k = threadIdx.x; k < words; k += THREADS)
        to[k] = word(k);
    if (threadIdx.x < raw_length % 4)
        raw[4 * words + threadIdx.x] = (uint8_t)(word(words) >> 8 * threadIdx.x);
}

/* Bytes of the thread's split of a chunk; 0: it has none. */
__device__ inline uint32_t split_length(uint32_t raw_length)
{
    const uint32_t at = threadIdx.x * SPLIT;

    return at >= raw_length ? 0 : min(raw_length - at, SPLIT);
}
} // namespace bale_fsst

#endif
