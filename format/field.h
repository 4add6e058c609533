/* What a setting says about an array in a file, for the codecs that look at elements rather than
 * bytes (FORMAT.md section 7). Pure functions. */
#ifndef BALE_FORMAT_FIELD_H
#define BALE_FORMAT_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bale_field_type {
    BALE_FIELD_NONE, /* nothing is known */
    BALE_FIELD_F32,
    BALE_FIELD_F64,
    BALE_FIELD_I16,
    BALE_FIELD_I32,
    BALE_FIELD_I64,
    BALE_FIELD_NPY, /* the file's own header has type, byte order, dims and offset */
    BALE_FIELD_TYPES,
};

/* How cusz codes what it predicted: each as in its specification. */
enum bale_field_pipeline {
    BALE_PIPELINE_AUTO,
    BALE_PIPELINE_HUFFMAN,
    BALE_PIPELINE_RLE,
    BALE_PIPELINE_RLE_HUFFMAN,
    BALE_PIPELINE_GPULZ_HUFFMAN,
    BALE_PIPELINES,
};

enum { BALE_FIELD_DIMS = 3 };

/* All zero: nothing is known, and nothing may be rounded. */
struct bale_field {
    uint8_t type;     /* enum bale_field_type */
    uint8_t pipeline; /* enum bale_field_pipeline */
    bool big_endian;
    uint64_t dims[BALE_FIELD_DIMS]; /* elements along x (adjacent in the file), y and z; 0: not
                                       given, and so are those after it */
    uint64_t offset;                /* bytes of the file before the first element */
    uint64_t end;  /* and with the last one, if the file says so itself (npy); 0: the
                                       array goes on to the file's end */
    uint64_t step; /* a binary64's bits: g = 2E of the bound E; 0: lossless */
};

/* Bytes of an element; 0 of a type that is not known. */
static inline uint32_t bale_field_element(const struct bale_field *field)
{
    static const uint8_t sizes[BALE_FIELD_TYPES] = {0, 4, 8, 2, 4, 8, 0};

    return field->type < BALE_FIELD_TYPES ? sizes[field->type] : 0;
}

/* Whether all members are equal. */
bool bale_field_equal(const struct bale_field *a, const struct bale_field *b);

/* Whether these bits are those of a step: it and its reciprocal are normal numbers. The bits of
 * steps are in the order of the steps. */
bool bale_step_valid(uint64_t step);

/* Whether a setting of the codec may have the field. It is all zero with a codec that knows no
 * fields. dims times the element's size never exceed the largest file. */
bool bale_field_valid(uint8_t codec, const struct bale_field *field);

#ifdef __cplusplus
}
#endif

#endif
