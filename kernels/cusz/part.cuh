/* cusz on the device: writing the extent part (spec.md); book.cuh reads it. */
#ifndef BALE_KERNELS_CUSZ_PART_CUH
#define BALE_KERNELS_CUSZ_PART_CUH

#include "kernels/cusz/subject.cuh"

namespace bale_cusz
{
/* By a thread: writes half bytes, the lower one of each byte first. */
struct halves {
    uint8_t *bytes;
    uint32_t count;

    __device__ void add(uint32_t half)
    {
        if (count % 2 == 0)
            bytes[count / 2] = (uint8_t)half;
        else
            bytes[count / 2] |= (uint8_t)(half << 4);
        count++;
    }
};

/* By a thread: returns the bytes that code lengths take. */
__device__ inline uint32_t write_lengths(const uint8_t *lengths, uint8_t *out)
{
    halves to = {out, 0};
    uint32_t end = CUSZ_TOKENS;

    while (lengths[end - 1] == 0)
        end--;
    for (uint32_t i = 0; i < end; i++) {
        uint32_t more = 0;
        to.add(lengths[i]);
        if (lengths[i] > 0)
            continue;
        for (; more < 15 && lengths[i + 1] == 0; i++)
            more++;
        to.add(more);
    }
    return (to.count + 1) / 2;
}

__device__ inline void put32(uint8_t *out, uint32_t value)
{
    for (uint32_t k = 0; k < 4; k++)
        out[k] = (uint8_t)(value >> 8 * k);
}

/* By a thread: returns the part's length. */
__device__ inline uint32_t write_part(const subject &of, uint32_t order, uint32_t segment_log2,
                                      const uint8_t *lengths, uint8_t *out)
{
    uint32_t length = CUSZ_HEAD;
    uint64_t step;

    memcpy(&step, &of.r.step, sizeof step);
    out[0] =
        (uint8_t)((of.size == 8 ? CUSZ_F64 : 0) | (of.r.big_endian ? CUSZ_BIG_ENDIAN : 0) |
                  order << CUSZ_ORDER_AT | (segment_log2 - CUSZ_SEGMENT_MIN) << CUSZ_SEGMENT_AT |
                  (of.matches ? CUSZ_MATCHES : 0));
    out[1] = (uint8_t)of.lead;
    put32(out + 2, (uint32_t)step);
    put32(out + 6, (uint32_t)(step >> 32));
    for (uint32_t i = 1; i < order; i++, length += 4)
        put32(out + length, of.strides[i]);
    return length + write_lengths(lengths, out + length);
}
} // namespace bale_cusz

#endif
