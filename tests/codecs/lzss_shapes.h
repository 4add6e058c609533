/* Test data that data_fill has not: much the same again and again, and what makes a search by
 * hashes slow. */
#ifndef BALE_TESTS_CODECS_LZSS_SHAPES_H
#define BALE_TESTS_CODECS_LZSS_SHAPES_H

#include "tests/codecs/data.h"

/* Numbers go on from enum data_kind. */
enum shape {
    SHAPE_EQUAL = DATA_KINDS,
    SHAPE_BINARY,
    SHAPE_QUATERNARY,
    SHAPE_MOSTLY_ZERO,
    SHAPE_PERIOD_2,
    SHAPE_PERIOD_255,
    SHAPE_PERIOD_256,
    SHAPE_PERIOD_ERRORS,
    SHAPE_THREE_AND_ONE,
    SHAPE_RUNS,
    SHAPE_WORDS,
    SHAPES
};

static inline uint8_t shape_byte(enum shape shape, const uint8_t *out, size_t i, uint64_t random)
{
    uint8_t any = (uint8_t)(random >> 32);

    switch (shape) {
    case SHAPE_BINARY:
        return random & 1;
    case SHAPE_QUATERNARY:
        return random & 3;
    case SHAPE_MOSTLY_ZERO:
        return random % 12 ? 0 : any;
    case SHAPE_PERIOD_2:
        return i & 1;
    case SHAPE_PERIOD_255:
        return i < 255 ? any : out[i - 255];
    case SHAPE_PERIOD_256:
        return i < 256 ? any : out[i - 256];
    case SHAPE_PERIOD_ERRORS:
        return i < 96 || random % 60 == 0 ? any : out[i - 96];
    case SHAPE_THREE_AND_ONE:
        return i % 4 == 3 ? any : 'a';
    case SHAPE_RUNS:
        return i > 0 && random % 9 ? out[i - 1] : any & 1;
    case SHAPE_WORDS: /* aligned symbols of 8 bytes, of which there are few */
        return (uint8_t)(i % 8 ? out[i - 1] * 7 + 1 : any % 5);
    default:
        return 7;
    }
}

static inline void shape_fill(unsigned kind, uint8_t *out, size_t length)
{
    uint64_t state = kind;

    if (kind < DATA_KINDS)
        data_fill((enum data_kind)kind, length, out, length);
    else
        for (size_t i = 0; i < length; i++)
            out[i] = shape_byte((enum shape)kind, out, i, data_next(&state));
}

#endif
