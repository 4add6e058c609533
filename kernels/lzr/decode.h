/* Decoding (spec.md). */
#ifndef BALE_KERNELS_LZR_DECODE_H
#define BALE_KERNELS_LZR_DECODE_H

#include "kernels/lzr/rounds.h"

/* A group's literals. What vectors may overrun has room. */
struct lzr_literals {
    uint32_t coded; /* the others are in the carries */
    uint8_t bytes[LZR_GROUP_ROOM + BALE_RANS_ROOM];
    uint8_t tables[LZR_GROUP_ROOM + BALE_RANS_ROOM];
};

/* Working memory. */
struct lzr_decode {
    const struct lzr_rounds *rounds;
    uint16_t run_meanings[LZR_RUN_CLASSES]; /* rounds.h */
    uint16_t match_meanings[LZR_MATCH_CLASSES];
    uint16_t offset_meanings[LZR_OFFSET_CLASSES];
    struct lzr_class_tables tables;
    bale_rans_slot literal_slots[(LZR_TABLES << LZR_LITERAL_BITS) + BALE_RANS_SLOTS_ROOM];
    uint16_t last[LZR_REPEATS];           /* offsets, the last one behind the others */
    struct lzr_group groups[LZR_STREAMS]; /* that are decoded together */
    struct lzr_literals literals[LZR_STREAMS];
    uint8_t words[LZR_BEFORE + LZR_CHUNK + BALE_RANS_ROOM];
};

/* Sets what does not change. */
void lzr_decode_init(struct lzr_decode *decode, const struct lzr_rounds *rounds);

/* Decodes the stream to raw, raw_length bytes: BALE_OK or BALE_E_CORRUPT. It may stop when it has
 * raw[0, end). */
int lzr_decode(struct lzr_decode *decode, const uint8_t *in, uint32_t length, uint8_t *raw,
               uint32_t raw_length, uint32_t end);

#endif
