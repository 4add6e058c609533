/* Frame heads: every field's place, and what is not a head (FORMAT.md section 6). */
#include "tests/unit/format/frame_data.h"

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
    make_part_bytes(part_bytes);
    test_every_flipped_byte(part_bytes, PART_HEAD);
    test_round_trip();
    return check_result();
}
