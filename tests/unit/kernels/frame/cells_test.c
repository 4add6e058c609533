/* Chunks of several cells: their checksums, their sizes, and what frames stored raw have
 * instead. */
#include <stdlib.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum {
    X = 256, /* elements of 4 bytes: four planes are four cells or more */
    Y = 64,
    Z = 20,
    PLANE = X * Y * 4,
    LENGTH = PLANE * Z + 5, /* and no whole element */
    CELL = 1 << 16,
};

static struct bale_scratch *scratch;

/* FORMAT.md section 6, in other words. */
static uint64_t by_parts(const uint8_t *bytes, uint32_t length)
{
    static uint8_t hashes[8 * 64];
    size_t n = 0;

    for (; length > CELL; bytes += CELL, length -= CELL)
        bale_put64(hashes + 8 * n++, bale_hash(bytes, CELL));
    bale_put64(hashes + 8 * n++, bale_hash(bytes, length));
    return bale_hash(hashes, 8 * n);
}

static void test_checksums(const uint8_t *bytes)
{
    static const uint8_t with_cells[] = {BALE_CODEC_CUSZ, BALE_CODEC_FLOAT};
    static const uint32_t longer[] = {CELL + 1, 2 * CELL, 3 * CELL - 1, 16 * CELL};

    for (size_t c = 0; c < sizeof with_cells; c++) {
        CHECK_EQ_U(bale_chunk_checksum(with_cells[c], bytes, 1), bale_hash(bytes, 1));
        CHECK_EQ_U(bale_chunk_checksum(with_cells[c], bytes, CELL), bale_hash(bytes, CELL));
        for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
            CHECK_EQ_U(bale_chunk_checksum(with_cells[c], bytes, longer[i]),
                       by_parts(bytes, longer[i]));
    }
    CHECK_EQ_U(bale_chunk_checksum(BALE_CODEC_STORE, bytes, CELL + 1), bale_hash(bytes, CELL + 1));
    CHECK_EQ_U(bale_chunk_checksum(BALE_CODEC_ZSTD, bytes, CELL + 1), bale_hash(bytes, CELL + 1));
}

/* f32 of a smooth field; a codec that rounds by 2^-9 leaves them as they are. */
static void fill_field(uint8_t *raw)
{
    data_fill(DATA_TEXT, 1, raw, LENGTH);
    for (int i = 0; i < X * Y * Z; i++) {
        float value = (float)(i % X + i / X % Y + (i / 97) % 3) / 256;

        memcpy(raw + 4 * i, &value, sizeof value);
    }
}

static struct bale_setting setting_of(const struct bale_codec_about *codec, const char *dims)
{
    char text[128];

    snprintf(text, sizeof text, "%s:f32%s%s", codec->name, dims,
             bale_codec_is_lossy(codec->id) ? ",abs=0.001953125" : "");
    return codec_setting_parse(text);
}

/* Returns the length of the frame at out. */
static size_t encode(struct bale_setting setting, const uint8_t *raw, struct bale_frame *frame,
                     uint8_t *out)
{
    size_t length;

    *frame = (struct bale_frame){.raw_length = LENGTH, .chunk_log2 = 16};
    REQUIRE(bale_frame_encode(scratch, setting, raw, frame, out, &length) == BALE_OK);
    CHECK(length <= bale_frame_bound(LENGTH, 16));
    return length;
}

/* A byte of a later cell is covered by the checksum, too. */
static void check_frame(const uint8_t *raw, const struct bale_frame *frame, uint8_t *out,
                        size_t length)
{
    size_t at = bale_frame_chunks_at(frame);
    uint8_t *back = malloc(LENGTH);

    REQUIRE(back);
    CHECK_EQ(bale_frame_decode(scratch, out, length, back, LENGTH, NULL), BALE_OK);
    CHECK_EQ_MEM(back, raw, LENGTH);
    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk entry = bale_frame_chunk(out, frame, i);

        CHECK_EQ_U(entry.checksum, entry.stored > CELL ? by_parts(out + at, entry.stored)
                                                       : bale_hash(out + at, entry.stored));
        out[at + entry.stored - 1] ^= 1;
        CHECK_EQ(bale_frame_decode(scratch, out, length, back, LENGTH, NULL), BALE_E_CORRUPT);
        out[at + entry.stored - 1] ^= 1;
        at += entry.stored;
    }
    free(back);
}

static void test_codec(const struct bale_codec_about *codec, uint8_t *raw, uint8_t *out)
{
    struct bale_setting flat = setting_of(codec, ""), deep = setting_of(codec, ",dims=256x64x20"),
                        wide = setting_of(codec, ",dims=4096x4096x2");
    struct bale_frame frame;
    size_t length;

    CHECK_EQ_U(bale_codec_chunk_log2(&deep, 12), 18);
    CHECK_EQ_U(bale_codec_chunk_log2(&wide, 12), codec->chunk_log2);
    CHECK(bale_codec_takes_chunks(codec->id, 16) && !bale_codec_takes_chunks(codec->id, 17));

    fill_field(raw);
    length = encode(deep, raw, &frame, out);
    CHECK_EQ(frame.codec, codec->id);
    CHECK_EQ(frame.chunk_log2, 18);
    CHECK_EQ_U(frame.chunks, (LENGTH - 1) / (1 << 18) + 1);
    check_frame(raw, &frame, out, length);
    encode(flat, raw, &frame, out);
    CHECK_EQ(frame.codec, codec->id);

    /* The other frames have chunks of the size that was asked for. */
    memset(raw, 7, LENGTH);
    encode(deep, raw, &frame, out);
    CHECK_EQ(frame.codec, BALE_CODEC_ZERO);
    CHECK_EQ(frame.chunk_log2, 16);
    data_fill(DATA_RANDOM, 1, raw, LENGTH);
    length = encode(deep, raw, &frame, out);
    CHECK_EQ(frame.codec, BALE_CODEC_STORE);
    CHECK_EQ(frame.chunk_log2, 16);
    CHECK_EQ_U(length, bale_frame_bound(LENGTH, 16));
}

int main(void)
{
    const struct bale_codec_about *codec;
    uint8_t *raw = malloc(LENGTH), *out = malloc(bale_frame_bound(LENGTH, 12));

    REQUIRE(raw && out && bale_scratch_create(&scratch) == BALE_OK);
    data_fill(DATA_RANDOM, 1, raw, LENGTH);
    test_checksums(raw);
    for (size_t i = 0; (codec = bale_codec_at(i)) != NULL; i++)
        if (bale_codec_has_cells(codec->id))
            test_codec(codec, raw, out);
    bale_scratch_destroy(scratch);
    free(raw);
    free(out);
    return check_result();
}
