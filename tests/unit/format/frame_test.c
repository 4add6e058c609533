/* Frame heads: every field's place, every rule of FORMAT.md section 6. */
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
static struct bale_frame head_frame(void)
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

static struct bale_frame zero_frame(void)
{
    struct bale_frame frame = head_frame();

    frame.raw_length = 64 << 20;
    frame.parameter = 0xab;
    frame.codec = BALE_CODEC_ZERO;
    frame.chunk_log2 = 26;
    return frame;
}

static void check_same(const struct bale_frame *a, const struct bale_frame *b)
{
    CHECK_EQ_U(a->offset, b->offset);
    CHECK_EQ_U(a->generation, b->generation);
    CHECK_EQ_U(a->raw_checksum, b->raw_checksum);
    CHECK_EQ_U(a->head_checksum, b->head_checksum);
    CHECK_EQ_U(a->raw_length, b->raw_length);
    CHECK_EQ_U(a->stored_length, b->stored_length);
    CHECK_EQ_U(a->chunks, b->chunks);
    CHECK_EQ_U(a->head_length, b->head_length);
    CHECK_EQ_U(a->parameter, b->parameter);
    CHECK_EQ_U(a->codec, b->codec);
    CHECK_EQ_U(a->chunk_log2, b->chunk_log2);
}

static void test_layout(void)
{
    uint8_t out[HEAD];
    struct bale_frame frame = head_frame();
    struct bale_frame found;

    memset(out, 0xff, sizeof(out));
    CHECK_EQ_U(bale_frame_head_encode(&frame, head_chunks, out), HEAD);
    CHECK_EQ_MEM(out, head_bytes, HEAD);
    CHECK_EQ_U(frame.chunks, CHUNKS);
    CHECK_EQ_U(frame.stored_length, 5000);
    CHECK_EQ_U(frame.head_length, HEAD);
    CHECK_EQ_U(frame.head_checksum, UINT64_C(0xbfa6f36d036c945d));

    CHECK_EQ(bale_frame_head_decode(head_bytes, HEAD, &found), BALE_OK);
    check_same(&found, &frame);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct bale_chunk chunk = bale_frame_chunk(head_bytes, &found, i);

        CHECK_EQ_U(chunk.stored, head_chunks[i].stored);
        CHECK_EQ_U(chunk.checksum, head_chunks[i].checksum);
        CHECK_EQ_U(bale_frame_chunk_raw(&found, i), i < 2 ? 4096 : 1808);
    }
}

static void test_layout_without_table(void)
{
    uint8_t out[ZERO_HEAD];
    struct bale_frame frame = zero_frame();
    struct bale_frame found;

    memset(out, 0xff, sizeof(out));
    CHECK_EQ_U(bale_frame_head_encode(&frame, NULL, out), ZERO_HEAD);
    CHECK_EQ_MEM(out, zero_bytes, ZERO_HEAD);
    CHECK_EQ(bale_frame_head_decode(zero_bytes, ZERO_HEAD, &found), BALE_OK);
    check_same(&found, &frame);
    CHECK_EQ_U(found.chunks, 0);
    CHECK_EQ_U(found.stored_length, 0);
}

/* The head of head_bytes with an extent part: its entry is the first. */
static void make_part_bytes(uint8_t bytes[static PART_HEAD])
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

static void test_layout_with_part(void)
{
    uint8_t expected[PART_HEAD], out[PART_HEAD];
    struct bale_frame frame = head_frame(), found;

    make_part_bytes(expected);
    frame.codec = BALE_CODEC_FSST;
    frame.parameter = 0;
    frame.part = (struct bale_chunk){.stored = 40, .checksum = 77};
    CHECK_EQ_U(bale_frame_head_encode(&frame, head_chunks, out), PART_HEAD);
    CHECK_EQ_MEM(out, expected, PART_HEAD);
    CHECK_EQ_U(frame.stored_length, 5040);
    CHECK_EQ_U(bale_frame_chunks_at(&frame), PART_HEAD + 40);
    CHECK_EQ(bale_frame_head_decode(expected, PART_HEAD, &found), BALE_OK);
    check_same(&found, &frame);
    CHECK_EQ_U(found.part.stored, 40);
    CHECK_EQ_U(found.part.checksum, 77);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct bale_chunk chunk = bale_frame_chunk(expected, &found, i);

        CHECK_EQ_U(chunk.stored, head_chunks[i].stored);
        CHECK_EQ_U(chunk.checksum, head_chunks[i].checksum);
    }
}

static void test_lengths(void)
{
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_FSST, 4097, 12), 88);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_ZSTD, 1, 12), 64);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_LZ4, 4096, 12), 64);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_STORE, 4097, 12), 76);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_ZERO, 64 << 20, 12), 52);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_STORE, 64 << 20, 12), HEAD_MOST);
    CHECK_EQ_U(bale_frame_head_length(BALE_CODEC_STORE, 64 << 20, 26), 64);
    CHECK_EQ_U(bale_frame_bound(4097, 12), 76 + 4097);
    CHECK_EQ_U(bale_frame_bound(64 << 20, 12), HEAD_MOST + (64 << 20));
}

static void test_stamp(void)
{
    uint8_t stamped[HEAD];
    uint8_t expected[HEAD];
    struct bale_frame frame;
    struct bale_frame again = head_frame();

    memcpy(stamped, head_bytes, HEAD);
    REQUIRE(bale_frame_head_decode(stamped, HEAD, &frame) == BALE_OK);
    bale_frame_stamp(stamped, &frame, 5);
    again.generation = 5;
    bale_frame_head_encode(&again, head_chunks, expected);
    CHECK_EQ_MEM(stamped, expected, HEAD);
    check_same(&frame, &again);
}

/* A whole head's room: what changes the lengths must not hide behind BALE_E_SHORT. */
static void test_every_flipped_byte(const uint8_t *good, size_t length)
{
    uint8_t *bytes = calloc(1, HEAD_MOST);
    struct bale_frame frame;

    REQUIRE(bytes != NULL);
    memcpy(bytes, good, length);
    for (size_t at = 0; at < length; at++) {
        for (unsigned change = 1; change < 256; change++) {
            bytes[at] = (uint8_t)(good[at] ^ change);
            if (!CHECK_EQ(bale_frame_head_decode(bytes, HEAD_MOST, &frame), BALE_E_CORRUPT))
                fprintf(stderr, "    byte %zu changed by 0x%02x\n", at, change);
        }
        bytes[at] = good[at];
    }
    free(bytes);
}

static void test_too_few_bytes(void)
{
    for (size_t length = 0; length < HEAD; length++) {
        uint8_t *exact = malloc(length > 0 ? length : 1);
        struct bale_frame frame;

        REQUIRE(exact != NULL);
        memcpy(exact, head_bytes, length);
        CHECK_EQ(bale_frame_head_decode(exact, length, &frame), BALE_E_SHORT);
        CHECK_EQ_U(frame.head_length, length < ZERO_HEAD ? ZERO_HEAD : HEAD);
        free(exact);
    }
}

/* The most that BALE_E_SHORT can ask for. */
static void test_most_bytes(void)
{
    uint8_t bytes[HEAD];
    struct bale_frame frame;

    memcpy(bytes, head_bytes, HEAD);
    bale_put32(bytes + FRAME_AT_RAW_LENGTH, 64 << 20);
    CHECK_EQ(bale_frame_head_decode(bytes, HEAD, &frame), BALE_E_SHORT);
    CHECK_EQ_U(frame.head_length, HEAD_MOST);
    bale_put32(bytes + FRAME_AT_RAW_LENGTH, (64 << 20) + 1);
    CHECK_EQ(bale_frame_head_decode(bytes, HEAD, &frame), BALE_E_CORRUPT);
}

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED
#define TOP (UINT64_C(1) << 63)

/* clang-format off */
static const struct rule rules[] = {
    {"magic", BAD, {{FRAME_AT_MAGIC, 1, 'b'}}},
    {"version 0", BAD, {{FIELD(FRAME_AT_VERSION), 0}}},
    {"version 2", NEW, {{FIELD(FRAME_AT_VERSION), 2}}},
    {"flags bit 0", NEW, {{FIELD(FRAME_AT_FLAGS), 1}}},
    {"flags bit 7", NEW, {{FIELD(FRAME_AT_FLAGS), 0x80}}},
    {"zero field, low", NEW, {{FIELD(FRAME_AT_ZERO), 1}}},
    {"zero field, high", NEW, {{FIELD(FRAME_AT_ZERO), 0x8000}}},
    {"chunk log2 11", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 11}}},
    {"chunk log2 27", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 27}}},
    {"chunk log2 0", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 0}}},
    {"chunk log2 255", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 255}}},
    {"raw length 0", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 0}}},
    {"raw length beyond 64 MiB", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), (64 << 20) + 1}}},
    {"raw length of all ones", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), UINT32_MAX}}},
    {"raw length, least for three chunks", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 8192 + 308}}},
    {"last chunk stored longer than raw", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 8192 + 307}}},
    {"raw length, most for three chunks", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 12288}}},
    {"last file offset", OK, {{FIELD(FRAME_AT_OFFSET), TOP - 1 - 10000}}},
    {"file offset beyond 2^63 - 1", BAD, {{FIELD(FRAME_AT_OFFSET), TOP - 10000}}},
    {"file offset wraps", BAD, {{FIELD(FRAME_AT_OFFSET), UINT64_MAX}}},
    {"generation 0, as in a stream", OK, {{FIELD(FRAME_AT_GENERATION), 0}}},
    {"generation of all ones", OK, {{FIELD(FRAME_AT_GENERATION), UINT64_MAX}}},
    {"stored length too small", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 4999}}},
    {"stored length too great", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 5001}}},
    {"stored length of all ones", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), UINT32_MAX}}},
    {"an empty chunk", BAD, {{FIELD(FRAME_AT_TABLE), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 5000 - 596}}},
    {"a chunk of one byte", OK, {{FIELD(FRAME_AT_TABLE), 1}, {FIELD(FRAME_AT_STORED_LENGTH), 5000 - 595}}},
    {"a chunk stored longer than raw", BAD,
     {{FRAME_AT_TABLE + FRAME_ENTRY_SIZE, 4, 4097}, {FIELD(FRAME_AT_STORED_LENGTH), 5001}}},
    {"stored lengths that wrap to the right sum", BAD,
     {{FIELD(FRAME_AT_TABLE), UINT32_MAX - 4000}, {FRAME_AT_TABLE + FRAME_ENTRY_SIZE, 4, 4096},
      {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 4905}}},
    {"codec lz4", OK, {{FIELD(FRAME_AT_CODEC), 2}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"lz4 with a parameter", BAD, {{FIELD(FRAME_AT_CODEC), 2}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"any zstd level", OK, {{FIELD(FRAME_AT_PARAMETER), 0x7fff}}},
    {"codec 4", NEW, {{FIELD(FRAME_AT_CODEC), 4}}},
    {"culzss of version 1", OK, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"culzss of version 2", OK, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 2}}},
    {"culzss of version 0", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"culzss of version 3", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 3}}},
    {"culzss of version 257", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 257}}},
    {"gpulz", OK, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x1dff}}},
    {"gpulz with its least parameter", OK,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x0020}}},
    {"gpulz with a window of 31", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x001f}}},
    {"gpulz with pieces of 128 KiB", BAD,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x0620}}},
    {"gpulz with adaptive symbols", BAD,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x2020}}},
    {"gpulz with bit 14", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x4020}}},
    {"gpulz with bit 15", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x8020}}},
    {"lzr of level 1", OK, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"lzr of level 9", OK, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 9}}},
    {"lzr of level 0", BAD, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"lzr of level 10", BAD, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 10}}},
    {"a codec whose table has an entry more", BALE_E_SHORT, {{FIELD(FRAME_AT_CODEC), 18}}},
    {"codec auto", NEW, {{FIELD(FRAME_AT_CODEC), 255}}},
    {"an unknown codec comes before its table's rules", NEW,
     {{FIELD(FRAME_AT_CODEC), 22}, {FIELD(FRAME_AT_TABLE), 0}}},
    {"store", OK,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 10000},
      {FIELD(FRAME_AT_TABLE), 4096}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
    {"store with a parameter", BAD,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 1}, {FIELD(FRAME_AT_STORED_LENGTH), 10000},
      {FIELD(FRAME_AT_TABLE), 4096}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
    {"store with a chunk that is not raw", BAD,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 9999},
      {FIELD(FRAME_AT_TABLE), 4095}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
};

#define CHUNK_AT(i) FRAME_AT_TABLE + (1 + (i)) * FRAME_ENTRY_SIZE, 4
#define PART_CHECKSUM FRAME_AT_TABLE + FRAME_ENTRY_AT_CHECKSUM, 8
#define OF_NOTHING UINT64_C(0x2d06800538d394c2)

/* The part has 40 bytes, the chunks 596, 4096 and 308, of 10000. */
static const struct rule part_rules[] = {
    {"as it is", OK, {{0}}},
    {"a sum without the part", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of no bytes", OK,
     {{FIELD(FRAME_AT_TABLE), 0}, {PART_CHECKSUM, OF_NOTHING}, {FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of no bytes with another checksum", BAD,
     {{FIELD(FRAME_AT_TABLE), 0}, {PART_CHECKSUM, OF_NOTHING ^ 1}, {FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of an eighth", OK, {{FIELD(FRAME_AT_TABLE), 1250}, {FIELD(FRAME_AT_STORED_LENGTH), 6250}}},
    {"a part of more than an eighth", BAD,
     {{FIELD(FRAME_AT_TABLE), 1251}, {FIELD(FRAME_AT_STORED_LENGTH), 6251}}},
    {"a part of all ones", BAD, {{FIELD(FRAME_AT_TABLE), UINT32_MAX}}},
    {"the least gain", OK,
     {{CHUNK_AT(0), 4096}, {CHUNK_AT(2), 1599}, {FIELD(FRAME_AT_STORED_LENGTH), 9831}}},
    {"less gain", BAD,
     {{CHUNK_AT(0), 4096}, {CHUNK_AT(2), 1600}, {FIELD(FRAME_AT_STORED_LENGTH), 9832}}},
    {"fsst with a parameter", BAD, {{FIELD(FRAME_AT_PARAMETER), 1}}},
    {"cusz", OK, {{FIELD(FRAME_AT_CODEC), 19}}},
    {"float", OK, {{FIELD(FRAME_AT_CODEC), 21}}},
};

static const struct rule zero_rules[] = {
    {"parameter 0", OK, {{FIELD(FRAME_AT_PARAMETER), 0}}},
    {"parameter 255", OK, {{FIELD(FRAME_AT_PARAMETER), 255}}},
    {"parameter 256", BAD, {{FIELD(FRAME_AT_PARAMETER), 256}}},
    {"stored bytes", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 1}}},
    {"raw length 0", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 0}}},
    {"raw length 1", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 1}}},
    {"chunk log2 12", OK, {{FIELD(FRAME_AT_CHUNK_LOG2), 12}}},
    {"chunk log2 11", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 11}}},
    {"chunk log2 27", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 27}}},
    {"chunk log2 255", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 255}}},
    {"newer version", NEW, {{FIELD(FRAME_AT_VERSION), 9}}},
};
/* clang-format on */

static void test_rules(const struct rule *table, size_t count, const uint8_t *good, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[PART_HEAD];
        struct bale_frame frame;

        memcpy(bytes, good, length);
        edit_apply(&table[i], bytes);
        edit_seal(bytes, length);
        edit_check(&table[i], bale_frame_head_decode(bytes, length, &frame));
    }
}

/* Heads of all shapes, read back. */
static void test_round_trip(void)
{
    static const uint32_t raw_lengths[] = {1, 4095, 4096, 4097, 131072, 131073, 64 << 20};
    static struct bale_chunk chunks[64 << 20 >> 12];
    uint8_t *out = malloc(HEAD_MOST);

    REQUIRE(out != NULL);
    for (size_t i = 0; i < sizeof(raw_lengths) / sizeof(raw_lengths[0]); i++) {
        for (uint8_t log2 = BALE_CHUNK_LOG2_MIN; log2 <= BALE_CHUNK_LOG2_MAX; log2++) {
            struct bale_frame frame = head_frame();
            struct bale_frame found;
            uint32_t raw = raw_lengths[i];
            uint32_t total = 0;

            frame.raw_length = raw;
            frame.chunk_log2 = log2;
            for (uint32_t c = 0; (uint64_t)c << log2 < raw; c++) {
                uint32_t left = raw - (c << log2);

                chunks[c].stored = left < UINT32_C(1) << log2 ? left : UINT32_C(1) << log2;
                chunks[c].checksum = ~(uint64_t)c;
            }
            CHECK_EQ_U(bale_frame_head_encode(&frame, chunks, out),
                       bale_frame_head_length(frame.codec, raw, log2));
            CHECK_EQ(bale_frame_head_decode(out, HEAD_MOST, &found), BALE_OK);
            check_same(&found, &frame);
            for (uint32_t c = 0; c < found.chunks; c++)
                total += bale_frame_chunk_raw(&found, c);
            CHECK_EQ_U(total, raw);
            CHECK_EQ_U(found.head_length + found.stored_length, bale_frame_bound(raw, log2));
        }
    }
    free(out);
}

int main(void)
{
    uint8_t part_bytes[PART_HEAD];

    test_layout();
    test_layout_with_part();
    test_layout_without_table();
    test_lengths();
    test_stamp();
    test_every_flipped_byte(head_bytes, HEAD);
    test_every_flipped_byte(zero_bytes, ZERO_HEAD);
    test_too_few_bytes();
    test_most_bytes();
    test_rules(rules, RULES(rules), head_bytes, HEAD);
    make_part_bytes(part_bytes);
    test_rules(part_rules, RULES(part_rules), part_bytes, PART_HEAD);
    test_every_flipped_byte(part_bytes, PART_HEAD);
    test_rules(zero_rules, RULES(zero_rules), zero_bytes, ZERO_HEAD);
    test_round_trip();
    return check_result();
}
