/* Frames made by hand, and changed ones whose checksums are right again: what reaches a decoder
 * behind the checksums. Positions are those of FORMAT.md section 6, written out so that a test does
 * not lean on the code it tests. */
#ifndef BALE_TESTS_VECTORS_CRAFT_H
#define BALE_TESTS_VECTORS_CRAFT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/bytes.h"
#include "format/hash.h"

enum {
    CRAFT_VERSION = 4,
    CRAFT_CODEC = 5,
    CRAFT_CHUNK_LOG2 = 6,
    CRAFT_FLAGS = 7,
    CRAFT_PARAMETER = 8,
    CRAFT_ZERO = 10,
    CRAFT_RAW_LENGTH = 12,
    CRAFT_OFFSET = 16,
    CRAFT_RAW_CHECKSUM = 32,
    CRAFT_STORED_LENGTH = 40,
    CRAFT_TABLE = 44,
    CRAFT_ENTRY = 12,
    CRAFT_HEAD_MIN = 52, /* with an empty table */
};

/* Makes the head checksum of a frame with that many chunks right. */
static inline void craft_seal_head(uint8_t *frame, size_t chunks)
{
    size_t covered = CRAFT_TABLE + CRAFT_ENTRY * chunks;

    bale_put64(frame + covered, bale_hash(frame, covered));
}

/* Likewise the checksums of the chunks, whose stored lengths in the table are within the frame. */
static inline void craft_seal(uint8_t *frame, size_t chunks)
{
    const uint8_t *stored = frame + CRAFT_HEAD_MIN + CRAFT_ENTRY * chunks;

    for (size_t i = 0; i < chunks; i++) {
        uint8_t *entry = frame + CRAFT_TABLE + CRAFT_ENTRY * i;
        uint32_t length = bale_get32(entry);
        bale_put64(entry + 4, bale_hash(stored, length));
        stored += length;
    }
    craft_seal_head(frame, chunks);
}

/* Writes a frame of one chunk, stored[0, length), that stands for raw[0, raw_length). Returns its
 * length. */
static inline size_t craft_frame(uint8_t codec, const void *stored, uint32_t length,
                                 const void *raw, uint32_t raw_length, uint8_t *out)
{
    uint8_t hash[8];

    bale_put64(hash, bale_hash(raw, raw_length));
    memset(out, 0, CRAFT_TABLE);
    memcpy(out, "BFRM", 4);
    out[CRAFT_VERSION] = 1;
    out[CRAFT_CODEC] = codec;
    out[CRAFT_CHUNK_LOG2] = 16;
    bale_put32(out + CRAFT_RAW_LENGTH, raw_length);
    bale_put64(out + CRAFT_RAW_CHECKSUM, bale_hash(hash, sizeof hash));
    bale_put32(out + CRAFT_STORED_LENGTH, length);
    bale_put32(out + CRAFT_TABLE, length);
    memcpy(out + CRAFT_HEAD_MIN + CRAFT_ENTRY, stored, length);
    craft_seal(out, 1);
    return CRAFT_HEAD_MIN + CRAFT_ENTRY + length;
}

#endif
