/* The codec culzss against a brute-force reference, in both versions; the worked example of its
 * specification. */
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/unit/kernels/lzss/check.h"

static const struct reference_how hows[] = {{1, 512, 128}, {1, 4096, 128}};
enum { VERSIONS = sizeof hows / sizeof hows[0] };

static struct lzss_rig rig;
static uint8_t data[131072];

static int16_t parameter_of(struct reference_how how)
{
    return how.piece == 512 ? 1 : 2;
}

static void check(struct reference_how how, unsigned kind, const uint8_t *bytes, uint32_t length)
{
    lzss_check(&rig, how, kind, bytes, length);
}

static void test_kinds(void)
{
    for (unsigned kind = 0; kind < SHAPES; kind++) {
        shape_fill(kind, data, LZSS_MOST);
        for (size_t v = 0; v < VERSIONS; v++) {
            check(hows[v], kind, data, LZSS_MOST);
            check(hows[v], kind, data, 65536);
            check(hows[v], kind, data, 4097);
        }
    }
}

/* Repeats at distances near the window's size, where a match may just be lost. */
static void test_periods(void)
{
    for (uint32_t period = 1; period <= 131; period++) {
        for (uint32_t i = 0; i < 5000; i++)
            data[i] = (uint8_t)(i % period);
        for (size_t v = 0; v < VERSIONS; v++)
            check(hows[v], SHAPES, data, 5000);
    }
}

/* Runs of every length about the least and the most that a pointer stands for, between bytes that
 * occur once in a window. */
static void test_runs(void)
{
    uint32_t length = 0;

    for (uint32_t run = 1; run <= 270; run = run < 6 || run >= 256 ? run + 1 : 256) {
        data[length++] = (uint8_t)(100 + run % 100);
        memset(data + length, (int)(run % 2), run);
        length += run;
    }
    for (size_t v = 0; v < VERSIONS; v++)
        for (uint32_t from = 0; from < 40; from++)
            check(hows[v], SHAPES, data + from, length - from);
}

static void test_random(void)
{
    uint64_t state = 77;

    for (int round = 0; round < 400; round++) {
        unsigned kind = (unsigned)(data_next(&state) % SHAPES);
        uint32_t length = 1 + (uint32_t)(data_next(&state) % 9000);

        shape_fill(kind, data, length + 8);
        check(hows[round % VERSIONS], kind, data + data_next(&state) % 8, length);
    }
}

static void test_example(void)
{
    for (size_t v = 0; v < VERSIONS; v++) {
        CHECK_EQ_U(reference_encode(hows[v], lzss_letters, LZSS_LETTERS, rig.expected, rig.room),
                   sizeof lzss_letters_stored);
        CHECK_EQ_MEM(rig.expected, lzss_letters_stored, sizeof lzss_letters_stored);
        check(hows[v], SHAPES, lzss_letters, LZSS_LETTERS);
    }
}

static void check_frame(const char *text, uint16_t parameter, uint8_t *out)
{
    struct bale_frame frame = {.raw_length = sizeof data, .chunk_log2 = 16};
    struct bale_setting setting;
    size_t length;

    REQUIRE(bale_setting_parse(text, &setting, NULL) == BALE_OK);
    CHECK(bale_setting_valid(setting) && !bale_setting_is_open(setting));
    shape_fill(DATA_TEXT, data, sizeof data);
    CHECK_EQ(bale_frame_encode(rig.scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_CULZSS);
    CHECK_EQ(frame.parameter, parameter);
    shape_fill(DATA_RANDOM, data, sizeof data);
    CHECK_EQ(bale_frame_encode(rig.scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_STORE);
    CHECK_EQ(frame.parameter, 0);
}

static void test_frame(void)
{
    uint8_t *out = malloc(bale_frame_bound(sizeof data, 16));

    REQUIRE(out);
    check_frame("culzss:v=1", 1, out);
    check_frame("culzss:v=2", 2, out);
    check_frame("culzss", 2, out);
    free(out);
}

int main(void)
{
    lzss_open(&rig, BALE_CODEC_CULZSS, parameter_of);
    test_kinds();
    for (size_t v = 0; v < VERSIONS; v++)
        lzss_check_lengths(&rig, hows[v], data);
    test_periods();
    test_runs();
    test_random();
    test_example();
    test_frame();
    bale_scratch_destroy(rig.scratch);
    return check_result();
}
