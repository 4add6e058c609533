/* Rounding what a piece of a file has of an array, and files that must not be rounded. Pure
 * functions. */
#ifndef BALE_KERNELS_ROUND_PIECE_H
#define BALE_KERNELS_ROUND_PIECE_H

#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

enum {
    BALE_ROUND_BEGIN = 4096,  /* bytes of a file that show what it is */
    BALE_ROUND_PAGE = 4096,   /* no element across a multiple of this is rounded */
    BALE_ROUND_SIGNATURE = 8, /* bytes at a place behind the begin that show it, too */
    BALE_ROUND_PLACES = 64,   /* at most so many such places are there */
};

/* Whether the elements of a file may be rounded, and what they are. said: what the file's setting
 * says of them; begin: its first bytes, BALE_ROUND_BEGIN of them or all. NULL: they may be rounded;
 * *field then has the type f32 or f64 (of npy, from the header). Else they may not, *field is all
 * zero, and the answer is what the file is: a format's name ("HDF5", "zip", ..., and of a field
 * without offset "NumPy", "VTK", ...), "text", or with npy "no NumPy array of f32 or f64". */
const char *bale_round_resolve(const struct bale_field *said, const uint8_t *begin, size_t length,
                               struct bale_field *field);

/* The first place from offset on, behind the begin, where HDF5 behind a user block may have its
 * signature: a power of two. UINT64_MAX: there is none. */
uint64_t bale_round_place(uint64_t offset);

/* The place before offset whose signature goes on behind it. UINT64_MAX: there is none. */
uint64_t bale_round_place_across(uint64_t offset);

/* As bale_round_resolve, of any piece of the file, the bytes from offset on: "HDF5 behind a user
 * block" if it has the signature of that at such a place, as a whole. Else, and always with npy,
 * NULL. */
const char *bale_round_resolve_piece(const struct bale_field *said, uint64_t offset,
                                     const uint8_t *piece, size_t length);

/* Copies a piece of a file, the bytes from offset on, and rounds, with the field's step, the
 * elements that lie in it as a whole, in the array, and not across a multiple of BALE_ROUND_PAGE.
 * out is in or does not overlap it, and never holds an element that is to be rounded and is not. A
 * field without type f32 or f64 or without a step changes nothing. */
void bale_round_piece(const struct bale_field *field, uint64_t offset, uint8_t *out,
                      const uint8_t *in, size_t length);

/* The same of a piece as a program writes it, which may begin or end anywhere, but for elements of
 * which that piece has a byte of what may be a part of the signature of HDF5 behind a user block:
 * they stay as they are, so that the signature is there as a whole once the rest is. out and in do
 * not overlap. */
void bale_round_written(const struct bale_field *field, uint64_t offset, uint8_t *out,
                        const uint8_t *in, size_t length);

#endif
