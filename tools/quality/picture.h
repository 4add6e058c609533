/* The picture of a comparison: a slice of the original, of the copy and of the errors side by side,
 * and the histogram of errors. */
#ifndef BALE_TOOLS_QUALITY_PICTURE_H
#define BALE_TOOLS_QUALITY_PICTURE_H

#include <stdio.h>

#include "tools/quality/compare.h"

/* A slice through the middle of the array, in as many elements as a picture has room for. */
struct bale_quality_slice;

/* NULL after a message. An array of one dimension gets no slice, and the picture is the histogram
 * alone: then *slice is NULL. False after a message. */
bool bale_quality_slice_read(const struct bale_quality_pair *pair,
                             struct bale_quality_slice **slice);
void bale_quality_slice_free(struct bale_quality_slice *slice);

/* Writes an SVG picture; slice may be NULL. The caller checks out for errors. */
void bale_quality_picture(const struct bale_quality_pair *pair, const struct bale_quality *quality,
                          const struct bale_quality_slice *slice, FILE *out);

#endif
