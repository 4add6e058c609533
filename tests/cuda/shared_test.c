/* On a device whose blocks have too little shared memory for a codec, or whose multiprocessors are
 * too few for one, that codec stays with the CPU, and the others work.
 *
 * usage: shared_test PLUGIN, the emulated one */
#include <stdlib.h>

#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/exact_items.h"
#include "tests/cuda/rig.h"

enum { LENGTH = 100001, WATCHDOG_MS = 600000 };

static bool takes(struct rig *rig, struct exact_items *list, uint8_t codec)
{
    struct bale_setting setting;

    REQUIRE(codec_grid(codec, 0, &setting));
    exact_add(list, setting, DATA_TEXT, LENGTH, 16);
    exact_prepare_encode(list, 0);
    list->count = 0;
    return rig->gpu->takes(rig->engine, &list->items[0]);
}

/* shared: bytes; NULL: as many as the emulation has. */
static void test_shared(struct rig *rig, struct exact_items *list, const char *shared, bool fsst)
{
    const struct bale_gpu_options options = {.verify = true, .watchdog_ms = WATCHDOG_MS};

    if (shared)
        setenv("BALE_EMULATED_SHARED", shared, 1);
    rig_open(rig, &options);
    CHECK_EQ(takes(rig, list, BALE_CODEC_FSST), fsst);
    CHECK(takes(rig, list, BALE_CODEC_CULZSS));
    CHECK_EQ_U(rig_complaints(), 0); /* nobody can do anything about it */
    rig_close(rig);
}

static struct bale_engine *open_one(struct rig *rig, int ordinal)
{
    const struct bale_gpu_options options = {
        .devices = {ordinal}, .device_count = 1, .shared = true, .watchdog_ms = WATCHDOG_MS};
    struct bale_engine *engine = NULL;
    struct bale_reason why;

    REQUIRE(rig->gpu->open(&options, &engine, &why) == BALE_OK);
    return engine;
}

static bool does_float(struct rig *rig, struct bale_engine *engine)
{
    struct bale_gpu_stats stats;

    rig->gpu->stats(engine, &stats);
    CHECK(stats.codecs >> BALE_CODEC_CULZSS & 1);
    return stats.codecs >> BALE_CODEC_FLOAT & 1;
}

/* So many multiprocessors are for so many engines of a device, whatever others have. */
static void test_processors(struct rig *rig, const char *processors, unsigned engines)
{
    struct bale_engine *first, *second, *other;

    setenv("BALE_EMULATED_PROCESSORS", processors, 1);
    first = open_one(rig, 0);
    second = open_one(rig, 0);
    CHECK_EQ(does_float(rig, first), engines >= 1);
    CHECK_EQ(does_float(rig, second), engines >= 2);
    bale_engine_destroy(first);
    other = open_one(rig, 1);
    CHECK_EQ(does_float(rig, other), engines >= 1);
    first = open_one(rig, 0);
    CHECK_EQ(does_float(rig, first), engines >= 1);
    bale_engine_destroy(first);
    bale_engine_destroy(second);
    bale_engine_destroy(other);
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    struct rig rig;

    REQUIRE(argc == 2);
    rig_load(&rig, argv[1]);
    exact_items_open(&list, &rig, 2);
    test_shared(&rig, &list, NULL, true);
    test_shared(&rig, &list, "101376", false); /* 99 KiB */
    exact_items_close(&list);
    unsetenv("BALE_EMULATED_SHARED");
    test_processors(&rig, "12", 0);
    test_processors(&rig, "24", 1);
    test_processors(&rig, "25", 2);
    return check_result();
}
