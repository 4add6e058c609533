/* From the sequences of a group to bytes (spec.md). */
#ifndef BALE_KERNELS_LZR_GROUPS_H
#define BALE_KERNELS_LZR_GROUPS_H

#include "kernels/lzr/decode.h"

/* A chunk that is being decoded. */
struct lzr_chunk {
    struct lzr_decode *decode;
    struct lzr_source source[LZR_STREAMS];
    unsigned streams;
    bool four;            /* tables of literals */
    unsigned no_literals; /* a bit for each of them that has no symbol */
    uint8_t *raw;
    uint32_t raw_length;
    uint32_t at; /* bytes that are decoded */
};

/* Decodes the literals of the groups that both streams are at. False: corrupt. */
bool lzr_decode_literals(struct lzr_chunk *chunk);

/* Writes the bytes of a stream's group, whose literals are decoded. False: corrupt. */
bool lzr_write_group(struct lzr_chunk *chunk, unsigned stream);

#endif
