/* Whole frames: round trips of every setting over sizes, chunk sizes and kinds of data. */
#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

static struct bale_scratch *scratch;
static bool few;

/* Raw bytes, frame and decoded bytes, each in a block of exactly its size, so that a sanitizer sees
 * any excess. */
struct trip {
    struct bale_frame frame;
    uint8_t *raw;
    uint8_t *out;
    size_t length;
};

static void check_chunks(const struct trip *t)
{
    uint32_t size = 1u << t->frame.chunk_log2;
    uint32_t count = (t->frame.raw_length - 1) / size + 1;
    const uint8_t *part = t->out + t->frame.head_length;
    const uint8_t *in = t->out + bale_frame_chunks_at(&t->frame);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t raw_length = bale_frame_chunk_raw(&t->frame, i);
        uint8_t *raw = malloc(raw_length);
        REQUIRE(raw);
        CHECK_EQ(
            bale_frame_decode_chunk(scratch, t->out, &t->frame, i, part, in, raw,
                                    (struct bale_wanted){0, bale_frame_chunk_raw(&t->frame, i)}),
            BALE_OK);
        CHECK_EQ_MEM(raw, t->raw + (size_t)i * size, raw_length);
        free(raw);
        if (t->frame.chunks > 0)
            in += bale_frame_chunk(t->out, &t->frame, i).stored;
    }
}

static void check_decode(const struct trip *t)
{
    uint8_t *stored = malloc(t->length);
    uint8_t *raw = malloc(t->frame.raw_length);
    struct bale_frame frame;

    REQUIRE(stored && raw);
    memcpy(stored, t->out, t->length);
    CHECK_EQ(bale_frame_decode(scratch, stored, t->length, raw, t->frame.raw_length, &frame),
             BALE_OK);
    CHECK_EQ_MEM(raw, t->raw, t->frame.raw_length);
    CHECK_EQ_U(frame.offset, t->frame.offset);
    CHECK_EQ_U(frame.generation, t->frame.generation);
    CHECK_EQ_U(frame.raw_checksum, t->frame.raw_checksum);
    CHECK_EQ(frame.codec, t->frame.codec);
    CHECK_EQ(bale_frame_decode(scratch, stored, t->length, raw, t->frame.raw_length + 1, NULL),
             BALE_E_CORRUPT);
    CHECK_EQ(bale_frame_decode(scratch, stored, t->length - 1, raw, t->frame.raw_length, NULL),
             BALE_E_CORRUPT);
    free(raw);
    free(stored);
}

static void check_again(const struct trip *t, struct bale_setting setting)
{
    struct bale_scratch *fresh;
    struct bale_frame frame = t->frame;
    uint8_t *out = malloc(bale_frame_bound(t->frame.raw_length, t->frame.chunk_log2));
    size_t length;

    REQUIRE(out && bale_scratch_create(&fresh) == BALE_OK);
    CHECK_EQ(bale_frame_encode(fresh, setting, t->raw, &frame, out, &length), BALE_OK);
    if (CHECK_EQ_U(length, t->length))
        CHECK_EQ_MEM(out, t->out, length);
    bale_scratch_destroy(fresh);
    free(out);
}

/* Returns the frame's codec. */
static uint8_t round_trip(const char *text, const uint8_t *data, uint32_t raw_length,
                          uint8_t chunk_log2)
{
    struct bale_setting setting = codec_setting_parse(text);
    struct trip t = {
        .frame = {
            .offset = 12345, .generation = 7, .raw_length = raw_length, .chunk_log2 = chunk_log2}};
    uint8_t *raw = malloc(raw_length);
    uint8_t *out = malloc(bale_frame_bound(raw_length, chunk_log2));

    REQUIRE(raw && out);
    memcpy(raw, data, raw_length);
    t.raw = raw;
    t.out = out;
    if (CHECK_EQ(bale_frame_encode(scratch, setting, t.raw, &t.frame, t.out, &t.length), BALE_OK)) {
        CHECK_EQ_U(t.length, (size_t)t.frame.head_length + t.frame.stored_length);
        CHECK(t.length <= bale_frame_bound(raw_length, chunk_log2));
        check_decode(&t);
        check_chunks(&t);
        check_again(&t, setting);
    }
    free(out);
    free(raw);
    return t.frame.codec;
}

static void test_sizes(void)
{
    static const uint32_t sizes[] = {1,    2,    3,    5,     64,    255,   4095,   4096,  4097,
                                     8191, 8192, 8193, 65535, 65536, 65537, 131072, 200001};
    static uint8_t data[200001];
    const char *text;

    for (int kind = few ? DATA_MIXED : 0; kind < (few ? DATA_MIXED + 1 : DATA_KINDS); kind++) {
        data_fill((enum data_kind)kind, 1, data, sizeof data);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i += few ? 2 : 1)
            for (size_t s = 0; (text = codec_settings_next(SETTINGS_FRAMES, &s)) != NULL;) {
                round_trip(text, data, sizes[i], 12);
                round_trip(text, data, sizes[i], 16);
            }
    }
}

static void test_chunk_sizes(void)
{
    static uint8_t data[(1u << 18) + 1];
    const char *text;

    data_fill(DATA_MIXED, 2, data, sizeof data);
    for (uint8_t log2 = BALE_CHUNK_LOG2_MIN; log2 <= BALE_CHUNK_LOG2_MAX; log2++)
        for (size_t s = 0; (text = codec_settings_next(SETTINGS_CHUNK_SIZES, &s)) != NULL;) {
            uint32_t size = 1u << (log2 < 18 ? log2 : 18);
            round_trip(text, data, size - 1, log2);
            round_trip(text, data, size, log2);
            round_trip(text, data, size + 1, log2);
        }
}

static void test_largest(void)
{
    uint8_t *data = malloc(BALE_EXTENT_MAX);

    REQUIRE(data);
    data_fill(DATA_RUNS, 3, data, BALE_EXTENT_MAX);
    data_fill(DATA_TEXT, 3, data, 1u << 20);
    CHECK_EQ(round_trip("zstd:1", data, BALE_EXTENT_MAX, BALE_CHUNK_LOG2_MAX), BALE_CODEC_ZSTD);
    CHECK_EQ(round_trip("lz4", data, BALE_EXTENT_MAX, BALE_CHUNK_LOG2_MIN), BALE_CODEC_LZ4);
    free(data);
}

static void test_levels(void)
{
    static uint8_t data[70000];
    char text[BALE_SETTING_TEXT];

    data_fill(DATA_TEXT, 4, data, sizeof data);
    for (int level = -7; level <= 19; level += few && level < 19 ? 13 : 1) {
        if (level == 0)
            continue;
        bale_setting_print(
            (struct bale_setting){.codec = BALE_CODEC_ZSTD, .parameter = (int16_t)level}, text,
            sizeof text);
        CHECK_EQ(round_trip(text, data, sizeof data, 16), BALE_CODEC_ZSTD);
    }
}

static void test_all_equal(void)
{
    static uint8_t data[200001];
    const char *text;

    for (int value = 0; value < 256; value += 51) {
        memset(data, value, sizeof data);
        for (size_t s = 0; (text = codec_settings_next(SETTINGS_FRAMES, &s)) != NULL;) {
            CHECK_EQ(round_trip(text, data, 1, 12), BALE_CODEC_ZERO);
            CHECK_EQ(round_trip(text, data, 4096, 12), BALE_CODEC_ZERO);
            CHECK_EQ(round_trip(text, data, sizeof data, 16), BALE_CODEC_ZERO);
        }
    }
    data[sizeof data - 1]++;
    CHECK_EQ(round_trip("zstd", data, sizeof data, 16), BALE_CODEC_ZSTD);
}

/* Frames fall back to store, chunks to raw bytes. */
static void test_fallback(void)
{
    static uint8_t data[3 * 65536];
    static uint8_t out[4 * 65536];
    const char *text;
    struct bale_frame frame = {.raw_length = sizeof data, .chunk_log2 = 16};
    size_t length;

    data_fill(DATA_RANDOM, 5, data, sizeof data);
    for (size_t s = 0; (text = codec_settings_next(SETTINGS_FRAMES, &s)) != NULL;)
        CHECK_EQ(round_trip(text, data, sizeof data, 16), BALE_CODEC_STORE);
    data_fill(DATA_TEXT, 5, data + 65536, 65536);
    CHECK_EQ(bale_frame_encode(scratch, codec_setting_parse("zstd:3"), data, &frame, out, &length),
             BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_ZSTD);
    CHECK_EQ(frame.parameter, 3);
    CHECK_EQ_U(bale_frame_chunk(out, &frame, 0).stored, 65536);
    CHECK(bale_frame_chunk(out, &frame, 1).stored < 40000);
    CHECK_EQ_U(bale_frame_chunk(out, &frame, 2).stored, 65536);
}

static void test_refused(void)
{
    uint8_t raw[16] = {1, 2, 3};
    uint8_t out[256];
    size_t length;
    struct bale_setting lz4 = {.codec = BALE_CODEC_LZ4};
    struct bale_frame good = {.raw_length = sizeof raw, .chunk_log2 = 16};
    struct bale_frame f = good;

    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_OK);
    f = good, f.raw_length = 0;
    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_E_INVALID);
    f = good, f.raw_length = BALE_EXTENT_MAX + 1;
    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_E_INVALID);
    f = good, f.chunk_log2 = BALE_CHUNK_LOG2_MIN - 1;
    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_E_INVALID);
    f = good, f.chunk_log2 = BALE_CHUNK_LOG2_MAX + 1;
    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_E_INVALID);
    f = good, f.offset = (uint64_t)BALE_SIZE_MAX - sizeof raw + 1;
    CHECK_EQ(bale_frame_encode(scratch, lz4, raw, &f, out, &length), BALE_E_INVALID);
    f = good;
    raw[0] = (uint8_t)~raw[1];
    CHECK_EQ(bale_frame_encode(scratch,
                               (struct bale_setting){.codec = BALE_CODEC_ZERO, .parameter = 0}, raw,
                               &f, out, &length),
             BALE_OK);
    CHECK_EQ(f.codec, BALE_CODEC_STORE);
    f = good;
    CHECK_EQ(bale_frame_encode(scratch,
                               (struct bale_setting){.codec = BALE_CODEC_ZSTD, .parameter = 0}, raw,
                               &f, out, &length),
             BALE_E_INVALID);
    CHECK_EQ(bale_frame_encode(scratch, (struct bale_setting){.codec = 77, .parameter = 0}, raw, &f,
                               out, &length),
             BALE_E_INVALID);
}

int main(int argc, char **argv)
{
    few = check_few(&argc, argv);
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    test_sizes();
    test_chunk_sizes();
    test_largest();
    test_levels();
    test_all_equal();
    test_fallback();
    test_refused();
    bale_scratch_destroy(scratch);
    bale_scratch_destroy(NULL);
    return check_result();
}
