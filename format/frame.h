/* Frame heads (FORMAT.md section 6). Pure functions over memory; no codec is called here. */
#ifndef BALE_FORMAT_FRAME_H
#define BALE_FORMAT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/limits.h"

/* An entry in the table. */
struct bale_chunk {
    uint64_t checksum; /* of the stored bytes */
    uint32_t stored;   /* bytes */
};

struct bale_frame {
    uint64_t offset; /* of the first raw byte in the file */
    uint64_t generation;
    uint64_t raw_checksum;
    uint64_t head_checksum;
    uint32_t raw_length;
    uint32_t stored_length; /* of the extent part and all chunks */
    uint32_t chunks;        /* in the table: 0 for BALE_CODEC_ZERO */
    uint32_t head_length;   /* bytes before the extent part and the chunks */
    uint16_t parameter;
    uint8_t codec;
    uint8_t chunk_log2;
    struct bale_chunk part; /* the extent part's entry; zero for a codec that has none */
};

#define BALE_CHUNK_ENTRY 12u /* bytes of an entry in the table */

/* Chunks of the frame's raw bytes. A frame of codec zero has them too, but not in its table. */
uint32_t bale_frame_chunk_count(const struct bale_frame *frame);

/* Head length of a frame. Codec and chunk size are also in an index segment. */
uint32_t bale_frame_head_length(uint8_t codec, uint32_t raw_length, uint8_t chunk_log2);

/* The most bytes that a frame of raw_length raw bytes takes: its head and raw chunks. */
size_t bale_frame_bound(uint32_t raw_length, uint8_t chunk_log2);

/* Writes the head; chunks[] has bale_frame.chunks entries. Sets frame->chunks, stored_length,
 * head_length and head_checksum from the rest, and part to zero if the codec has none. Returns the
 * head's length. out has room for it. */
uint32_t bale_frame_head_encode(struct bale_frame *frame, const struct bale_chunk *chunks,
                                uint8_t *out);

/* Reads and validates a head from the first length bytes of a frame. BALE_OK, BALE_E_CORRUPT,
 * BALE_E_UNSUPPORTED, or BALE_E_SHORT: more bytes are needed: head_length is set (sane, but not yet
 * vouched for). An unknown codec id is BALE_E_UNSUPPORTED; frame is filled as far as it was
 * read. */
int bale_frame_head_decode(const uint8_t *in, size_t length, struct bale_frame *frame);

/* The entry of chunk i in the table of a validated head. */
struct bale_chunk bale_frame_chunk(const uint8_t *head, const struct bale_frame *frame, uint32_t i);

/* Where the first chunk begins in the frame: behind the extent part, which is behind the head. */
static inline size_t bale_frame_chunks_at(const struct bale_frame *frame)
{
    return (size_t)frame->head_length + frame->part.stored;
}

/* The checksum of a chunk's bytes, raw or stored, in a frame of the codec (FORMAT.md section 6). Of
 * a codec with cells a chunk has BALE_CELLS_MAX at most. */
uint64_t bale_chunk_checksum(uint8_t codec, const uint8_t *bytes, uint32_t length);

/* Raw length of chunk i. */
uint32_t bale_frame_chunk_raw(const struct bale_frame *frame, uint32_t i);

/* The rules of encoders, which every engine keeps: its choices decide bytes on disk. */

/* Whether a frame may have this raw length, chunk size and offset. */
bool bale_frame_has_geometry(const struct bale_frame *frame);

/* The most bytes that a chunk of raw_length may be compressed to. A gain of less than 1/64 is not
 * worth decoding for: a chunk that takes more bytes is stored raw, and one is with a limit of 0. */
static inline uint32_t bale_chunk_limit(uint32_t raw_length)
{
    return raw_length - 1 - raw_length / 64;
}

/* The most bytes that the extent part of a frame may have: an eighth of its raw length. */
static inline uint32_t bale_part_limit(uint32_t raw_length)
{
    return raw_length / 8;
}

/* Whether an extent part and chunks of stored_length bytes together gain enough: a frame is not
 * longer than one that is stored raw, and by 1/64 worth decoding. If not, the codec is store. */
static inline bool bale_frame_with_part_gains(uint32_t raw_length, uint64_t stored_length)
{
    return stored_length + BALE_CHUNK_ENTRY <= bale_chunk_limit(raw_length);
}

/* The raw checksum from the chunks' hashes, count x BALE_HASH_SIZE bytes, little-endian. */
uint64_t bale_frame_raw_checksum(const uint8_t *hashes, uint32_t count);

/* Sets codec and parameter of a frame whose raw bytes all have this value. */
void bale_frame_set_zero(struct bale_frame *frame, uint8_t value);

/* Sets codec and parameter of any other frame from the setting, which is not open, and what the
 * chunks became: if none of them shrank, the codec is store. */
void bale_frame_set_codec(struct bale_frame *frame, struct bale_setting setting,
                          const struct bale_chunk *chunks);

/* Rewrites generation and head checksum of an encoded, valid head in place. */
void bale_frame_stamp(uint8_t *head, struct bale_frame *frame, uint64_t generation);

#endif
