/* The choices of auto. */
#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/data.h"

enum { SIZE = 1 << 20 };

static struct bale_scratch *scratch;
static uint8_t data[SIZE];

static const char *const autos[] = {"auto", "auto:for=speed"};
enum { RATIO, SPEED, AUTOS };

static struct bale_setting parsed(const char *text)
{
    struct bale_setting setting = {0};

    REQUIRE(bale_setting_parse(text, &setting, NULL) == BALE_OK);
    return setting;
}

static void check_choice(int which, uint32_t length, const char *expected)
{
    char text[BALE_SETTING_TEXT];

    bale_setting_print(
        bale_setting_choose(scratch, parsed(autos[which]), data, length, BALE_CHUNK_LOG2_DEFAULT),
        text, sizeof text);
    if (!CHECK_EQ_STR(text, expected))
        fprintf(stderr, "%s of %u bytes\n", autos[which], length);
}

static void check_choices(uint32_t length, const char *ratio, const char *speed)
{
    check_choice(RATIO, length, ratio);
    check_choice(SPEED, length, speed);
}

static void test_kinds(void)
{
    static const uint32_t sizes[] = {4096, 8192, 8193, 16384, 131072, SIZE};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        data_fill(DATA_RANDOM, 1, data, SIZE);
        check_choices(sizes[i], "store", "store");
        data_fill(DATA_TEXT, 1, data, SIZE);
        check_choices(sizes[i], "lzr:1", "fsst");
        data_fill(DATA_FIELD, 1, data, SIZE);
        check_choices(sizes[i], "float", "store");
    }
}

/* Values of so many random bytes, of which there are few, in random order; behind each, so many
 * random bytes. */
static void fill_keys(uint32_t bytes, uint32_t few, uint32_t behind)
{
    uint64_t state = 7;
    uint8_t keys[8 * 128];
    uint32_t at = 0;

    data_random(&state, keys, sizeof keys);
    data_random(&state, data, SIZE);
    for (; at + bytes + behind <= SIZE; at += bytes + behind)
        memcpy(data + at, keys + bytes * (data_next(&state) % few), bytes);
}

/* Where symbols of several bytes repeat: gpulz, with symbols of their size. zstd:1 does not see
 * four bytes, but eight. */
static void test_symbols(void)
{
    static const uint32_t sizes[] = {16384, 131072, SIZE};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fill_keys(4, 100, 0);
        check_choices(sizes[i], "gpulz:s=4", "gpulz:s=4");
        fill_keys(8, 30, 0);
        check_choices(sizes[i], "lzr:1", "gpulz:s=8");
        fill_keys(4, 20, 2);
        check_choices(sizes[i], "gpulz:s=2", "gpulz:s=2");
    }
}

/* From -1 to 1 and back while phase goes on by 1: nearly a sine. */
static float wave(float phase)
{
    float x = 2 * (phase - (float)(int)phase) - 1;

    return x < 0 ? 4 * x * (1 + x) : 4 * x * (1 - x);
}

/* An f32 field, rounded to a thousandth of its range: rows are alike and values few, and zstd:1
 * sees both, which pieces of a sample hide. */
static void fill_rounded(uint32_t row, float down, float steps)
{
    for (uint32_t i = 0; i < SIZE / sizeof(float); i++) {
        uint32_t line = i / row;
        float r = (float)line, c = (float)(i % row);
        float v = wave(down * r + 0.1f) * wave(0.0025f * c) + 0.3f * wave(0.0016f * (r + c));
        v = (float)(int)(v * 384) / steps;
        memcpy(data + i * sizeof v, &v, sizeof v);
    }
}

static void test_rounded(void)
{
    for (uint32_t row = 256; row <= 4096; row *= 2) {
        fill_rounded(row, 0.0032f, 381.9661f);
        check_choice(RATIO, 131072, "lzr:1");
    }
    /* Decimals are integers. */
    fill_rounded(512, 0.0032f, 400);
    check_choice(RATIO, 131072, "float");
    /* Few values of four bytes, so that pairs of them repeat as well. */
    fill_keys(4, 30, 0);
    check_choice(RATIO, 131072, "zstd:1");
}

/* Numbers in order: bytes halve by themselves, and elements are a hundred times smaller. */
static void test_order(void)
{
    static const uint32_t sizes[] = {8192, 131072, SIZE};

    for (uint64_t i = 0, id = 1; i < SIZE / sizeof id; i++, id += 1 + i % 5 / 4)
        memcpy(data + i * sizeof id, &id, sizeof id);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_choice(RATIO, sizes[i], "float");
}

/* Values of four bytes that compress well: small numbers, and mostly zeros. */
static void test_numbers(void)
{
    uint64_t state = 5;

    memset(data, 0, SIZE);
    for (uint32_t at = 0; at < SIZE; at += 4)
        data[at] = (uint8_t)(data_next(&state) % 100);
    check_choices(131072, "float", "fsst");
    memset(data, 0, SIZE);
    for (uint32_t at = 0; at < SIZE; at += 4)
        if (data_next(&state) % 50 == 0)
            data_random(&state, data + at, 4);
    check_choices(131072, "zstd:1", "gpulz:s=4");
}

/* Elements of every type, in either byte order, behind a header of some bytes. */
static void test_elements(void)
{
    for (unsigned size = 2; size <= 8; size *= 2)
        for (unsigned lead = 0; lead < size; lead++)
            for (unsigned big_endian = 0; big_endian < 2; big_endian++) {
                uint64_t state = size;
                memset(data, 0, SIZE);
                for (uint32_t i = 0; lead + (i + 1) * size <= SIZE; i++) {
                    const float noise = (float)(data_next(&state) % 4096) * 1e-6f;
                    const float f = 3 * wave(0.00251f * (float)i) + noise;
                    const double d = (double)f * 1.1;
                    const int16_t n = (int16_t)(8000 * f);
                    uint8_t element[8];
                    memcpy(element,
                           size == 8   ? (const void *)&d
                           : size == 4 ? (const void *)&f
                                       : &n,
                           size);
                    for (unsigned k = 0; k < size; k++)
                        data[lead + i * size + k] = element[big_endian ? size - 1 - k : k];
                }
                check_choice(RATIO, 131072, "float");
                check_choice(RATIO, 5000, "float");
            }
}

/* Random bytes, each 400 of them twice: matches for all, and nothing for zstd's entropy coder to
 * gain. */
static void test_repeats(void)
{
    uint64_t state = 3;

    data_random(&state, data, SIZE);
    for (uint32_t at = 0; at + 800 <= SIZE; at += 800)
        memcpy(data + at + 400, data + at, 400);
    check_choices(8192, "lz4", "gpulz:s=4");
    /* The sample's pieces cut repeats off. */
    check_choices(131072, "lzr:1", "gpulz:s=4");
}

/* Random bytes that repeat after an odd number of them: too far off for gpulz, but few strings. */
static void test_odd_repeats(void)
{
    uint64_t state = 3;

    data_random(&state, data, 601);
    for (uint32_t at = 601; at < SIZE; at++)
        data[at] = data[at - 601];
    check_choices(131072, "lzr:1", "lzr:1");
}

/* Six letters at random: nothing but entropy, and short strings. */
static void test_letters(void)
{
    uint64_t state = 9;

    for (uint32_t at = 0; at < SIZE; at++)
        data[at] = (uint8_t)('a' + data_next(&state) % 6);
    check_choices(131072, "zstd:1", "fsst");
}

/* Any length is fine, and the choice reads nothing behind it. */
static void test_lengths(void)
{
    for (uint32_t length = 1; length < 20000; length = length * 5 / 4 + 1) {
        uint8_t *exact = malloc(length);

        REQUIRE(exact);
        data_fill(DATA_TEXT, length, exact, length);
        for (int which = 0; which < AUTOS; which++) {
            struct bale_setting setting = bale_setting_choose(scratch, parsed(autos[which]), exact,
                                                              length, BALE_CHUNK_LOG2_DEFAULT);
            CHECK(!bale_setting_is_open(setting) && bale_setting_valid(setting));
        }
        free(exact);
    }
}

/* Earlier extents do not influence a choice. */
static void test_pure(void)
{
    for (int kind = 0; kind < DATA_KINDS; kind++)
        for (uint32_t length = 1000; length <= SIZE; length *= 3)
            for (int which = 0; which < AUTOS; which++) {
                struct bale_scratch *fresh;
                char text[BALE_SETTING_TEXT];

                REQUIRE(bale_scratch_create(&fresh) == BALE_OK);
                data_fill((enum data_kind)kind, length, data, SIZE);
                bale_setting_print(bale_setting_choose(fresh, parsed(autos[which]), data, length,
                                                       BALE_CHUNK_LOG2_DEFAULT),
                                   text, sizeof text);
                check_choice(which, length, text);
                bale_scratch_destroy(fresh);
            }
}

/* The frame has the chosen setting. */
static void test_frame(void)
{
    struct bale_frame frame = {.raw_length = 131072, .chunk_log2 = 16};
    uint8_t *out = malloc(bale_frame_bound(131072, 16));
    size_t length;

    REQUIRE(out);
    fill_keys(8, 30, 0);
    REQUIRE(bale_frame_encode(scratch, parsed(autos[SPEED]), data, &frame, out, &length) ==
            BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_GPULZ);
    CHECK_EQ(frame.parameter, (uint16_t)parsed("gpulz:s=8").parameter);
    free(out);
}

/* lzr has chunks of 64 KiB at most. */
static void test_chunks(void)
{
    struct bale_setting setting = parsed(autos[RATIO]);

    data_fill(DATA_TEXT, 1, data, SIZE);
    check_choice(RATIO, SIZE, "lzr:1");
    setting = bale_setting_choose(scratch, setting, data, SIZE, BALE_CHUNK_LOG2_DEFAULT + 1);
    CHECK_EQ(setting.codec, BALE_CODEC_ZSTD);
    CHECK_EQ(setting.parameter, 1);
}

static void test_others(void)
{
    struct bale_setting setting = {.codec = BALE_CODEC_ZSTD, .parameter = 9};

    setting = bale_setting_choose(scratch, setting, data, SIZE, BALE_CHUNK_LOG2_DEFAULT);
    CHECK_EQ(setting.codec, BALE_CODEC_ZSTD);
    CHECK_EQ(setting.parameter, 9);
}

int main(void)
{
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    test_kinds();
    test_symbols();
    test_rounded();
    test_order();
    test_numbers();
    test_elements();
    test_repeats();
    test_odd_repeats();
    test_letters();
    test_lengths();
    test_pure();
    test_frame();
    test_chunks();
    test_others();
    bale_scratch_destroy(scratch);
    return check_result();
}
