/* Frames made by hand, and changed ones whose checksums are right again: what reaches a decoder
 * behind the checksums. */
#ifndef BALE_TESTS_VECTORS_CRAFT_H
#define BALE_TESTS_VECTORS_CRAFT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/bytes.h"
#include "format/frame.h"
#include "format/hash.h"
#include "tests/codecs/cases.h"
#include "tests/support/offsets.h"

/* Entries in the table of a frame with that many chunks: the extent part has the first. */
static inline size_t craft_entries(const uint8_t *frame, size_t chunks)
{
    return chunks + (bale_codec_has_part(frame[FRAME_AT_CODEC]) ? 1 : 0);
}

/* Where the entry of chunk i is. */
static inline size_t craft_at_chunk(const uint8_t *frame, size_t i)
{
    return FRAME_AT_TABLE + FRAME_ENTRY_SIZE * craft_entries(frame, i);
}

/* Makes the head checksum of a frame with that many chunks right. */
static inline void craft_seal_head(uint8_t *frame, size_t chunks)
{
    size_t covered = craft_at_chunk(frame, chunks);

    bale_put64(frame + covered, bale_hash(frame, covered));
}

/* Likewise the checksums of extent part and chunks, whose stored lengths in the table are within
 * the frame. */
static inline void craft_seal(uint8_t *frame, size_t chunks)
{
    size_t entries = craft_entries(frame, chunks);
    const uint8_t *stored = frame + FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * entries;

    for (size_t i = 0; i < entries; i++) {
        uint8_t *entry = frame + FRAME_AT_TABLE + FRAME_ENTRY_SIZE * i;
        uint32_t length = bale_get32(entry);
        bale_put64(entry + FRAME_ENTRY_AT_CHECKSUM,
                   i < entries - chunks
                       ? bale_hash(stored, length)
                       : bale_chunk_checksum(frame[FRAME_AT_CODEC], stored, length));
        stored += length;
    }
    craft_seal_head(frame, chunks);
}

enum { CRAFT_HEAD_MAX = FRAME_HEAD_MIN + 2 * FRAME_ENTRY_SIZE }; /* of a frame with one chunk */

/* Length of the head of a frame with one chunk. */
static inline size_t craft_head(uint8_t codec)
{
    return FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * (bale_codec_has_part(codec) ? 2 : 1);
}

/* Writes a frame of one chunk, the stream of that codec. Returns its length: that of the head, of
 * the extent part and of the stream. */
static inline size_t craft_frame(uint8_t codec, const struct codec_stream *stream, uint8_t *out)
{
    size_t head = craft_head(codec);
    uint8_t hash[8], chunk_log2 = BALE_CHUNK_LOG2_DEFAULT;

    while (1u << chunk_log2 < stream->raw_length)
        chunk_log2++;
    bale_put64(hash, bale_chunk_checksum(codec, stream->raw, stream->raw_length));
    memset(out, 0, FRAME_AT_TABLE);
    memcpy(out, "BFRM", 4);
    out[FRAME_AT_VERSION] = 1;
    out[FRAME_AT_CODEC] = codec;
    out[FRAME_AT_CHUNK_LOG2] = chunk_log2;
    bale_put16(out + FRAME_AT_PARAMETER, stream->parameter);
    bale_put32(out + FRAME_AT_RAW_LENGTH, stream->raw_length);
    bale_put64(out + FRAME_AT_RAW_CHECKSUM, bale_hash(hash, sizeof hash));
    bale_put32(out + FRAME_AT_STORED_LENGTH, stream->part_length + stream->length);
    if (bale_codec_has_part(codec))
        bale_put32(out + FRAME_AT_TABLE, stream->part_length);
    bale_put32(out + craft_at_chunk(out, 0), stream->length);
    if (stream->part_length > 0)
        memcpy(out + head, stream->part, stream->part_length);
    memcpy(out + head + stream->part_length, stream->stored, stream->length);
    craft_seal(out, 1);
    return head + stream->part_length + stream->length;
}

#endif
