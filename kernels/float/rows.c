#include "kernels/float/learn.h"

/* What is left of the bytes, in 1/256, if those `stride` before are subtracted; by probes. */
static uint32_t left_at(const uint8_t *bytes, uint32_t count, uint32_t stride)
{
    const uint32_t range = count - FLOAT_BLOCK - stride;
    uint8_t none[FLOAT_BLOCK];
    uint32_t with = 0, without = 0;

    memset(none, 128, sizeof none);
    for (unsigned probe = 0; probe < FLOAT_PROBES; probe++) {
        const uint8_t *at = bytes + stride + range * probe / (FLOAT_PROBES - 1);
        with += float_distance(at, at - stride);
        without += float_distance(at, none);
    }
    return without > FLOAT_SUM_LEAST ? 256 * with / without : 256;
}

/* Whether more is left at the stride before: near elements are alike where a field is smooth. */
static bool is_dip(const uint8_t *bytes, uint32_t count, uint32_t stride, uint32_t step,
                   uint32_t left)
{
    return left < left_at(bytes, count, stride - step);
}

uint32_t float_rows_of_records(const uint16_t *sums, uint32_t most)
{
    uint32_t best = sums[0] > FLOAT_SUM_LEAST ? sums[0] - sums[0] / 8 : 0, found = 0;

    for (uint32_t rows = FLOAT_ROWS_LEAST; rows <= most; rows++)
        if (sums[rows] < best && sums[rows] < sums[rows - 1])
            best = sums[rows], found = rows;
    return found;
}

uint32_t float_second_stride(const uint8_t *bytes, uint32_t count, uint32_t first)
{
    uint32_t best = 256 / 2, found = 0, left;

    for (uint32_t stride = first / 2; stride >= FLOAT_ROWS_LEAST; stride--)
        if (first % stride == 0) {
            left = left_at(bytes, count, stride);
            if (left < best && is_dip(bytes, count, stride, stride / 8, left))
                best = left, found = stride;
        }
    if (found > 0)
        return found;
    for (uint32_t rows = FLOAT_ROWS_LEAST;
         rows <= FLOAT_ROWS_MOST && rows * first + FLOAT_BLOCK <= count; rows++) {
        left = left_at(bytes, count, rows * first);
        if (left < best && is_dip(bytes, count, rows * first, first, left))
            best = left, found = rows * first;
    }
    return found;
}
