/* The codec gpulz against a brute-force reference, over symbols, windows, pieces and kinds of data;
 * the worked examples of its specification; streams made to harm. */
#include "format/err.h"
#include "format/gpulz.h"
#include "kernels/codec.h"
#include "tests/check.h"
#include "tests/unit/gpulz_reference.h"
#include "tests/unit/gpulz_shapes.h"

enum { MOST = 70000, CHUNK = 1 << 26 };

static struct bale_scratch *scratch;
static const struct bale_codec *codec;
static uint8_t data[8 * 65536 + 5];
static uint8_t expected[2 * MOST + 64];
static uint8_t room[2 * MOST + 64];

static int16_t parameter_of(struct reference_how how)
{
    return (int16_t)bale_gpulz_parameter((unsigned)__builtin_ctz(how.symbol),
                                         (unsigned)__builtin_ctz(how.piece), how.window);
}

static uint8_t *copy_of(const void *bytes, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);

    REQUIRE(copy);
    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

/* From a block of exactly its size into one, so that a sanitizer sees any excess. */
static int decode(struct reference_how how, const uint8_t *in, size_t length, uint8_t *raw,
                  uint32_t raw_length)
{
    uint8_t *exact = copy_of(in, length);
    int err =
        codec->decode(scratch, parameter_of(how), exact, (uint32_t)length, raw, raw_length, CHUNK);

    free(exact);
    return err;
}

static void check_decode(struct reference_how how, size_t length, const uint8_t *raw,
                         uint32_t raw_length)
{
    uint8_t *back = malloc(raw_length);

    REQUIRE(back);
    memset(back, 0xa5, raw_length);
    CHECK_EQ(decode(how, expected, length, back, raw_length), BALE_OK);
    CHECK_EQ_MEM(back, raw, raw_length);
    free(back);
}

static void check_encode(struct reference_how how, const uint8_t *raw, uint32_t raw_length,
                         size_t length, size_t capacity)
{
    uint8_t *out = malloc(capacity > 0 ? capacity : 1);

    REQUIRE(out);
    int64_t got =
        codec->encode(scratch, parameter_of(how), raw, raw_length, out, (uint32_t)capacity);
    if (CHECK_EQ(got, length <= capacity ? (int64_t)length : 0) && got > 0)
        CHECK_EQ_MEM(out, expected, length);
    free(out);
}

static void check(struct reference_how how, unsigned kind, const uint8_t *bytes, uint32_t length)
{
    unsigned long before = atomic_load(&check_failures);
    uint8_t *raw = copy_of(bytes, length);
    size_t stored = reference_encode(how, raw, length, expected, room);

    check_encode(how, raw, length, stored, length - 1);
    if (stored < length) {
        check_encode(how, raw, length, stored, stored);
        check_encode(how, raw, length, stored, stored - 1);
    }
    if (length >= how.symbol) /* a frame has no other chunk that is not raw */
        check_decode(how, stored, raw, length);
    if (atomic_load(&check_failures) != before)
        fprintf(stderr, "s=%u c=%u w=%u, data %u, %u bytes\n", how.symbol, how.piece, how.window,
                kind, length);
    free(raw);
}

static void test_kinds(void)
{
    static const struct reference_how hows[] = {
        {1, 2048, 255}, {1, 4096, 32},   {1, 8192, 100}, {2, 2048, 128}, {2, 4096, 255},
        {4, 2048, 32},  {4, 16384, 255}, {8, 2048, 255}, {8, 4096, 33},
    };

    for (unsigned kind = 0; kind < SHAPES; kind++) {
        shape_fill(kind, data, 9001);
        for (size_t h = 0; h < sizeof hows / sizeof hows[0]; h++) {
            check(hows[h], kind, data, 9001);
            check(hows[h], kind, data, 4097);
        }
    }
}

static void test_lengths(void)
{
    shape_fill(SHAPE_RUNS, data, MOST);
    for (uint32_t symbol = 1; symbol <= 8; symbol *= 2) {
        struct reference_how how = {symbol, 2048, 255};
        for (uint32_t length = 1; length < 70; length++)
            check(how, SHAPE_RUNS, data, length);
        for (uint32_t length = 2048 - 9; length < 2048 + 70; length++)
            check(how, SHAPE_RUNS, data, length);
        for (uint32_t length = 3 * 2048 - 9; length < 3 * 2048 + 9; length++)
            check(how, SHAPE_RUNS, data + length % 8, length);
    }
}

static void test_windows(void)
{
    shape_fill(DATA_TEXT, data, 3000);
    for (uint32_t window = 32; window <= 255; window++)
        for (uint32_t symbol = 1; symbol <= 8; symbol *= 2)
            check((struct reference_how){symbol, 2048, window}, DATA_TEXT, data, 3000);
}

/* The largest piece, and a chunk that is larger still. */
static void test_large(void)
{
    for (uint32_t piece = 2048; piece <= 65536; piece *= 2) {
        shape_fill(DATA_MIXED, data, MOST);
        check((struct reference_how){1, piece, 255}, DATA_MIXED, data, MOST);
        check((struct reference_how){4, piece, 64}, DATA_MIXED, data, MOST);
        shape_fill(SHAPE_EQUAL, data, MOST);
        check((struct reference_how){1, piece, 128}, SHAPE_EQUAL, data, MOST);
        check((struct reference_how){8, piece, 255}, SHAPE_EQUAL, data, MOST);
    }
    shape_fill(DATA_RANDOM, data, 65536);
    check((struct reference_how){1, 65536, 255}, DATA_RANDOM, data, 65536);
}

static void test_random(void)
{
    uint64_t state = 99;

    for (int round = 0; round < 400; round++) {
        struct reference_how how = {1u << data_next(&state) % 4, 2048u << data_next(&state) % 6,
                                    32 + (uint32_t)(data_next(&state) % 224)};
        unsigned kind = (unsigned)(data_next(&state) % SHAPES);
        uint32_t length = 1 + (uint32_t)(data_next(&state) % 7000);

        shape_fill(kind, data, length + 8);
        check(how, kind, data + data_next(&state) % 8, length);
    }
}

/* ---- The examples of spec.md ---- */

static const uint8_t letters[] = "abcabcabcabcd";
static const uint8_t letters_stored[] = {4, 0, 0x08, 'a', 'b', 'c', 2, 6, 'd'};
static const struct reference_how letters_how = {1, 2048, 32};

static const uint8_t numbers[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7};
static const uint8_t numbers_stored[] = {2, 0, 0x02, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 7};
static const struct reference_how numbers_how = {4, 4096, 255};

static void test_examples(void)
{
    CHECK_EQ_U(reference_encode(letters_how, letters, 13, expected, room), sizeof letters_stored);
    CHECK_EQ_MEM(expected, letters_stored, sizeof letters_stored);
    check(letters_how, SHAPES, letters, 13);
    CHECK_EQ(parameter_of(letters_how), 0x0020);
    CHECK_EQ_U(reference_encode(numbers_how, numbers, 17, expected, room), sizeof numbers_stored);
    CHECK_EQ_MEM(expected, numbers_stored, sizeof numbers_stored);
    check(numbers_how, SHAPES, numbers, 17);
    CHECK_EQ(parameter_of(numbers_how), 0x11ff);
}

/* ---- Hostile streams ---- */

static void check_refused(const uint8_t *in, size_t length, uint32_t raw_length)
{
    uint8_t *raw = malloc(raw_length);

    REQUIRE(raw);
    CHECK_EQ(decode(letters_how, in, length, raw, raw_length), BALE_E_CORRUPT);
    free(raw);
}

static void test_rules(void)
{
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
    } rows[] = {
        {"a token less", 0, 3},       {"a token more", 0, 5},
        {"a spare bit", 2, 0x28},     {"the highest spare bit", 2, 0x88},
        {"no pointer", 2, 0x00},      {"two pointers", 2, 0x18},
        {"a pointer first", 2, 0x01}, {"before the piece", 6, 3},
        {"beyond the window", 6, 32}, {"the greatest distance", 6, 255},
        {"beyond the end", 7, 8},     {"a byte beyond the end", 7, 7},
        {"a byte less", 7, 5},        {"many tokens", 1, 1},
        {"far more tokens", 1, 0xff},
    };
    uint8_t in[sizeof letters_stored + 1];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned long before = atomic_load(&check_failures);
        memcpy(in, letters_stored, sizeof letters_stored);
        in[rows[i].at] = rows[i].value;
        check_refused(in, sizeof letters_stored, 13);
        if (atomic_load(&check_failures) != before)
            fprintf(stderr, "in %s\n", rows[i].what);
    }
    memcpy(in, letters_stored, sizeof letters_stored);
    in[sizeof letters_stored] = 'e';
    check_refused(in, sizeof in, 13);
    check_refused(in, sizeof in, 12);
    for (size_t length = 1; length < sizeof letters_stored; length++)
        check_refused(in, length, 13);
    for (uint32_t raw_length = 1; raw_length < 40; raw_length++)
        if (raw_length != 13)
            check_refused(in, sizeof letters_stored, raw_length);
}

/* A distance may be as large as the window and the piece allow, and no larger. */
static void test_reach(void)
{
    uint8_t in[3 + 33 + 2 + 8] = {33, 0};
    uint8_t raw[36], back[36];

    for (uint32_t i = 0; i < 33; i++)
        raw[i] = in[7 + i] = (uint8_t)(i + 1);
    memcpy(raw + 33, raw + 1, 3);
    in[2 + 4] = 2; /* bit 33: five bytes of flags */
    in[7 + 33] = 31;
    CHECK_EQ(decode(letters_how, in, 42, back, 36), BALE_OK);
    CHECK_EQ_MEM(back, raw, 36);
    in[7 + 33] = 32;
    CHECK_EQ(decode(letters_how, in, 42, back, 36), BALE_E_CORRUPT);
}

/* Whatever it says, a decoder stays within its buffers and gives one of two answers. */
static void test_damage(void)
{
    uint64_t state = 5;
    uint8_t *raw = malloc(9001);

    REQUIRE(raw);
    for (uint32_t symbol = 1; symbol <= 8; symbol *= 2) {
        struct reference_how how = {symbol, 2048, 255};
        shape_fill(SHAPE_RUNS, data, 9001);
        size_t length = reference_encode(how, data, 9001, expected, room);
        for (int round = 0; round < 4000; round++) {
            uint8_t *in = copy_of(expected, length);
            size_t cut = round % 4 ? length : 1 + data_next(&state) % length;
            for (uint64_t edits = 1 + data_next(&state) % 6; edits > 0; edits--)
                in[data_next(&state) % (round % 2 ? length : 40)] = (uint8_t)data_next(&state);
            int err = decode(how, in, cut, raw, 9001);
            CHECK(err == BALE_OK || err == BALE_E_CORRUPT);
            free(in);
        }
    }
    free(raw);
}

/* ---- Adaptive symbols ---- */

static void check_choice(unsigned kind, uint32_t length, uint16_t window, unsigned piece_log2)
{
    uint16_t open = (uint16_t)(bale_gpulz_parameter(0, piece_log2, window) | BALE_GPULZ_ADAPTIVE);
    struct bale_setting setting = {BALE_CODEC_GPULZ, (int16_t)open};
    uint8_t *raw = copy_of(data, length);

    CHECK(bale_setting_valid(setting) && bale_setting_is_open(setting));
    setting = bale_auto_choose(scratch, setting, raw, length);
    CHECK(bale_setting_valid(setting) && !bale_setting_is_open(setting));
    CHECK_EQ(setting.codec, BALE_CODEC_GPULZ);
    struct reference_how how = {reference_choose(window, raw, length, expected, room),
                                1u << piece_log2, window};
    if (!CHECK_EQ(setting.parameter, parameter_of(how)))
        fprintf(stderr, "data %u, %u bytes\n", kind, length);
    free(raw);
}

static void test_choice(void)
{
    static const uint32_t lengths[] = {1,    7,    9,     2047,   2049,  4095,
                                       4096, 4097, 30001, 131072, 300001};
    uint16_t definite = bale_gpulz_parameter(2, 12, 77);
    unsigned chosen = 0;

    for (unsigned kind = 0; kind < SHAPES; kind++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            shape_fill(kind, data, lengths[i]);
            check_choice(kind, lengths[i], i % 2 ? 255 : 64, 11 + (unsigned)i % 6);
            chosen |= reference_choose(255, data, lengths[i], expected, room);
        }
    CHECK_EQ_U(chosen, 1 + 2 + 4 + 8);
    CHECK_EQ(bale_auto_choose(scratch, (struct bale_setting){BALE_CODEC_GPULZ, (int16_t)definite},
                              data, 1000)
                 .parameter,
             definite);
}

/* What a frame says is definite, and the same for one extent whatever its engine. */
static void test_frame(void)
{
    struct bale_frame frame = {.raw_length = 131072, .chunk_log2 = 16};
    struct bale_setting setting;
    size_t length;
    uint8_t *out = malloc(bale_frame_bound(131072, 16));

    REQUIRE(out && bale_setting_parse("gpulz:w=200", &setting, NULL, 0) == BALE_OK);
    shape_fill(SHAPE_WORDS, data, 131072);
    CHECK_EQ(bale_frame_encode(scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_GPULZ);
    CHECK_EQ(frame.parameter, bale_gpulz_parameter(3, 12, 200));
    shape_fill(DATA_RANDOM, data, 131072);
    CHECK_EQ(bale_frame_encode(scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_STORE);
    CHECK_EQ(frame.parameter, 0);
    free(out);
}

int main(void)
{
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    codec = bale_codec_find(BALE_CODEC_GPULZ);
    REQUIRE(codec);
    test_kinds();
    test_lengths();
    test_windows();
    test_large();
    test_random();
    test_examples();
    test_rules();
    test_reach();
    test_damage();
    test_choice();
    test_frame();
    bale_scratch_destroy(scratch);
    return check_result();
}
