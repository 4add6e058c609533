/* The arrays of a slot in device memory, one entry for each chunk, as nvCOMP takes them. */
#ifndef BALE_KERNELS_CODEC_LISTS_H
#define BALE_KERNELS_CODEC_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/codec/tables.h"

struct cuda_lists {
    uint8_t *raw;    /* cells of BALE_CUDA_CELL bytes */
    uint8_t *packed; /* cells of packed_cell bytes */
    uint8_t
        *back; /* cells of BALE_CUDA_CELL bytes, to which verification decodes; NULL without it */
    size_t packed_cell;
    void **raw_addresses, **packed_addresses, **back_addresses; /* of each cell */
    size_t *lengths; /* encode: raw bytes; decode: stored bytes */
    size_t *packed_lengths;
    const void **decode_from; /* a packed cell, or the stub if there is nothing to decode */
    size_t *decode_from_lengths;
    size_t *decode_room;
    size_t *decoded_lengths;
    int *statuses;
    /* For codecs with an extent part, for each frame: cells of BALE_CUDA_PART bytes, and what lies
     * there. */
    uint8_t *parts;
    struct cuda_part *made;
    uint8_t *work; /* of codecs with cells: BALE_CUDA_WORK bytes for each */
};

/* Stands for a chunk that is not decoded: a valid stream that decodes to one byte, or length 0. */
struct cuda_stub {
    const uint8_t *address;
    uint32_t length;
};

#endif
