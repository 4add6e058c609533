/* The header of NumPy's format (numpy.lib.format, versions 1 to 3): what array a .npy file has.
 * Pure functions. */
#ifndef BALE_KERNELS_ROUND_NPY_H
#define BALE_KERNELS_ROUND_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

/* Whether the bytes, a file's first, begin as such a header does. */
bool bale_npy_is(const uint8_t *begin, size_t length);

/* Sets type, byte order, dims (x fastest; more than three are folded), offset and end of the field
 * from the header; the rest stays. False, and nothing is set: the header does not end within length, is
 * not as NumPy writes it, or its array is not one of f32 or f64. */
bool bale_npy_read(const uint8_t *begin, size_t length, struct bale_field *field);

#endif
