/* From sequences to a stream (spec.md). The same sequences give the same bytes everywhere. */
#ifndef BALE_KERNELS_LZR_EMIT_H
#define BALE_KERNELS_LZR_EMIT_H

#include "kernels/lzr/rounds.h"

/* Working memory. */
struct lzr_emit {
    const struct lzr_rounds *rounds;
    struct lzr_coded coded;
    uint32_t groups;
    uint32_t group_sequence[LZR_GROUPS + 1]; /* the first of each, and the end */
    uint32_t group_literal[LZR_GROUPS + 1];
    uint16_t literals[LZR_CHUNK + BALE_RANS_ROOM]; /* each with its table << 8 */
    uint32_t counts[LZR_TABLES * 256];             /* of each of these */
    uint32_t run_counts[256];                      /* of each class, and of LZR_ABSENT */
    uint32_t match_counts[256];
    uint32_t offset_counts[256];
    bale_rans_symbol literal_symbols[LZR_TABLES * 256];
    struct lzr_class_symbols symbols;
    uint8_t head[8 + (LZR_TABLES + 3) * BALE_RANS_TABLE_BYTES];
    uint8_t words[LZR_STREAMS][2 * (LZR_CHUNK + 5 * LZR_SEQUENCES) + 4 * BALE_RANS_STATES];
};

/* Sets what does not change. */
void lzr_emit_init(struct lzr_emit *emit, const struct lzr_rounds *rounds);

/* Sets the classes of what was found, and counts them. */
void lzr_emit_classes(struct lzr_emit *emit, const struct lzr_found *found);

/* Collects the literals and counts them, with four tables if that is better, otherwise with the
 * first. Returns whether it is. */
bool lzr_emit_literals(struct lzr_emit *emit, const struct lzr_found *found, const uint8_t *raw,
                       uint32_t raw_length);

/* Whether a chunk that is nearly all literals is likely to take more than capacity, by a sample. */
bool lzr_emit_is_hopeless(struct lzr_emit *emit, const struct lzr_found *found, const uint8_t *raw,
                          uint32_t raw_length, uint32_t capacity);

/* Writes the stream of the sequences, which stand for raw, to out. Returns its length, or 0 if that
 * is more than capacity. */
uint32_t lzr_emit(struct lzr_emit *emit, const struct lzr_found *found, const uint8_t *raw,
                  uint32_t raw_length, uint8_t *out, uint32_t capacity);

#endif
