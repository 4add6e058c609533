/* Stream heads and end records: every field's place, every rule of FORMAT.md section 11. */
#include "format/stream.h"

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/check.h"
#include "tests/support/offsets.h"

#define TOP (UINT64_C(1) << 63)

static const uint8_t head_bytes[BALE_STREAM_HEAD] = {
    0x42, 0x53, 0x54, 0x52, 0x01, 0x00, 0x00, 0x00, /* magic, version, 0 */
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, /* extent, 0 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* features */
    0x1e, 0x28, 0x47, 0xaf, 0x60, 0x5c, 0x61, 0x6d, /* checksum */
};

/* A stream of two frames with raw length 131072 and 5, stored 200 and 57, checksums 1 and 2; one
 * gap. */
static const uint8_t end_bytes[BALE_STREAM_END] = {
    0x42, 0x45, 0x4e, 0x44, 0x00, 0x00, 0x00, 0x00, /* magic, 0 */
    0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* frames */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* size */
    0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* stored */
    0xc7, 0x6c, 0x4a, 0x11, 0x87, 0x04, 0x44, 0xd6, /* chain */
    0x0b, 0x92, 0x8f, 0xa2, 0x6a, 0x45, 0x05, 0xbf, /* checksum */
};
#define SIZE UINT64_C(0x0102030405060708)

static const struct bale_frame first = {
    .raw_length = 131072, .head_length = 76, .stored_length = 124, .head_checksum = 1};
static const struct bale_frame second = {
    .offset = 200000, .raw_length = 5, .head_length = 52, .stored_length = 5, .head_checksum = 2};

static struct bale_stream two_frames(void)
{
    uint8_t head[BALE_STREAM_HEAD];
    struct bale_stream stream;

    bale_stream_begin(&stream, BALE_EXTENT_DEFAULT, (struct bale_setting){0}, head);
    CHECK_EQ_MEM(head, head_bytes, sizeof head);
    CHECK_EQ(bale_stream_add(&stream, &first), BALE_OK);
    CHECK_EQ(bale_stream_add(&stream, &second), BALE_OK);
    return stream;
}

static void test_written(void)
{
    struct bale_stream stream = two_frames(), read;
    uint8_t end[BALE_STREAM_END];
    uint64_t size = 0;

    CHECK_EQ_U(stream.frames, 2);
    CHECK_EQ_U(stream.size, 200005);
    CHECK_EQ_U(stream.stored, 257);
    bale_stream_end_encode(&stream, SIZE, end);
    CHECK_EQ_MEM(end, end_bytes, sizeof end);
    CHECK_EQ(bale_stream_head_decode(head_bytes, &read), BALE_OK);
    CHECK_EQ_U(read.extent, BALE_EXTENT_DEFAULT);
    CHECK_EQ(bale_stream_end_decode(end_bytes, &stream, &size), BALE_OK);
    CHECK_EQ_U(size, SIZE);
}

/* A stream whose frames may have an extent part says so in its head, and others have none. */
static void test_part(void)
{
    const struct bale_setting with = {.codec = BALE_CODEC_FSST};
    const struct bale_setting chosen = {.codec = BALE_CODEC_AUTO, .parameter = BALE_AUTO_FOR_SPEED};
    struct bale_frame frame = {.codec = BALE_CODEC_FSST, .raw_length = 100};
    struct bale_stream stream, read;
    uint8_t head[BALE_STREAM_HEAD];

    bale_stream_begin(&stream, BALE_EXTENT_DEFAULT, with, head);
    CHECK_EQ_MEM(head + STREAM_AT_FEATURES, "part\0\0\0", 8);
    REQUIRE(bale_stream_head_decode(head, &read) == BALE_OK);
    CHECK_EQ_U(read.features, BALE_FEATURE_PARTS);
    CHECK_EQ(bale_stream_add(&read, &frame), BALE_OK);
    bale_stream_begin(&stream, BALE_EXTENT_DEFAULT, chosen, head);
    CHECK_EQ_U(stream.features, BALE_FEATURE_PARTS);
    REQUIRE(bale_stream_head_decode(head_bytes, &read) == BALE_OK);
    CHECK_EQ(bale_stream_add(&read, &frame), BALE_E_CORRUPT);
    frame.codec = BALE_CODEC_STORE;
    CHECK_EQ(bale_stream_add(&read, &frame), BALE_OK);
}

/* Every bit, with the checksum put right or not. */
static void test_bits(void)
{
    struct bale_stream stream = two_frames(), read;
    uint8_t bytes[BALE_STREAM_END];
    uint64_t size;

    for (size_t bit = 0; bit < 8 * BALE_STREAM_HEAD; bit++) {
        memcpy(bytes, head_bytes, BALE_STREAM_HEAD);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_EQ(bale_stream_head_decode(bytes, &read), BALE_E_CORRUPT);
        if (bit < 8 * STREAM_AT_CHECKSUM) {
            bale_put64(bytes + STREAM_AT_CHECKSUM, bale_hash(bytes, STREAM_AT_CHECKSUM));
            int err = bale_stream_head_decode(bytes, &read);
            bool extent = bit / 8 >= STREAM_AT_EXTENT && bit / 8 < STREAM_AT_ZERO_2;
            bool gap = bit / 8 >= STREAM_AT_FEATURES + 4; /* before the second tag */
            CHECK(extent || err == (bit <= 8 * STREAM_AT_VERSION || gap ? BALE_E_CORRUPT
                                                                        : BALE_E_UNSUPPORTED));
        }
    }
    for (size_t bit = 0; bit < 8 * BALE_STREAM_END; bit++) {
        memcpy(bytes, end_bytes, BALE_STREAM_END);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_EQ(bale_stream_end_decode(bytes, &stream, &size), BALE_E_CORRUPT);
    }
}

static void test_extents(void)
{
    static const struct {
        uint32_t extent;
        int err;
    } cases[] = {
        {BALE_EXTENT_MIN, BALE_OK},
        {BALE_EXTENT_MAX, BALE_OK},
        {20480, BALE_OK},
        {0, BALE_E_CORRUPT},
        {12288, BALE_E_CORRUPT},
        {BALE_EXTENT_MAX + 4096, BALE_E_CORRUPT},
        {BALE_EXTENT_MIN + 1, BALE_E_CORRUPT},
    };
    uint8_t head[BALE_STREAM_HEAD];
    struct bale_stream stream;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bale_stream_begin(&stream, cases[i].extent, (struct bale_setting){0}, head);
        CHECK_EQ(bale_stream_head_decode(head, &stream), cases[i].err);
    }
}

static void test_order(void)
{
    struct bale_stream stream = two_frames(), before = stream;
    struct bale_frame next = {.offset = 200004, .raw_length = 1};

    CHECK_EQ(bale_stream_add(&stream, &next), BALE_E_CORRUPT);
    next = (struct bale_frame){.offset = 200005, .raw_length = 1, .generation = 1};
    CHECK_EQ(bale_stream_add(&stream, &next), BALE_E_CORRUPT);
    next = (struct bale_frame){.offset = 200005, .raw_length = BALE_EXTENT_DEFAULT + 1};
    CHECK_EQ(bale_stream_add(&stream, &next), BALE_E_CORRUPT);
    CHECK_EQ_MEM(&stream, &before, sizeof stream);
    next.raw_length--;
    CHECK_EQ(bale_stream_add(&stream, &next), BALE_OK);
}

static void test_sizes(void)
{
    struct bale_stream stream = two_frames();
    uint8_t end[BALE_STREAM_END];
    uint64_t size;

    bale_stream_end_encode(&stream, 200005, end);
    CHECK_EQ(bale_stream_end_decode(end, &stream, &size), BALE_OK);
    bale_stream_end_encode(&stream, 200004, end);
    CHECK_EQ(bale_stream_end_decode(end, &stream, &size), BALE_E_CORRUPT);
    bale_stream_end_encode(&stream, TOP - 1, end);
    CHECK_EQ(bale_stream_end_decode(end, &stream, &size), BALE_OK);
    bale_stream_end_encode(&stream, TOP, end);
    CHECK_EQ(bale_stream_end_decode(end, &stream, &size), BALE_E_CORRUPT);
}

/* A good end record, but of other frames. */
static void test_other(void)
{
    struct bale_stream stream = two_frames();
    uint64_t size;

    stream.frames++;
    CHECK_EQ(bale_stream_end_decode(end_bytes, &stream, &size), BALE_E_CORRUPT);
    stream.frames--;
    stream.stored++;
    CHECK_EQ(bale_stream_end_decode(end_bytes, &stream, &size), BALE_E_CORRUPT);
    stream.stored--;
    stream.chain++;
    CHECK_EQ(bale_stream_end_decode(end_bytes, &stream, &size), BALE_E_CORRUPT);
    stream.chain--;
    CHECK_EQ(bale_stream_end_decode(end_bytes, &stream, &size), BALE_OK);
}

/* Contents of several streams together have an end, too. */
static void test_too_long(void)
{
    struct bale_stream_reader reader = {0};
    struct bale_stream_item item;
    struct bale_stream stream;
    uint8_t bytes[BALE_STREAM_HEAD + BALE_STREAM_END];

    bale_stream_begin(&stream, BALE_EXTENT_MIN, (struct bale_setting){0}, bytes);
    bale_stream_end_encode(&stream, TOP - 1, bytes + BALE_STREAM_HEAD);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(bale_stream_read(&reader, bytes, 3, &item), BALE_E_SHORT);
        CHECK_EQ_U(item.length, BALE_STREAM_MAGIC);
        CHECK_EQ(bale_stream_read(&reader, bytes, 4, &item), BALE_E_SHORT);
        CHECK_EQ_U(item.length, BALE_STREAM_HEAD);
        CHECK_EQ(bale_stream_read(&reader, bytes, BALE_STREAM_HEAD, &item), BALE_OK);
        CHECK_EQ_STR(bale_stream_ended(&reader, 0), "the stream is cut short");
        int err = bale_stream_read(&reader, bytes + BALE_STREAM_HEAD, BALE_STREAM_END, &item);
        CHECK_EQ(err, i < 2 ? BALE_OK : BALE_E_TOOBIG);
        CHECK(i == 2 || !bale_stream_ended(&reader, 0));
    }
}

int main(void)
{
    test_written();
    test_part();
    test_bits();
    test_extents();
    test_order();
    test_sizes();
    test_other();
    test_too_long();
    return check_result();
}
