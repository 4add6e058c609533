/* The range of an array, which a relative bound is a part of. */
#ifndef BALE_KERNELS_ROUND_RANGE_H
#define BALE_KERNELS_ROUND_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

/* The least and the largest finite element; of none: infinity and minus infinity. */
struct bale_range {
    double low, high;
};

/* The range of the elements that lie as a whole in a piece of a file, the bytes from offset on, and
 * in the field's array; none of a field without type f32 or f64. A pure function. */
struct bale_range bale_range_of_piece(const struct bale_field *field, uint64_t offset,
                                      const uint8_t *in, size_t length);

/* Widens a range to one that has the other as well. */
static inline void bale_range_widen(struct bale_range *range, const struct bale_range *other)
{
    range->low = other->low < range->low ? other->low : range->low;
    range->high = other->high > range->high ? other->high : range->high;
}

#endif
