/* The text of what a setting says about an array: the options of the codecs that have fields. */
#ifndef BALE_KERNELS_FRAME_FIELD_H
#define BALE_KERNELS_FRAME_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/reason.h"

/* Reads the options of a lossy codec or a lossless one:
 *
 *     f32|f64,abs=E                  of a lossy one: values change by E at most
 *     f32|f64,rel=E,range=LO:HI      by E times (HI - LO) at most
 *     f32|f64,rel=E                  the same of the range that the array turns out to have
 *     npy,abs=E                      what the file's NumPy header says; also with rel=
 *     f32|f64|i16|i32|i64            of a lossless one
 *
 * each with dims=X, XxY, XxYxZ or XxYxZxW (x adjacent in the file; z and w are folded), be, and
 * offset=N; npy has none of these. A lossy one also has pipeline=. The bound is the largest
 * binary64 that is not above E; with rel=, each operand and result is rounded such that the product
 * is not above the exact one.
 *
 * options: what is behind the codec's colon, or NULL. relative: NULL if the caller does not see
 * whole arrays: then rel= needs range=. Else it gets the E of a rel= without range=, where the
 * field has no step before bale_field_set_range; 0: the bound is known. BALE_E_INVALID: why (may be
 * NULL) says what is wrong and what would be right, quoting what is there. */
int bale_field_parse(const char *name, uint8_t codec, const char *options, struct bale_field *field,
                     double *relative, struct bale_reason *why);

/* Sets the step that rel=E,range=LOW:HIGH gives; relative: E. BALE_E_INVALID: it is none that a
 * field may have, as why (may be NULL) says. */
int bale_field_set_range(const char *name, double relative, double low, double high,
                         struct bale_field *field, struct bale_reason *why);

/* The bound of a step, which is half of it; 0 of none. */
double bale_field_bound(uint64_t step);

/* Writes the shortest options that parse to the same field, without the colon; nothing for an empty
 * one. size at least BALE_FIELD_TEXT. */
#define BALE_FIELD_TEXT 160
void bale_field_print(uint8_t codec, const struct bale_field *field, char *text, size_t size);

/* The options in short, as a list that help shows: "f32|f64,abs=E,...". */
const char *bale_field_explain(uint8_t codec);

#endif
