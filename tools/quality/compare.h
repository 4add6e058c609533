/* The differences between a lossy copy of an array of numbers and its original. */
#ifndef BALE_TOOLS_QUALITY_COMPARE_H
#define BALE_TOOLS_QUALITY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/field.h"

enum { BALE_QUALITY_BINS = 17 }; /* of the histogram; the middle one has the errors around 0 */

/* Two files with the same array; of type f32 or f64. */
struct bale_quality_pair {
    int original, copy; /* descriptors */
    const char *original_name, *copy_name;
    struct bale_field field;
    uint64_t elements;
    double bound; /* 0: none is known */
};

struct bale_quality {
    uint64_t numbers;   /* elements that are finite in both files */
    uint64_t different; /* elements whose bits differ */
    uint64_t beyond;    /* numbers whose error is above the bound, in exact arithmetic, and elements
                         * that are finite in one file alone, or not finite and different */
    double low, high;   /* of the original's numbers */
    /* Errors may be beyond a double, and their squares far above or below all doubles. */
    long double worst;   /* the largest error */
    uint64_t worst_at;   /* its element */
    long double squares; /* sum of the squared errors */
    long double reach;   /* the histogram goes from -reach to reach: the bound, or the worst error;
                          * 0: all errors are 0, and in the middle one */
    uint64_t histogram[BALE_QUALITY_BINS];
    uint64_t outside; /* errors outside of it */
};

/* Bytes of an element. */
static inline size_t bale_quality_width(const struct bale_field *field)
{
    return field->type == BALE_FIELD_F64 ? 8 : 4;
}

/* Where the error lies in the histogram: -1 to 1, or outside of it. */
static inline double bale_quality_share(const struct bale_quality *quality, long double error)
{
    return (double)(quality->reach > 0 ? error / quality->reach : error);
}

/* By how much the copy is above the original. */
static inline long double bale_quality_error(double original, double copy)
{
    return (long double)copy - original;
}

/* The element that its bytes stand for. */
double bale_quality_element(const struct bale_field *field, const uint8_t *bytes);

/* Reads length bytes of element first and on from a file of the pair. False after a message. */
bool bale_quality_read(const struct bale_quality_pair *pair, bool copy, uint64_t first,
                       uint8_t *bytes, size_t length);

/* Reads both files, twice. False after a message. */
bool bale_quality_compare(const struct bale_quality_pair *pair, struct bale_quality *quality);

/* The RMS error as a part of the original's range; 0 if the copy is exact. */
long double bale_quality_nrmse(const struct bale_quality *quality);

#endif
