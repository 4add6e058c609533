/* The codec lzr (spec.md): sequences, classes and groups. */
#ifndef BALE_KERNELS_LZR_LZR_H
#define BALE_KERNELS_LZR_LZR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/rans/rans.h"

enum {
    LZR_CHUNK = 1 << 16, /* bytes, at most */
    LZR_MATCH_MIN = 3,
    LZR_MATCH_MAX = LZR_MATCH_MIN + (8 << 12) - 1,
    LZR_RUN = 64, /* of the run class that has no match */

    LZR_ROUND = BALE_RANS_LANES, /* sequences */
    LZR_GROUP = 8 * LZR_ROUND,   /* sequences, at most */
    LZR_GROUP_LITERALS = 1024,   /* a group with so many literals ends */
    LZR_GROUP_ROOM = LZR_GROUP_LITERALS - 1 + LZR_ROUND * LZR_RUN, /* so it has no more */
    LZR_CARRIED = 2 * BALE_RANS_LANES, /* literals that are in a stream's carries, at most */

    LZR_STREAMS = 2,
    LZR_TABLES = 4,          /* of literals */
    LZR_TWO_STREAMS = 16384, /* raw bytes from which our encoders take two */

    LZR_LITERAL_BITS = 11,
    LZR_CLASS_BITS = 10,
    LZR_RUN_CLASSES = 27,
    LZR_RUN_ONLY = 26, /* the run class without a match */
    LZR_MATCH_CLASSES = 61,
    LZR_MATCH_NONE = 0,
    LZR_OFFSET_CLASSES = 62,
    LZR_REPEATS = 3,   /* offset classes that repeat one */
    LZR_ABSENT = 0xff, /* no class: nothing is coded */

    /* The first byte. */
    LZR_FLAG_TWO_STREAMS = 1,
    LZR_FLAG_FOUR_TABLES = 2,

    LZR_SEQUENCES = LZR_CHUNK / LZR_MATCH_MIN + LZR_CHUNK / LZR_RUN + 2, /* that encoders make */
    LZR_FOUND = LZR_SEQUENCES + LZR_ROUND,
    LZR_GROUPS = LZR_SEQUENCES / LZR_GROUP + LZR_CHUNK / LZR_GROUP_LITERALS + 2,
};

static const struct bale_rans_alphabet lzr_literals = {256, LZR_LITERAL_BITS};
static const struct bale_rans_alphabet lzr_runs = {LZR_RUN_CLASSES, LZR_CLASS_BITS};
static const struct bale_rans_alphabet lzr_matches = {LZR_MATCH_CLASSES, LZR_CLASS_BITS};
static const struct bale_rans_alphabet lzr_offsets = {LZR_OFFSET_CLASSES, LZR_CLASS_BITS};

/* The offsets of the sequences before the first, the last one first. */
static const uint16_t lzr_first_offsets[LZR_REPEATS] = {1, 4, 8};

/* The sequences that an encoder found. Arrays may be read in whole rounds. */
struct lzr_found {
    uint32_t count;
    uint32_t literals;                         /* of all */
    uint8_t runs[LZR_FOUND];                   /* LZR_RUN at most, and then there is no match */
    uint16_t lengths[LZR_FOUND];               /* 0: there is no match */
    uint16_t offsets[LZR_REPEATS + LZR_FOUND]; /* behind those before the first sequence */
};

static inline void lzr_found_begin(struct lzr_found *found)
{
    found->count = found->literals = 0;
    for (unsigned i = 0; i < LZR_REPEATS; i++)
        found->offsets[LZR_REPEATS - 1 - i] = lzr_first_offsets[i];
}

static inline void lzr_found_append(struct lzr_found *found, uint32_t run, uint32_t length,
                                    uint32_t offset)
{
    uint32_t at = found->count++;

    found->runs[at] = (uint8_t)run;
    found->lengths[at] = (uint16_t)length;
    found->offsets[LZR_REPEATS + at] = (uint16_t)offset;
}

/* Appends a run of literals, and a match unless the length is 0. */
static inline void lzr_found_add(struct lzr_found *found, uint32_t run, uint32_t length,
                                 uint32_t offset)
{
    found->literals += run;
    for (; run >= LZR_RUN; run -= LZR_RUN)
        lzr_found_append(found, LZR_RUN, 0, found->offsets[LZR_REPEATS - 1 + found->count]);
    if (length > 0)
        lzr_found_append(found, run, length, offset);
    else if (run > 0)
        lzr_found_append(found, run, 0, found->offsets[LZR_REPEATS - 1 + found->count]);
}

/* A value in a class that has several: the least of the class, and the raw bits. */
struct lzr_class {
    uint16_t base;
    uint8_t bits;
};

static inline struct lzr_class lzr_run_class(unsigned class)
{
    if (class < 16)
        return (struct lzr_class){(uint16_t) class, 0};
    if (class < 20)
        return (struct lzr_class){(uint16_t)(16 + 2 * (class - 16)), 1};
    if (class < 22)
        return (struct lzr_class){(uint16_t)(24 + 4 * (class - 20)), 2};
    if (class < LZR_RUN_ONLY)
        return (struct lzr_class){(uint16_t)(32 + 8 * (class - 22)), 3};
    return (struct lzr_class){LZR_RUN, 0};
}

static inline struct lzr_class lzr_match_class(unsigned class)
{
    unsigned bits;

    if (class <= 16)
        return (struct lzr_class){(uint16_t)(class == LZR_MATCH_NONE ? 0 : 2 + class), 0};
    bits = (class - 17) / 4 + 2;
    return (struct lzr_class){(uint16_t)(LZR_MATCH_MIN + ((4 + (class - 17) % 4) << bits)),
                              (uint8_t)bits};
}

/* For classes that do not repeat an offset. */
static inline struct lzr_class lzr_offset_class(unsigned class)
{
    unsigned bits;

    if (class < 6)
        return (struct lzr_class){(uint16_t)(class < LZR_REPEATS ? 0 : class - 2), 0};
    bits = (class - 6) / 4;
    return (struct lzr_class){(uint16_t)((4 + (class - 6) % 4) << bits), (uint8_t)bits};
}

/* The classes of an encoder's values: a run below LZR_RUN, a length of a match, an offset that is
 * not repeated. */
static inline unsigned lzr_class_of_run(unsigned run)
{
    if (run < 16)
        return run;
    if (run < 24)
        return 16 + (run - 16) / 2;
    return run < 32 ? 20 + (run - 24) / 4 : 22 + (run - 32) / 8;
}

static inline unsigned lzr_log2(unsigned value)
{
    return 31u - (unsigned)__builtin_clz(value);
}

static inline unsigned lzr_class_of_length(unsigned length)
{
    unsigned value = length - LZR_MATCH_MIN, bits;

    if (value < 16)
        return 1 + value;
    bits = lzr_log2(value) - 2;
    return 17 + 4 * (bits - 2) + (value >> bits & 3);
}

static inline unsigned lzr_class_of_offset(unsigned offset)
{
    unsigned bits;

    if (offset < 4)
        return 2 + offset;
    bits = lzr_log2(offset) - 2;
    return 6 + 4 * bits + (offset >> bits & 3);
}

#endif
