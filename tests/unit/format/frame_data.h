/* Heads of frames, as bytes and as what they say. */
#ifndef BALE_TESTS_UNIT_FORMAT_FRAME_DATA_H
#define BALE_TESTS_UNIT_FORMAT_FRAME_DATA_H

#include "format/frame.h"
#include "tests/support/offsets.h"
#include "tests/unit/format/edit.h"

enum {
    CHUNKS = 3,
    HEAD = FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * CHUNKS,
    PART_HEAD = HEAD + FRAME_ENTRY_SIZE, /* with the entry of an extent part */
    ZERO_HEAD = FRAME_HEAD_MIN,          /* no table */
    HEAD_MOST = FRAME_HEAD_MIN + FRAME_ENTRY_SIZE * (64 << 20 >> 12),
};

static const uint8_t head_bytes[HEAD] = {
    0x42, 0x46, 0x52, 0x4d, 0x01, 0x03, 0x0c, 0x00, /* magic, version, codec, chunk log2, flags */
    0xfe, 0xff, 0x00, 0x00, 0x10, 0x27, 0x00, 0x00, /* parameter, zero, raw length */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* file offset */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* raw checksum */
    0x88, 0x13, 0x00, 0x00,                         /* stored length */
    0x54, 0x02, 0x00, 0x00, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* chunk 0 */
    0x00, 0x10, 0x00, 0x00, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, /* chunk 1 */
    0x34, 0x01, 0x00, 0x00, 0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, /* chunk 2 */
    0x5d, 0x94, 0x6c, 0x03, 0x6d, 0xf3, 0xa6, 0xbf,                         /* head checksum */
};

static const uint8_t zero_bytes[ZERO_HEAD] = {
    0x42, 0x46, 0x52, 0x4d, 0x01, 0x01, 0x1a, 0x00, 0xab, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x04, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27,
    0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32,
    0x31, 0x00, 0x00, 0x00, 0x00, 0x2f, 0x69, 0xa8, 0x16, 0x49, 0x3b, 0xdb, 0xc8,
};

static const struct bale_chunk head_chunks[CHUNKS] = {
    {.stored = 596, .checksum = UINT64_C(0x4142434445464748)},
    {.stored = 4096, .checksum = UINT64_C(0x5152535455565758)},
    {.stored = 308, .checksum = UINT64_C(0x6162636465666768)},
};

/* The fields that the encoder's caller sets. */
static inline struct bale_frame head_frame(void)
{
    return (struct bale_frame){
        .offset = UINT64_C(0x1112131415161718),
        .generation = UINT64_C(0x2122232425262728),
        .raw_checksum = UINT64_C(0x3132333435363738),
        .raw_length = 10000,
        .parameter = (uint16_t)-2,
        .codec = BALE_CODEC_ZSTD,
        .chunk_log2 = 12,
    };
}

static inline struct bale_frame zero_frame(void)
{
    struct bale_frame frame = head_frame();

    frame.raw_length = 64 << 20;
    frame.parameter = 0xab;
    frame.codec = BALE_CODEC_ZERO;
    frame.chunk_log2 = 26;
    return frame;
}

/* The head of head_bytes with an extent part: its entry is the first. */
static inline void make_part_bytes(uint8_t bytes[static PART_HEAD])
{
    enum { ENTRIES = FRAME_ENTRY_SIZE * CHUNKS, PART = 40 };

    memcpy(bytes, head_bytes, FRAME_AT_TABLE);
    bytes[FRAME_AT_CODEC] = 18;
    bale_put16(bytes + FRAME_AT_PARAMETER, 0);
    bale_put32(bytes + FRAME_AT_STORED_LENGTH, 5000 + PART);
    bale_put32(bytes + FRAME_AT_TABLE, PART);
    bale_put64(bytes + FRAME_AT_TABLE + FRAME_ENTRY_AT_CHECKSUM, 77);
    memcpy(bytes + FRAME_AT_TABLE + FRAME_ENTRY_SIZE, head_bytes + FRAME_AT_TABLE, ENTRIES);
    edit_seal(bytes, PART_HEAD);
}

#endif
