/* Frames made by hand, and changed ones whose checksums are right again: what reaches a decoder
 * behind the checksums. */
#ifndef BALE_TESTS_VECTORS_CRAFT_H
#define BALE_TESTS_VECTORS_CRAFT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/bytes.h"
#include "format/hash.h"
#include "tests/codecs/cases.h"
#include "tests/support/offsets.h"

/* Makes the head checksum of a frame with that many chunks right. */
static inline void craft_seal_head(uint8_t *frame, size_t chunks)
{
    size_t covered = FRAME_AT_TABLE + FRAME_ENTRY_SIZE * chunks;

    bale_put64(frame + covered, bale_hash(frame, covered));
}

/* Likewise the checksums of the chunks, whose stored lengths in the table are within the frame. */
static inline void craft_seal(uint8_t *frame, size_t chunks)
{
    const uint8_t *stored = frame + FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * chunks;

    for (size_t i = 0; i < chunks; i++) {
        uint8_t *entry = frame + FRAME_AT_TABLE + FRAME_ENTRY_SIZE * i;
        uint32_t length = bale_get32(entry);
        bale_put64(entry + FRAME_ENTRY_AT_CHECKSUM, bale_hash(stored, length));
        stored += length;
    }
    craft_seal_head(frame, chunks);
}

enum { CRAFT_HEAD = FRAME_HEAD_MIN + FRAME_ENTRY_SIZE }; /* of a frame with one chunk */

/* Writes a frame of one chunk, the stream of that codec. Returns its length, CRAFT_HEAD more than
 * the stream's. */
static inline size_t craft_frame(uint8_t codec, const struct codec_stream *stream, uint8_t *out)
{
    uint8_t hash[8];

    bale_put64(hash, bale_hash(stream->raw, stream->raw_length));
    memset(out, 0, FRAME_AT_TABLE);
    memcpy(out, "BFRM", 4);
    out[FRAME_AT_VERSION] = 1;
    out[FRAME_AT_CODEC] = codec;
    out[FRAME_AT_CHUNK_LOG2] = 16;
    bale_put16(out + FRAME_AT_PARAMETER, stream->parameter);
    bale_put32(out + FRAME_AT_RAW_LENGTH, stream->raw_length);
    bale_put64(out + FRAME_AT_RAW_CHECKSUM, bale_hash(hash, sizeof hash));
    bale_put32(out + FRAME_AT_STORED_LENGTH, stream->length);
    bale_put32(out + FRAME_AT_TABLE, stream->length);
    memcpy(out + CRAFT_HEAD, stream->stored, stream->length);
    craft_seal(out, 1);
    return CRAFT_HEAD + stream->length;
}

#endif
