/* The codec gpulz against a brute-force reference, over symbols, windows, pieces and kinds of data;
 * the worked examples of its specification. */
#include "format/gpulz.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/unit/kernels/lzss/check.h"

static struct lzss_rig rig;
static uint8_t data[8 * 65536 + 5];
static bool few;

static int16_t parameter_of(struct reference_how how)
{
    return (int16_t)bale_gpulz_parameter((unsigned)__builtin_ctz(how.symbol),
                                         (unsigned)__builtin_ctz(how.piece), how.window);
}

static void check(struct reference_how how, unsigned kind, const uint8_t *bytes, uint32_t length)
{
    lzss_check(&rig, how, kind, bytes, length);
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
    for (uint32_t symbol = 1; symbol <= 8; symbol *= 2)
        lzss_check_lengths(&rig, (struct reference_how){symbol, 2048, 255}, data);
}

static void test_windows(void)
{
    shape_fill(DATA_TEXT, data, 3000);
    for (uint32_t window = 32; window <= 255; window += few ? 13 : 1)
        for (uint32_t symbol = 1; symbol <= 8; symbol *= 2)
            check((struct reference_how){symbol, 2048, window}, DATA_TEXT, data, 3000);
}

/* The largest piece, and a chunk that is larger still. */
static void test_large(void)
{
    for (uint32_t piece = 2048; piece <= 65536; piece *= 2) {
        shape_fill(DATA_MIXED, data, LZSS_MOST);
        check((struct reference_how){1, piece, 255}, DATA_MIXED, data, LZSS_MOST);
        check((struct reference_how){4, piece, 64}, DATA_MIXED, data, LZSS_MOST);
        shape_fill(SHAPE_EQUAL, data, LZSS_MOST);
        check((struct reference_how){1, piece, 128}, SHAPE_EQUAL, data, LZSS_MOST);
        check((struct reference_how){8, piece, 255}, SHAPE_EQUAL, data, LZSS_MOST);
    }
    shape_fill(DATA_RANDOM, data, 65536);
    check((struct reference_how){1, 65536, 255}, DATA_RANDOM, data, 65536);
}

static void test_random(void)
{
    uint64_t state = 99;

    for (int round = 0; round < (few ? 60 : 400); round++) {
        struct reference_how how = {1u << data_next(&state) % 4, 2048u << data_next(&state) % 6,
                                    32 + (uint32_t)(data_next(&state) % 224)};
        unsigned kind = (unsigned)(data_next(&state) % SHAPES);
        uint32_t length = 1 + (uint32_t)(data_next(&state) % 7000);

        shape_fill(kind, data, length + 8);
        check(how, kind, data + data_next(&state) % 8, length);
    }
}

/* ---- The examples of spec.md ---- */

static const struct reference_how letters_how = {1, 2048, 32};

static const uint8_t numbers[] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7};
static const uint8_t numbers_stored[] = {2, 0, 0x02, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 7};
static const struct reference_how numbers_how = {4, 4096, 255};

static void check_example(struct reference_how how, const uint8_t *raw, uint32_t length,
                          const uint8_t *stored, size_t stored_length)
{
    CHECK_EQ_U(reference_encode(how, raw, length, rig.expected, rig.room), stored_length);
    CHECK_EQ_MEM(rig.expected, stored, stored_length);
    check(how, SHAPES, raw, length);
}

static void test_examples(void)
{
    check_example(letters_how, lzss_letters, LZSS_LETTERS, lzss_letters_stored,
                  sizeof lzss_letters_stored);
    CHECK_EQ(parameter_of(letters_how), 0x0020);
    check_example(numbers_how, numbers, 17, numbers_stored, sizeof numbers_stored);
    CHECK_EQ(parameter_of(numbers_how), 0x11ff);
}

/* ---- Adaptive symbols ---- */

/* The size of symbols that an extent gets. */
static uint32_t reference_choose(uint32_t window, const uint8_t *raw, uint32_t length, uint8_t *out,
                                 uint8_t *room)
{
    uint32_t pieces = length / 65536 < 2 ? 2 : length / 65536 > 8 ? 8 : length / 65536;
    bool all = length <= 2048 * pieces;
    size_t least = SIZE_MAX;
    uint32_t best = 0;

    if (all)
        pieces = (length + 2047) / 2048;
    for (uint32_t symbol = 8; symbol >= 1; symbol /= 2) {
        struct reference_how how = {symbol, 2048, window};
        size_t sum = 0;
        for (uint32_t k = 0; k < pieces; k++) {
            uint32_t at =
                all ? 2048 * k : (uint32_t)((uint64_t)(length - 2048) * k / (pieces - 1) & ~7u);
            uint32_t bytes = length - at < 2048 ? length - at : 2048;
            sum += reference_encode(how, raw + at, bytes, out, room);
            sum -= bytes >= symbol ? 2 : 0;
        }
        if (sum < least) {
            least = sum;
            best = symbol;
        }
    }
    return best;
}

static void check_choice(unsigned kind, uint32_t length, uint16_t window, unsigned piece_log2)
{
    uint16_t open = (uint16_t)(bale_gpulz_parameter(0, piece_log2, window) | BALE_GPULZ_ADAPTIVE);
    struct bale_setting setting = {.codec = BALE_CODEC_GPULZ, .parameter = (int16_t)open};
    uint8_t *raw = lzss_copy(data, length);

    CHECK(bale_setting_valid(setting) && bale_setting_is_open(setting));
    setting = bale_setting_choose(rig.scratch, setting, raw, length, BALE_CHUNK_LOG2_DEFAULT);
    CHECK(bale_setting_valid(setting) && !bale_setting_is_open(setting));
    CHECK_EQ(setting.codec, BALE_CODEC_GPULZ);
    struct reference_how how = {reference_choose(window, raw, length, rig.expected, rig.room),
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
            chosen |= reference_choose(255, data, lengths[i], rig.expected, rig.room);
        }
    CHECK_EQ_U(chosen, 1 + 2 + 4 + 8);
    CHECK_EQ(bale_setting_choose(
                 rig.scratch,
                 (struct bale_setting){.codec = BALE_CODEC_GPULZ, .parameter = (int16_t)definite},
                 data, 1000, BALE_CHUNK_LOG2_DEFAULT)
                 .parameter,
             definite);
}

/* A frame has a setting without open parameters, the same one for an extent from every engine. */
static void test_frame(void)
{
    struct bale_frame frame = {.raw_length = 131072, .chunk_log2 = 16};
    struct bale_setting setting;
    size_t length;
    uint8_t *out = malloc(bale_frame_bound(131072, 16));

    REQUIRE(out && bale_setting_parse("gpulz:w=200", &setting, NULL) == BALE_OK);
    shape_fill(SHAPE_WORDS, data, 131072);
    CHECK_EQ(bale_frame_encode(rig.scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_GPULZ);
    CHECK_EQ(frame.parameter, bale_gpulz_parameter(3, 12, 200));
    shape_fill(DATA_RANDOM, data, 131072);
    CHECK_EQ(bale_frame_encode(rig.scratch, setting, data, &frame, out, &length), BALE_OK);
    CHECK_EQ(frame.codec, BALE_CODEC_STORE);
    CHECK_EQ(frame.parameter, 0);
    free(out);
}

int main(int argc, char **argv)
{
    few = check_few(&argc, argv);
    lzss_open(&rig, BALE_CODEC_GPULZ, parameter_of);
    test_kinds();
    test_lengths();
    test_windows();
    test_large();
    test_random();
    test_examples();
    test_choice();
    test_frame();
    bale_scratch_destroy(rig.scratch);
    return check_result();
}
