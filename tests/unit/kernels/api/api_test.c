/* The library in memory: every codec and odd size comes back, in the library's and in the caller's
 * memory; damage of every kind is reported; structures of other versions are taken for what they
 * are. */
#include "format/bytes.h"
#include "format/stream.h"
#include "kernels/api/balefs.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum { K = 1024, LARGE = 3 * 1024 * K + 77 };

static struct bale_context *context;
static uint8_t raw[LARGE];
static bool few;

static struct bale_params with(const char *codec, uint32_t extent, uint32_t chunk)
{
    struct bale_params params = BALE_PARAMS_INIT;

    params.codec = codec;
    params.extent = extent;
    params.chunk = chunk;
    return params;
}

static void *exactly(const void *bytes, size_t length)
{
    void *copy = malloc(length > 0 ? length : 1);

    REQUIRE(copy);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* Through the caller's memory of exactly the size, and through the library's. */
static void round_trip(const struct bale_params *params, size_t length)
{
    size_t bound = bale_compress_bound(params, length);
    struct bale_buffer mine = {.data = malloc(bound), .capacity = bound};
    struct bale_buffer made = {0}, back = {0};
    uint8_t *in = exactly(raw, length);
    struct bale_buffer exact = {.data = malloc(length > 0 ? length : 1), .capacity = length};
    uint64_t size = 1;

    REQUIRE(mine.data && exact.data);
    CHECK_EQ(bale_compress(context, params, in, length, &mine), BALE_API_OK);
    CHECK_EQ(bale_compress(context, params, in, length, &made), BALE_API_OK);
    CHECK_EQ_U(made.length, mine.length);
    CHECK_EQ_MEM(made.data, mine.data, made.length);
    CHECK_EQ(bale_raw_size(made.data, made.length, &size), BALE_API_OK);
    CHECK_EQ_U(size, length);
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &exact), BALE_API_OK);
    CHECK_EQ_U(exact.length, length);
    CHECK_EQ_MEM(exact.data, in, length);
    CHECK_EQ(bale_decompress(context, params, made.data, made.length, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, length);
    CHECK_EQ_MEM(back.data, in, length);
    bale_buffer_free(&back);
    CHECK(!back.data && back.capacity == 0 && back.length == 0);
    bale_buffer_free(&made);
    free(mine.data);
    free(exact.data);
    free(in);
}

static void round_trips_of(const char *codec)
{
    static const size_t lengths[] = {0,          1,           4095,    16 * K - 1,  16 * K,
                                     16 * K + 1, 128 * K - 1, 128 * K, 128 * K + 1, 300001};

    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        struct bale_params params = with(codec, l % 2 ? 16 * K : 0, l % 3 ? 4 * K : 0);
        round_trip(&params, lengths[l]);
    }
}

static void test_round_trips(void)
{
    static const enum data_kind kinds[] = {DATA_RANDOM, DATA_TEXT, DATA_MIXED, DATA_RUNS};
    const char *codec;

    for (size_t k = few ? 2 : 0; k < (few ? 3 : sizeof kinds / sizeof kinds[0]); k++) {
        data_fill(kinds[k], 3, raw, LARGE);
        round_trips_of(NULL);
        for (size_t s = 0; (codec = codec_settings_next(SETTINGS_API, &s)) != NULL;)
            round_trips_of(codec);
    }
    data_fill(DATA_MIXED, 4, raw, LARGE);
    round_trip(NULL, LARGE);
    struct bale_params params = with("lz4", 64 * K * K, 64 * K * K);
    round_trip(&params, LARGE);
    memset(raw, 0, LARGE);
    round_trip(NULL, LARGE);
}

/* Many threads make the same bytes as one. */
static void test_threads(void)
{
    struct bale_context_params one = BALE_CONTEXT_PARAMS_INIT;
    struct bale_context_params many = BALE_CONTEXT_PARAMS_INIT;
    struct bale_params params = with("zstd:1", 16 * K, 0);
    struct bale_context *single, *several;
    struct bale_buffer a = {0}, b = {0};

    one.threads = 1;
    many.threads = 7;
    data_fill(DATA_TEXT, 5, raw, LARGE);
    REQUIRE(bale_context_create(&one, &single) == BALE_API_OK);
    REQUIRE(bale_context_create(&many, &several) == BALE_API_OK);
    CHECK_EQ(bale_compress(single, &params, raw, LARGE, &a), BALE_API_OK);
    CHECK_EQ(bale_compress(several, &params, raw, LARGE, &b), BALE_API_OK);
    CHECK_EQ_U(a.length, b.length);
    CHECK_EQ_MEM(a.data, b.data, a.length);
    bale_buffer_free(&a);
    bale_buffer_free(&b);
    bale_context_destroy(several);
    bale_context_destroy(single);
    bale_context_destroy(NULL);
}

static void test_room(void)
{
    struct bale_params params = with("zstd:1", 16 * K, 0);
    struct bale_buffer made = {0};
    uint8_t *room;

    data_fill(DATA_TEXT, 6, raw, LARGE);
    REQUIRE(bale_compress(context, &params, raw, 100000, &made) == BALE_API_OK);
    room = malloc(100000);
    REQUIRE(room);
    for (size_t less = 0; less < made.length; less += 1 + less / 7) {
        struct bale_buffer out = {.data = room, .capacity = less};
        CHECK_EQ(bale_compress(context, &params, raw, 100000, &out), BALE_API_TOO_BIG);
        CHECK_EQ_U(out.length, 0);
        out = (struct bale_buffer){.capacity = less};
        CHECK(less == 0 || bale_compress(context, &params, raw, 100000, &out) == BALE_API_TOO_BIG);
        CHECK(!out.data);
    }
    struct bale_buffer exact = {.data = room, .capacity = made.length};
    CHECK_EQ(bale_compress(context, &params, raw, 100000, &exact), BALE_API_OK);

    struct bale_buffer small = {.data = room, .capacity = 99999};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &small), BALE_API_TOO_BIG);
    CHECK_EQ_STR(bale_context_message(context),
                 "100000 decompressed bytes do not fit 99999 bytes.");
    small = (struct bale_buffer){.capacity = 99999};
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &small), BALE_API_TOO_BIG);
    CHECK(!small.data);
    small.capacity = 100000;
    CHECK_EQ(bale_decompress(context, NULL, made.data, made.length, &small), BALE_API_OK);
    bale_buffer_free(&small);
    free(room);
    bale_buffer_free(&made);
}

static void test_arguments(void)
{
    struct bale_params params = with("gzip", 0, 0);
    struct bale_buffer out = {0};
    struct {
        struct bale_params known;
        uint64_t later;
    } newer = {.known = {.size = sizeof newer}};
    struct {
        size_t size;
    } older = {sizeof older};
    struct bale_context_params many = {.size = sizeof many, .threads = 5000};
    struct bale_context *none = NULL;

    CHECK_EQ(bale_compress(context, &params, raw, 10, &out), BALE_API_INVALID);
    CHECK(strstr(bale_context_message(context), "gzip") != NULL);
    CHECK_EQ_U(bale_compress_bound(&params, 10), 0);
    params = with("lz4", 5000, 0);
    CHECK_EQ(bale_compress(context, &params, raw, 10, &out), BALE_API_INVALID);
    params = with("lz4", 0, 5000);
    CHECK_EQ(bale_compress(context, &params, raw, 10, &out), BALE_API_INVALID);
    params = with("lz4", 0, 0);
    params.size = 3;
    CHECK_EQ(bale_compress(context, &params, raw, 10, &out), BALE_API_INVALID);
    CHECK_EQ(bale_compress(context, NULL, NULL, 10, &out), BALE_API_INVALID);
    CHECK_EQ_U(bale_compress_bound(NULL, SIZE_MAX), 0);

    CHECK_EQ(bale_compress(context, &newer.known, raw, 10, &out), BALE_API_OK);
    bale_buffer_free(&out);
    newer.later = 1;
    CHECK_EQ(bale_compress(context, &newer.known, raw, 10, &out), BALE_API_UNSUPPORTED);
    CHECK_EQ(bale_compress(context, (void *)&older, raw, 10, &out), BALE_API_OK);
    bale_buffer_free(&out);

    CHECK_EQ(bale_context_create(&many, &none), BALE_API_INVALID);
    CHECK(!none);
    CHECK_EQ_STR(bale_error_text(BALE_API_CORRUPT), "corrupt data");
    CHECK_EQ_STR(bale_error_text(-12345), "unknown error");
    CHECK_EQ_U(bale_version(), 100);
    CHECK_EQ_STR(bale_version_text(), "0.1.0");
}

static bool refused(const uint8_t *in, size_t length)
{
    uint8_t *copy = exactly(in, length);
    struct bale_buffer out = {.capacity = 1 << 20};
    int err = bale_decompress(context, NULL, copy, length, &out);

    CHECK(err == BALE_API_OK || (!out.data && out.length == 0));
    bale_buffer_free(&out);
    free(copy);
    return err == BALE_API_CORRUPT || err == BALE_API_UNSUPPORTED;
}

static void damage(const char *codec, size_t length)
{
    struct bale_params params = with(codec, 16 * K, 4 * K);
    struct bale_buffer made = {0};
    uint8_t *bytes;

    REQUIRE(bale_compress(context, &params, raw, length, &made) == BALE_API_OK);
    bytes = made.data;
    for (size_t less = 0; less < made.length; less += few ? 11 : 1)
        CHECK(refused(bytes, less));
    for (size_t bit = 0; bit < 8 * made.length; bit += few ? 41 : 1 + bit % 5) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(refused(bytes, made.length));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK(!refused(bytes, made.length));
    bale_buffer_free(&made);
}

static void test_damage(void)
{
    data_fill(DATA_TEXT, 7, raw, LARGE);
    damage("zstd:1", 20000);
    damage("lz4", 9000);
    damage("store", 500);
    damage("auto", 0);
    memset(raw, 7, 100000);
    damage("auto", 100000);
}

/* Streams one behind the other, and what may not follow one. */
static void test_several(void)
{
    struct bale_params params = with("lz4", 16 * K, 0);
    struct bale_buffer one = {0}, two = {0}, back = {0};
    uint8_t *both;
    uint64_t size;

    data_fill(DATA_TEXT, 8, raw, LARGE);
    REQUIRE(bale_compress(context, &params, raw, 50000, &one) == BALE_API_OK);
    REQUIRE(bale_compress(context, NULL, raw + 50000, 300000, &two) == BALE_API_OK);
    both = malloc(one.length + two.length + 1);
    REQUIRE(both);
    memcpy(both, one.data, one.length);
    memcpy(both + one.length, two.data, two.length);
    both[one.length + two.length] = 0;
    CHECK_EQ(bale_raw_size(both, one.length + two.length, &size), BALE_API_OK);
    CHECK_EQ_U(size, 350000);
    CHECK_EQ(bale_decompress(context, NULL, both, one.length + two.length, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, 350000);
    CHECK_EQ_MEM(back.data, raw, 350000);
    bale_buffer_free(&back);
    CHECK(refused(both, one.length + two.length + 1));
    CHECK(refused(both, one.length + 20));
    CHECK(refused(both, one.length - BALE_STREAM_END));
    bale_raw_size(both, one.length + two.length - 1, &size);
    CHECK_EQ_U(size, 350000); /* untouched by an error */
    free(both);
    bale_buffer_free(&two);
    bale_buffer_free(&one);
}

/* Frames put together wrongly, each whole in itself. */
static void test_frames(void)
{
    struct bale_params params = with("lz4", 16 * K, 0);
    struct bale_buffer made = {0};
    uint8_t *bytes, *edited;
    size_t at[4] = {BALE_STREAM_HEAD};
    size_t length;

    data_fill(DATA_TEXT, 9, raw, LARGE);
    REQUIRE(bale_compress(context, &params, raw, 3 * 16 * K, &made) == BALE_API_OK);
    bytes = made.data;
    for (int i = 0; i < 3; i++) {
        struct bale_frame frame;
        REQUIRE(bale_frame_head_decode(bytes + at[i], made.length - at[i], &frame) == 0);
        at[i + 1] = at[i] + frame.head_length + frame.stored_length;
    }
    edited = malloc(2 * made.length);
    REQUIRE(edited);
    /* One left out; the last ones swapped; the first twice. */
    memcpy(edited, bytes, at[1]);
    memcpy(edited + at[1], bytes + at[2], made.length - at[2]);
    CHECK(refused(edited, made.length - (at[2] - at[1])));
    length = at[3] - at[2];
    memcpy(edited + at[1], bytes + at[2], length);
    memcpy(edited + at[1] + length, bytes + at[1], at[2] - at[1]);
    memcpy(edited + at[3], bytes + at[3], made.length - at[3]);
    CHECK(refused(edited, made.length));
    memcpy(edited + at[1], bytes + at[0], made.length - at[0]);
    CHECK(refused(edited, made.length + at[1] - at[0]));
    /* A frame of another extent at the same place. */
    memcpy(edited, bytes, made.length);
    CHECK(!refused(edited, made.length));
    bale_put32(edited + at[0] + 12, 16 * K + 1);
    CHECK(refused(edited, made.length));
    free(edited);
    bale_buffer_free(&made);
}

/* Gaps read as zeros; 80 bytes may stand for more than there is memory. */
static void test_gaps(void)
{
    uint8_t bytes[BALE_STREAM_HEAD + BALE_STREAM_END];
    struct bale_buffer back = {0};
    struct bale_stream stream;
    uint64_t size;

    bale_stream_begin(&stream, BALE_EXTENT_MIN, (struct bale_setting){0}, bytes);
    bale_stream_end_encode(&stream, 12345, bytes + BALE_STREAM_HEAD);
    CHECK_EQ(bale_decompress(context, NULL, bytes, sizeof bytes, &back), BALE_API_OK);
    CHECK_EQ_U(back.length, 12345);
    memset(raw, 0, 12345);
    CHECK_EQ_MEM(back.data, raw, 12345);
    bale_buffer_free(&back);
    bale_stream_end_encode(&stream, BALE_SIZE_MAX, bytes + BALE_STREAM_HEAD);
    CHECK_EQ(bale_raw_size(bytes, sizeof bytes, &size), BALE_API_OK);
    CHECK_EQ_U(size, BALE_SIZE_MAX);
    back.capacity = 1 << 20;
    CHECK_EQ(bale_decompress(context, NULL, bytes, sizeof bytes, &back), BALE_API_TOO_BIG);
    bale_stream_end_encode(&stream, (uint64_t)BALE_SIZE_MAX + 1, bytes + BALE_STREAM_HEAD);
    CHECK(refused(bytes, sizeof bytes));
}

int main(int argc, char **argv)
{
    struct bale_context_params params = BALE_CONTEXT_PARAMS_INIT;

    few = check_few(&argc, argv);
    params.threads = 3;
    REQUIRE(bale_context_create(&params, &context) == BALE_API_OK);
    CHECK_EQ_STR(bale_context_message(context), "");
    test_round_trips();
    test_threads();
    test_room();
    test_arguments();
    test_damage();
    test_several();
    test_frames();
    test_gaps();
    bale_context_destroy(context);
    return check_result();
}
