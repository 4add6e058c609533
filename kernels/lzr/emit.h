/* From sequences to a stream (spec.md). The same sequences give the same bytes everywhere. */
#ifndef BALE_KERNELS_LZR_EMIT_H
#define BALE_KERNELS_LZR_EMIT_H

#include "kernels/lzr/lzr.h"

enum { LZR_SHORT = 256 };

/* Working memory. Arrays of sequences are padded to whole rounds. */
struct lzr_emit {
    const struct bale_rans_steps *steps;
    uint8_t class_of_run[LZR_RUN];
    uint8_t bits_of_run[LZR_RUN];
    uint8_t class_of_length[LZR_SHORT]; /* above the least */
    uint8_t bits_of_match[LZR_MATCH_CLASSES];
    uint32_t sequences;
    uint8_t runs[LZR_SEQUENCES];
    uint8_t run_class[LZR_SEQUENCES + LZR_ROUND];
    uint8_t match_class[LZR_SEQUENCES + LZR_ROUND];  /* or LZR_ABSENT */
    uint8_t offset_class[LZR_SEQUENCES + LZR_ROUND]; /* or LZR_ABSENT */
    uint8_t raw_bits[LZR_SEQUENCES + LZR_ROUND];
    uint32_t raw[LZR_SEQUENCES + LZR_ROUND];
    uint32_t groups;
    uint32_t group_sequence[LZR_GROUPS + 1]; /* the first of each, and the end */
    uint32_t group_literal[LZR_GROUPS + 1];
    uint32_t literal_count;
    uint8_t literals[LZR_CHUNK + BALE_RANS_ROOM];
    uint8_t table[LZR_CHUNK + BALE_RANS_ROOM]; /* of each literal, if there are four */
    uint32_t counts[LZR_TABLES][256];
    uint32_t run_counts[LZR_RUN_CLASSES];
    uint32_t match_counts[LZR_MATCH_CLASSES];
    uint32_t offset_counts[LZR_OFFSET_CLASSES];
    bale_rans_symbol literal_symbols[LZR_TABLES * 256];
    bale_rans_symbol run_symbols[LZR_RUN_CLASSES];
    bale_rans_symbol match_symbols[LZR_MATCH_CLASSES];
    bale_rans_symbol offset_symbols[LZR_OFFSET_CLASSES];
    uint8_t head[8 + (LZR_TABLES + 3) * BALE_RANS_TABLE_BYTES];
    uint8_t words[LZR_STREAMS][2 * (LZR_CHUNK + 5 * LZR_SEQUENCES) + 4 * BALE_RANS_STATES];
};

/* Sets what does not change. */
void lzr_emit_init(struct lzr_emit *emit, const struct bale_rans_steps *steps);

/* Turns what was found into classes, and counts them: the counts of runs, matches and offsets, and
 * the number of literals. */
void lzr_emit_count(struct lzr_emit *emit, const struct lzr_found *found, uint32_t count);

/* Writes the stream of the sequences, which stand for raw, to out. Returns its length, or 0 if that
 * is more than capacity. */
uint32_t lzr_emit(struct lzr_emit *emit, const struct lzr_found *found, uint32_t count,
                  const uint8_t *raw, uint32_t raw_length, uint8_t *out, uint32_t capacity);

#endif
