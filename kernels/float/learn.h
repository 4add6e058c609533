/* Choosing an extent's layout (spec.md, "What an encoder chooses"). For the sources of this
 * directory. */
#ifndef BALE_KERNELS_FLOAT_LEARN_H
#define BALE_KERNELS_FLOAT_LEARN_H

#include <stdlib.h>

#include "kernels/float/tries.h"
#include "kernels/float/work.h"

/* An extent whose layout is chosen. */
struct float_extent {
    struct float_work *work;
    const uint8_t *raw;
    uint32_t length;
    uint32_t chunk; /* bytes; where the frame's are other ones, it is as good a guess */
    struct float_layout *layout; /* the type, from the beginning */
    uint32_t row, plane;         /* elements, where they are known; 0: not */
    bool flat;                   /* known to have no rows */
};

/* Bytes from the beginning on that windows lie in: without a short last chunk. */
static inline uint32_t float_used(const struct float_extent *extent)
{
    const uint32_t last = extent->length % extent->chunk;

    return last >= FLOAT_LEAST ? extent->length : extent->length - last;
}

/* The chunk of a window, from its first element on; *first is the element at which the window, with
 * its history, begins. */
const uint8_t *float_window(const struct float_extent *extent, unsigned window, uint32_t *first);

/* What the rows at a chunk's edges, which windows do not see, may cost more where rows are
 * interpolated. */
uint32_t float_edges_cost(const struct float_extent *extent, uint32_t row, uint32_t cost);

/* Whether interpolation is tried with a row of so many elements; and as above, the window having
 * FLOAT_AROUND rows around it in its chunk. */
bool float_can_interpolate(const struct float_extent *extent, uint32_t row);
const uint8_t *float_inner_window(const struct float_extent *extent, unsigned window, uint32_t row,
                                  uint32_t *first);

/* The chunk in which rows are looked for, from its first element on, and its length from there. */
const uint8_t *float_middle_chunk(const struct float_extent *extent, uint32_t *length);

/* The type of an extent's elements. */
void float_find_type(const struct float_steps *steps, const uint8_t *raw, uint32_t length,
                     struct float_layout *type);

/* Whether so many bits of the windows are worth a layout. */
bool float_gains(uint32_t bits, unsigned size_bits);

/* Of sums by the number of short records, of bytes that are differences between records and along
 * x: the records of a row; 0: there are no rows of them. sums[0] is what the bytes add up to. */
uint32_t float_rows_of_records(const uint16_t *sums, uint32_t most);

/* Of bytes, which are differences at the first stride, of FLOAT_ROWS_LEAST or more, and along x,
 * another stride at which they are alike: that of planes if the first one is a row, or the other
 * way round. 0: there is none. */
uint32_t float_second_stride(const uint8_t *bytes, uint32_t count, uint32_t first);

/* The layout of an extent: false if there is none. The field may have the type and dims. */
bool float_learn(struct float_work *work, const struct float_steps *steps,
                 const struct bale_field *field, uint64_t offset, const uint8_t *raw,
                 uint32_t length, struct float_layout *layout);

/* The map of a layout with another E. Decimals are not shifted. */
static inline struct float_map float_map_with(struct float_layout with, unsigned exponent)
{
    with.exponent = (uint16_t)exponent;
    if ((exponent & FLOAT_DECIMAL) != 0)
        with.shift = 0;
    return float_map_make(&with);
}

/* How different FLOAT_BLOCK bytes are from others. */
static inline uint32_t float_distance(const uint8_t *at, const uint8_t *from)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < FLOAT_BLOCK; i++)
        sum += (uint32_t)abs(at[i] - from[i]);
    return sum;
}

#endif
