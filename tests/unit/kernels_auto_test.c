/* What auto chooses. */
#include "format/err.h"
#include "kernels/codec.h"
#include "tests/check.h"
#include "tests/unit/kernels_data.h"

enum { SIZE = 1 << 20 };

static struct bale_scratch *scratch;
static uint8_t data[SIZE];

static struct bale_setting choose(uint32_t length)
{
    return bale_auto_choose(scratch, (struct bale_setting){.codec = BALE_CODEC_AUTO}, data, length);
}

static void check_choice(uint32_t length, uint8_t codec, int16_t parameter)
{
    struct bale_setting setting = choose(length);

    CHECK_EQ(setting.codec, codec);
    CHECK_EQ(setting.parameter, parameter);
}

static void test_kinds(void)
{
    static const uint32_t sizes[] = {4096, 8192, 8193, 16384, 131072, SIZE};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        data_fill(DATA_RANDOM, 1, data, SIZE);
        check_choice(sizes[i], BALE_CODEC_STORE, 0);
        data_fill(DATA_TEXT, 1, data, SIZE);
        check_choice(sizes[i], BALE_CODEC_ZSTD, 1);
        data_fill(DATA_FIELD, 1, data, SIZE);
        check_choice(sizes[i], BALE_CODEC_ZSTD, 1);
    }
}

/* Random bytes, each 400 of them twice: matches for both, and nothing for zstd's entropy coder to
 * gain. */
static void test_repeats(void)
{
    uint64_t state = 3;

    data_random(&state, data, SIZE);
    for (uint32_t at = 0; at + 800 <= SIZE; at += 800)
        memcpy(data + at + 400, data + at, 400);
    check_choice(131072, BALE_CODEC_LZ4, 0);
}

/* Any length is fine, and the choice reads nothing behind it. */
static void test_lengths(void)
{
    for (uint32_t length = 1; length < 20000; length = length * 5 / 4 + 1) {
        uint8_t *exact = malloc(length);
        struct bale_setting setting = {.codec = BALE_CODEC_AUTO};

        REQUIRE(exact);
        data_fill(DATA_TEXT, length, exact, length);
        setting = bale_auto_choose(scratch, setting, exact, length);
        CHECK(setting.codec != BALE_CODEC_AUTO && bale_setting_valid(setting));
        free(exact);
    }
}

/* What was seen before does not matter. */
static void test_pure(void)
{
    for (int kind = 0; kind < DATA_KINDS; kind++)
        for (uint32_t length = 1000; length <= SIZE; length *= 3) {
            struct bale_scratch *fresh;
            struct bale_setting setting = {.codec = BALE_CODEC_AUTO};

            REQUIRE(bale_scratch_create(&fresh) == BALE_OK);
            data_fill((enum data_kind)kind, length, data, SIZE);
            setting = bale_auto_choose(fresh, setting, data, length);
            check_choice(length, setting.codec, setting.parameter);
            bale_scratch_destroy(fresh);
        }
}

static void test_others(void)
{
    struct bale_setting setting = {BALE_CODEC_ZSTD, 9};

    setting = bale_auto_choose(scratch, setting, data, SIZE);
    CHECK_EQ(setting.codec, BALE_CODEC_ZSTD);
    CHECK_EQ(setting.parameter, 9);
}

int main(void)
{
    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    test_kinds();
    test_repeats();
    test_lengths();
    test_pure();
    test_others();
    bale_scratch_destroy(scratch);
    return check_result();
}
