/* fsst on the device: the raw splits of a chunk in shared memory, a row each. Rows have an odd
 * number of words, so that threads that are at the same byte of their splits read different banks. */
#ifndef BALE_KERNELS_FSST_ROWS_CUH
#define BALE_KERNELS_FSST_ROWS_CUH

#include "kernels/fsst/split.cuh"

namespace bale_fsst
{
constexpr uint32_t ROW_WORDS = SPLIT / 4 + 1;

struct rows {
    uint32_t words[SPLITS * ROW_WORDS];
};

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
} // namespace bale_fsst

#endif
