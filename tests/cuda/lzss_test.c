/* The CUDA engine's gpulz and culzss against the CPU's: frames are the same to the byte; streams that were made to
 * harm, with checksums that match, get the same answer.
 *
 * usage: lzss_test PLUGIN [--few]; skipped where there is no GPU.
 *   --few: as much as a checker of memory accesses can follow */
#include "format/err.h"
#include "format/gpulz.h"
#include "tests/check.h"
#include "tests/cuda/lzss_harm.h"
#include "tests/cuda/lzss_items.h"
#include "tests/cuda/rig.h"

enum {
    ROUNDS = 80,
    ROUNDS_FEW = 3,
    ALL_STEP_FEW = 37, /* of the settings and kinds of data, every so many */
};

static void run_jobs(struct lzss_items *list)
{
    lzss_encode_all(list);
    lzss_drop_zero(list);
    lzss_decode_all(list);
    lzss_harm_all(list);
    lzss_decode_all(list);
    list->count = 0;
}

static void run_if_full(struct lzss_items *list)
{
    if (list->count == LZSS_ITEMS)
        run_jobs(list);
}

static struct bale_setting gpulz(unsigned symbol_log2, unsigned piece_log2, unsigned window)
{
    uint16_t parameter = bale_gpulz_parameter(symbol_log2, piece_log2, window);

    return (struct bale_setting){BALE_CODEC_GPULZ, (int16_t)parameter};
}

static struct bale_setting culzss(unsigned version)
{
    return (struct bale_setting){BALE_CODEC_CULZSS, (int16_t)version};
}

static struct bale_setting any_setting(struct lzss_items *list)
{
    if (lzss_below(list, 4) == 0)
        return culzss(1 + lzss_below(list, 2));
    return gpulz(lzss_below(list, 4), BALE_GPULZ_PIECE_LOG2_MIN + lzss_below(list, 6),
                 BALE_GPULZ_WINDOW_MIN + lzss_below(list, 224));
}

/* Every size of symbols and pieces with the windows at the ends and between, and every kind of data. */
static void test_settings(struct lzss_items *list, bool few)
{
    static const uint8_t windows[] = {32, 33, 64, 128, 255};
    enum { GPULZ = 4 * 6 * sizeof windows, SETTINGS = GPULZ + 2 };

    for (unsigned k = 0; k < SETTINGS * SHAPES; k += few ? ALL_STEP_FEW : 1) {
        unsigned i = k % SETTINGS;
        lzss_add(list,
                 i < GPULZ ? gpulz(i % 4, BALE_GPULZ_PIECE_LOG2_MIN + i / 4 % 6, windows[i / 24])
                           : culzss(1 + i - GPULZ),
                 k / SETTINGS, 65536 + 4500 - k % 3, 16);
        run_if_full(list);
    }
    run_jobs(list);
}

/* The shortest chunks, and those about a piece's end. */
static void test_lengths(struct lzss_items *list)
{
    for (uint32_t length = 1; length <= 96; length++) {
        lzss_add(list, any_setting(list), SHAPE_RUNS, length, 16);
        run_if_full(list);
    }
    for (uint32_t length = 2048 - 16; length <= 2048 + 48; length++) {
        struct bale_setting setting =
            length % 6 < 4 ? gpulz(length % 4, 11, 255) : culzss(length % 6 - 3);
        lzss_add(list, setting, length % SHAPES, length, 16);
        run_if_full(list);
        lzss_add(list, setting, length % SHAPES, 65536 - 2048 + length, 16);
        run_if_full(list);
    }
    run_jobs(list);
}

static void test_random(struct lzss_items *list, bool few)
{
    static const uint32_t most[] = {300, 5000, 70000, LZSS_LENGTH_MAX - 8};

    for (int round = 0; round < (few ? ROUNDS_FEW : ROUNDS); round++) {
        while (list->count < LZSS_ITEMS)
            lzss_add(list, any_setting(list), lzss_below(list, SHAPES),
                     1 + lzss_below(list, most[lzss_below(list, 4)]),
                     (uint8_t)(12 + lzss_below(list, 5)));
        run_jobs(list);
    }
}

/* A setting without a symbol size is refused: the caller has to choose it first. */
static void test_open(struct lzss_items *list)
{
    struct bale_item item;

    lzss_add(list, gpulz(0, 12, 255), DATA_TEXT, 100000, 16);
    lzss_encode_all(list);
    list->count = 0;
    item = list->items[0];
    item.setting.parameter |= (int16_t)BALE_GPULZ_ADAPTIVE;
    CHECK(bale_setting_is_open(item.setting));
    CHECK(!list->rig->gpu->takes(list->rig->engine, &item));
    rig_run(list->rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_INVALID);
}

int main(int argc, char **argv)
{
    static struct lzss_items list;
    const struct bale_gpu_options options = {.verify = true};
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&rig, argv[1]);
    lzss_items_open(&list, &rig, 11);
    rig_open(&rig, &options);
    test_open(&list);
    test_lengths(&list);
    test_settings(&list, argc > 2);
    test_random(&list, argc > 2);
    CHECK_EQ_U(rig_stats(&rig).mismatches, 0);
    CHECK(!rig_stats(&rig).lost);
    printf("%s: %lu items encoded, %lu decoded, of which %u refused\n", rig_stats(&rig).device,
           list.encoded, list.decoded, list.refused);
    rig_close(&rig);
    lzss_items_close(&list);
    return check_result();
}
