/* Decoding (spec.md). */
#ifndef BALE_KERNELS_LZR_DECODE_H
#define BALE_KERNELS_LZR_DECODE_H

#include "kernels/lzr/lzr.h"

/* A group that is being decoded. */
struct lzr_group {
    uint32_t sequences;
    uint8_t runs[LZR_GROUP];
    uint8_t offset_classes[LZR_GROUP];
    uint16_t lengths[LZR_GROUP];
    uint16_t offsets[LZR_GROUP];
    uint32_t literal_count;
    uint32_t coded; /* of the literals; the others are in the carries */
    uint8_t literals[LZR_GROUP_ROOM + BALE_RANS_ROOM];
    uint8_t tables[LZR_GROUP_ROOM + BALE_RANS_ROOM];
};

/* Working memory. What vectors may overrun has room. */
struct lzr_decode {
    const struct bale_rans_steps *steps;
    bale_rans_slot literal_slots[LZR_TABLES << LZR_LITERAL_BITS];
    bale_rans_slot run_slots[1 << LZR_CLASS_BITS];
    bale_rans_slot match_slots[1 << LZR_CLASS_BITS];
    bale_rans_slot offset_slots[1 << LZR_CLASS_BITS];
    uint32_t run_classes[LZR_RUN_CLASSES]; /* base << 8 | bits */
    uint32_t match_classes[LZR_MATCH_CLASSES];
    uint32_t offset_classes[LZR_OFFSET_CLASSES];
    uint8_t run_bits[LZR_RUN_CLASSES];
    uint8_t match_bits[LZR_MATCH_CLASSES];
    uint8_t offset_bits[LZR_OFFSET_CLASSES];
    uint8_t words[LZR_CHUNK + BALE_RANS_ROOM];
    uint16_t last[LZR_REPEATS];
    struct lzr_group groups[LZR_STREAMS]; /* that are decoded together */
};

/* Sets what does not change. */
void lzr_decode_init(struct lzr_decode *decode, const struct bale_rans_steps *steps);

/* Decodes the stream to raw, raw_length bytes: BALE_OK or BALE_E_CORRUPT. It may stop when it has
 * raw[0, end). */
int lzr_decode(struct lzr_decode *decode, const uint8_t *in, uint32_t length, uint8_t *raw,
               uint32_t raw_length, uint32_t end);

#endif
