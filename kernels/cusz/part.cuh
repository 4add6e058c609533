/* cusz on the device: writing the extent part (spec.md); book.cuh reads it. */
#ifndef BALE_KERNELS_CUSZ_PART_CUH
#define BALE_KERNELS_CUSZ_PART_CUH

#include "kernels/cusz/subject.cuh"

namespace bale_cusz
{
__device__ inline void put32(uint8_t *out, uint32_t value)
{
    for (uint32_t k = 0; k < 4; k++)
        out[k] = (uint8_t)(value >> 8 * k);
}

/* Bytes of a part before its code lengths. */
__device__ inline uint32_t head_length(uint32_t order)
{
    return CUSZ_HEAD + (order > 1 ? 4 * (order - 1) : 0);
}

/* By a thread: writes these. */
__device__ inline void write_head(const subject &of, uint32_t order, uint32_t segment_log2,
                                  bool low_runs, uint8_t *out)
{
    uint64_t step;

    memcpy(&step, &of.r.step, sizeof step);
    out[0] =
        (uint8_t)((of.size == 8 ? CUSZ_F64 : 0) | (of.r.big_endian ? CUSZ_BIG_ENDIAN : 0) |
                  order << CUSZ_ORDER_AT | (segment_log2 - CUSZ_SEGMENT_MIN) << CUSZ_SEGMENT_AT |
                  (of.matches ? CUSZ_MATCHES : 0));
    out[1] = (uint8_t)(of.lead | (of.matches ? 0 : CUSZ_TURNED) | (low_runs ? CUSZ_LOW_RUNS : 0));
    put32(out + 2, (uint32_t)step);
    put32(out + 6, (uint32_t)(step >> 32));
    for (uint32_t i = 1; i < order; i++)
        put32(out + CUSZ_HEAD + 4 * (i - 1), of.strides[i]);
}
} // namespace bale_cusz

#endif
