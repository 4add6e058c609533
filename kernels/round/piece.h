/* Rounding what a piece of a file has of an array, and files that must not be rounded. Pure
 * functions. */
#ifndef BALE_KERNELS_ROUND_PIECE_H
#define BALE_KERNELS_ROUND_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

enum { BALE_ROUND_BEGIN = 4096 }; /* bytes of a file that show what it is */

/* What the elements of a file are that has begun so, by what its setting says: begin is its first
 * bytes, BALE_ROUND_BEGIN or all. NULL: *field says it, with type f32 or f64 (of npy, from the
 * header). Else nothing is to be rounded, and the answer is what the file is: "HDF5", "NetCDF",
 * "NumPy" (of a field with another offset than its header's), "zip", "gzip", "zstd", "xz", "tar",
 * "ELF", "text", or with npy "no NumPy array of f32 or f64"; *field is then all zero. */
const char *bale_round_resolve(const struct bale_field *said, const uint8_t *begin, size_t length,
                               struct bale_field *field);

/* Rounds, with the field's step, the elements that lie in the piece as a whole, not before the
 * array's offset and not across a multiple of 4096. bytes are those of the file from offset on. A
 * field without type f32 or f64 or without a step changes nothing. */
void bale_round_piece(const struct bale_field *field, uint64_t offset, uint8_t *bytes,
                      size_t length);

#endif
