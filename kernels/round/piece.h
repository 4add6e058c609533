/* Rounding what a piece of a file has of an array, and files that must not be rounded. Pure
 * functions. */
#ifndef BALE_KERNELS_ROUND_PIECE_H
#define BALE_KERNELS_ROUND_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

enum { BALE_ROUND_BEGIN = 4096 }; /* bytes of a file that show what it is */

/* What a file is whose elements are no array of the field's, from its first bytes, BALE_ROUND_BEGIN
 * or all: "HDF5", "NetCDF", "NumPy" (of a field with another offset than its header's), "zip",
 * "gzip", "zstd", "xz", "tar", "ELF" or "text". NULL: none of these. */
const char *bale_round_refuses(const struct bale_field *field, const uint8_t *begin, size_t length);

/* Rounds, with the field's step, the elements that lie in the piece as a whole, not before the
 * array's offset and not across a multiple of 4096. bytes are those of the file from offset on. A
 * field without type f32 or f64 or without a step changes nothing. */
void bale_round_piece(const struct bale_field *field, uint64_t offset, uint8_t *bytes,
                      size_t length);

#endif
