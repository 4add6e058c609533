/* The rounds of groups (spec.md), in plain C or with what the processor has. All make and take the
 * same words. */
#ifndef BALE_KERNELS_LZR_ROUNDS_H
#define BALE_KERNELS_LZR_ROUNDS_H

#include "kernels/lzr/lzr.h"
#include "kernels/rans/vectors.h"

enum {
    LZR_SLOTS = 1 << LZR_CLASS_BITS,
    LZR_CLASSES = 64, /* of an alphabet, at most */

    /* Bytes before the words that a decoder may read: what the steps of a round take. */
    LZR_BEFORE = 5 * BALE_RANS_STEP,
};

/* What a class says to a decoder, for which tables give it in place of the class. Its values begin
 * at m << k and have k raw bits: k | m << 4. Besides,
 *   runs: LZR_RUN_FLAG if there is no match;
 *   match lengths: LZR_LENGTH_FLAG, which is the least length << 8, unless there is no match;
 *   offsets: class << 8 of classes that repeat one, whose m is 0. */
enum {
    LZR_RUN_FLAG = 1 << 8,
    LZR_LENGTH_FLAG = LZR_MATCH_MIN << 8,
};

/* A table of classes. */
union lzr_classes {
    bale_rans_slot slots[LZR_SLOTS + BALE_RANS_SLOTS_ROOM];
    struct {
        _Alignas(64) uint8_t class[LZR_SLOTS + BALE_RANS_ROOM];
        uint16_t frequency[LZR_CLASSES]; /* of each class */
        uint16_t cum[LZR_CLASSES];
        uint16_t meaning[LZR_CLASSES];
    } by_class;
};

/* What is decoded of a group. Rounds are written whole. */
struct lzr_group {
    uint32_t sequences;
    uint32_t literal_count;
    uint16_t runs[LZR_GROUP];
    uint16_t lengths[LZR_GROUP]; /* 0: there is no match */
    /* Behind those of the sequences before the group. 0: that of the sequence which repeats[] says,
     * 0 the one before. */
    uint16_t offsets[LZR_REPEATS + LZR_GROUP];
    uint16_t repeats[LZR_GROUP];
    uint32_t repeated[LZR_GROUP / LZR_ROUND]; /* a bit for each lane of a round */
};

/* A stream, what is left of it, and its group. */
struct lzr_source {
    struct bale_rans_stream stream;
    uint32_t sequences;
    struct lzr_group *group;
    bool in_group; /* the group has another round */
};

/* A decoder's tables of runs, match lengths and offsets. */
struct lzr_class_tables {
    union lzr_classes runs, matches, offsets;
    bool no_matches, no_offsets; /* no symbol occurs */
};

/* What an encoder codes: of each sequence its classes, or LZR_ABSENT, and its raw bits. Rounds are
 * written and read whole. */
struct lzr_coded {
    uint8_t run[LZR_FOUND];
    uint8_t match[LZR_FOUND];
    uint8_t offset[LZR_FOUND];
    uint8_t bits[LZR_FOUND];
    uint32_t raw[LZR_FOUND];
};

/* An encoder's tables. */
struct lzr_class_symbols {
    bale_rans_symbol runs[LZR_CLASSES], matches[LZR_CLASSES], offsets[LZR_CLASSES];
};

/* A stream, and the sequences of its next group. */
struct lzr_part {
    struct bale_rans_stream stream;
    uint32_t first, end;
};

/* The table of classes for steps that look slots up in memory: a make_table. */
static inline void lzr_make_slots(const struct bale_rans_frequencies *read, const uint16_t *meaning,
                                  union lzr_classes *table)
{
    bale_rans_slots(read, LZR_CLASS_BITS, meaning, table->slots);
}

struct lzr_rounds {
    const struct bale_rans_steps *steps; /* of the same kind */
    void (*make_table)(const struct bale_rans_frequencies *read, const uint16_t *meaning,
                       union lzr_classes *table);
    /* Decodes the sequences of the groups of all sources that are in one. False: corrupt. */
    bool (*decode)(const struct lzr_class_tables *tables, struct lzr_source source[LZR_STREAMS]);
    /* Sets the classes and raw bits of the sequences. */
    void (*classify)(const struct lzr_found *found, struct lzr_coded *coded);
    /* Encodes rounds of both streams, from the last to the first. */
    void (*encode)(const struct lzr_coded *coded, const struct lzr_class_symbols *symbols,
                   struct lzr_part part[LZR_STREAMS]);
};

#ifdef BALE_RANS_X86
extern const struct lzr_rounds lzr_avx512, lzr_avx2;
#endif

/* The fastest rounds of this processor; those that go with steps. */
const struct lzr_rounds *lzr_rounds(void);
const struct lzr_rounds *lzr_rounds_with(const struct bale_rans_steps *steps);

#endif
