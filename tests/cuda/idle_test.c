/* What the CUDA engine gives back while it has no work, and when: first the memory for batches,
 * then the context; and that the next batch, or word that one comes, brings it back. Skipped where
 * there is no GPU. usage: idle_test PLUGIN */
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/codecs/data.h"
#include "tests/cuda/rig.h"

enum { LENGTH = 128 << 10, ROOM = LENGTH + 4096, LONG_MS = 3600000, SHORT_MS = 50 };

/* tests/cuda/fake_driver.c; NULL: it is a real one. */
static void (*driver_set_free)(uint64_t bytes);
static void (*driver_set_exclusive)(bool only);

static struct bale_item item;

static void prepare(struct rig *rig)
{
    data_fill(DATA_TEXT, 1, rig->memory, LENGTH);
    item = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = BALE_PRIORITY_NORMAL,
        .memory_kind = BALE_MEMORY_PINNED,
        .setting = {.codec = BALE_CODEC_STORE},
        .frame = {.raw_length = LENGTH, .chunk_log2 = 16},
        .raw = rig->memory,
        .stored = rig->memory + ROOM,
        .capacity = ROOM,
    };
}

/* Until a batch is done; the first ones may come back because there is no memory for them yet. */
static void run_until_done(struct rig *rig)
{
    do {
        prepare(rig);
        rig_run(rig, &item, 1);
    } while (item.status == BALE_E_NO_DEVICE);
    CHECK_EQ(item.status, BALE_OK);
}

static void wait_for(struct rig *rig, bool open, bool kept)
{
    struct bale_gpu_stats stats;

    while (stats = rig_stats(rig), stats.open != open || stats.kept != kept)
        usleep(1000);
}

/* Until the devices were opened once more; they may be closed again by then. */
static void wait_for_opening(struct rig *rig, uint64_t last_ns)
{
    while (rig_stats(rig).opening.begin_ns == last_ns)
        usleep(1000);
}

/* The context and the pinned memory stay, and slots alone come back. */
static void test_kept(struct rig *rig)
{
    const struct bale_gpu_options all = {.release_ms = LONG_MS};
    const struct bale_gpu_options options = {.release_ms = LONG_MS, .slots_ms = SHORT_MS};
    uint64_t memory, first_ns;

    rig_open(rig, &all);
    memory = rig_stats(rig).device_memory;
    CHECK(rig_stats(rig).open && !rig_stats(rig).kept);
    rig_close(rig);

    rig_open(rig, &options);
    for (int round = 0; round < 3; round++) {
        wait_for(rig, false, true);
        CHECK(rig_stats(rig).device_memory > 0 && rig_stats(rig).device_memory < memory);
        CHECK_EQ_U(rig_stats(rig).pinned, rig->size);
        prepare(rig);
        CHECK(rig->gpu->takes(rig->engine, &item));
        run_until_done(rig);
    }
    wait_for(rig, false, true);
    first_ns = rig_stats(rig).opening.begin_ns;
    rig->gpu->wake(rig->engine);
    wait_for_opening(rig, first_ns);
    CHECK(rig_stats(rig).opening.phase_ns[BALE_GPU_SLOTS] > 0);
    CHECK_EQ_U(rig_stats(rig).opening.phase_ns[BALE_GPU_CONTEXT], 0);
    CHECK_EQ_U(rig_stats(rig).opening.phase_ns[BALE_GPU_PINS], 0);
    rig_close(rig);
}

static void return_pages(void *arg)
{
    const struct rig *rig = arg;

    CHECK_EQ(madvise(rig->memory, rig->size, MADV_DONTNEED), 0);
}

/* What was unpinned while the context is kept is pinned again for the next batch, whatever its pages
 * are then. */
static void test_unpinned(struct rig *rig)
{
    const struct bale_gpu_options options = {.release_ms = LONG_MS, .slots_ms = SHORT_MS};

    rig_open(rig, &options);
    for (int round = 0; round < 3; round++) {
        wait_for(rig, false, true);
        rig->gpu->unpin(rig->engine);
        while (!rig->gpu->while_unpinned(rig->engine, return_pages, rig))
            usleep(1000);
        wait_for(rig, false, true);
        CHECK_EQ_U(rig_stats(rig).pinned, 0);
        CHECK_EQ(rig->memory[0], 0);
        CHECK(rig_stats(rig).device_memory > 0);
        run_until_done(rig);
        CHECK_EQ_U(rig_stats(rig).pinned, rig->size);
        CHECK_EQ_U(rig_stats(rig).opening.phase_ns[BALE_GPU_CONTEXT], 0);
        CHECK(rig_stats(rig).opening.phase_ns[BALE_GPU_PINS] > 0);
    }
    rig_close(rig);
}

/* On request everything goes, whether batches had memory or not, and comes back. */
static void test_request(struct rig *rig)
{
    struct bale_gpu_options options = {.release_ms = LONG_MS};

    for (int kept = 0; kept < 2; kept++) {
        options.slots_ms = kept ? SHORT_MS : 0;
        rig_open(rig, &options);
        wait_for(rig, !kept, kept);
        rig->gpu->release(rig->engine);
        wait_for(rig, false, false);
        CHECK_EQ_U(rig_stats(rig).device_memory, 0);
        rig->gpu->release(rig->engine); /* nothing to do */
        uint64_t first_ns = rig_stats(rig).opening.begin_ns;
        rig->gpu->wake(rig->engine);
        wait_for_opening(rig, first_ns);
        run_until_done(rig);
        rig_close(rig);
    }
}

/* Word of work that comes before the devices are given back, or meanwhile, opens them again. */
static void test_wake_while_closing(struct rig *rig)
{
    static const unsigned delays_us[] = {0, 0, 0, 0, 50, 1000, 10000, 50000};
    const struct bale_gpu_options options = {.release_ms = LONG_MS};

    rig_open(rig, &options);
    for (size_t i = 0; i < sizeof delays_us / sizeof delays_us[0]; i++) {
        uint64_t last_ns = rig_stats(rig).opening.begin_ns;
        rig->gpu->release(rig->engine);
        if (delays_us[i] > 0)
            usleep(delays_us[i]);
        rig->gpu->wake(rig->engine);
        wait_for_opening(rig, last_ns);
        wait_for(rig, true, false);
    }
    rig_close(rig);
}

/* With a new context batches of the first range are done before the others are pinned, and those of
 * the others afterwards. */
static void test_pins(struct rig *rig)
{
    enum { RANGES = 8 };
    const struct bale_gpu_options options = {.release_ms = LONG_MS};

    rig_reserve(rig, RANGES * RIG_STEP);
    rig_open(rig, &options);
    rig->gpu->release(rig->engine);
    wait_for(rig, false, false);
    prepare(rig);
    item.raw += (RANGES - 1) * RIG_STEP;
    CHECK(rig->gpu->takes(rig->engine, &item)); /* it will be */
    rig->fault("pinning");
    run_until_done(rig);
    CHECK_EQ_U(rig_stats(rig).pinned, RIG_STEP);
    prepare(rig);
    item.raw += (RANGES - 1) * RIG_STEP;
    memcpy(item.raw, rig->memory, LENGTH);
    CHECK(!rig->gpu->takes(rig->engine, &item));
    rig_run(rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_NO_DEVICE);
    rig->fault(NULL);
    while (!rig->gpu->takes(rig->engine, &item))
        usleep(1000);
    rig_run(rig, &item, 1);
    CHECK_EQ(item.status, BALE_OK);
    rig_close(rig);
    rig_reserve(rig, RIG_STEP);
}

/* Another program needs the memory. */
static void test_pressure(struct rig *rig)
{
    const struct bale_gpu_options options = {.release_ms = LONG_MS, .slots_ms = SHORT_MS};
    unsigned complaints = rig_complaints();

    rig_open(rig, &options);
    wait_for(rig, false, true);
    driver_set_free(0);
    wait_for(rig, false, false);
    driver_set_free(UINT64_MAX);
    run_until_done(rig);
    rig_close(rig);
    CHECK_EQ_U(rig_complaints(), complaints);
}

/* Of a device that others have nearly filled engines take shares, as long as these are worth it;
 * then the CPU goes on. With so much free, how much is taken; 0: it is not opened. */
static void test_shares(struct rig *rig)
{
    static const struct {
        uint64_t free, taken; /* MiB */
    } cases[] = {{65536, 4096}, {9000, 4096}, {8000, 4000}, {4000, 2048},
                 {2048, 2048},  {2047, 0},    {300, 0}};
    const struct bale_gpu_options options = {.release_ms = LONG_MS};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bale_engine *engine = NULL;
        struct bale_gpu_stats stats = {0};
        struct bale_reason why;
        driver_set_free(cases[i].free << 20);
        int err = rig->gpu->open(&options, &engine, &why);
        CHECK_EQ(err, cases[i].taken ? BALE_OK : BALE_E_NOMEM);
        if (err < 0)
            continue;
        rig->gpu->stats(engine, &stats);
        CHECK_EQ_U(stats.device_memory >> 20, cases[i].taken);
        bale_engine_destroy(engine);
    }
    driver_set_free(UINT64_MAX);
}

/* Who insists gets a device that others have filled, and one that is for one process alone; with
 * if_free only the latter. */
static void test_insisting(struct rig *rig)
{
    for (unsigned i = 0; i < 2; i++) {
        struct bale_gpu_options options = {.release_ms = LONG_MS, .insist = true, .if_free = i > 0};
        struct bale_engine *engine = NULL;
        struct bale_reason why;
        driver_set_exclusive(true);
        driver_set_free(300 << 20);
        CHECK_EQ(rig->gpu->open(&options, &engine, &why), i > 0 ? BALE_E_NOMEM : BALE_OK);
        bale_engine_destroy(engine);
        engine = NULL;
        driver_set_free(UINT64_MAX);
        CHECK_EQ(rig->gpu->open(&options, &engine, &why), BALE_OK);
        bale_engine_destroy(engine);
        driver_set_exclusive(false);
    }
}

/* The memory is not there any more when it is wanted again: the CPU goes on, and the context goes.
 * Some seconds later it is tried again, and the log has the lack once. */
static void test_no_memory(struct rig *rig)
{
    const struct bale_gpu_options options = {.release_ms = LONG_MS, .slots_ms = SHORT_MS};
    unsigned complaints = rig_complaints();

    rig_open(rig, &options);
    wait_for(rig, false, true);
    rig->fault("slots");
    prepare(rig);
    rig_run(rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_NO_DEVICE);
    wait_for(rig, false, false);
    while (rig_stats(rig).device_memory > 0) /* counted apart from open and kept */
        usleep(1000);
    while (!rig->gpu->takes(rig->engine, &item))
        usleep(1000);
    rig_run(rig, &item, 1);
    CHECK_EQ(item.status, BALE_E_NO_DEVICE);
    rig->fault(NULL);
    while (!rig->gpu->takes(rig->engine, &item))
        usleep(1000);
    run_until_done(rig);
    rig_close(rig);
    CHECK_EQ_U(rig_complaints(), complaints + 1);
}

/* A device for one process alone is never kept. */
static void test_exclusive(struct rig *rig)
{
    const struct bale_gpu_options options = {
        .release_ms = LONG_MS, .slots_ms = SHORT_MS, .insist = true};

    driver_set_exclusive(true);
    rig_open(rig, &options);
    rig_wait(rig, false);
    CHECK(!rig_stats(rig).kept);
    CHECK_EQ_U(rig_stats(rig).device_memory, 0);
    rig_close(rig);
    driver_set_exclusive(false);
}

int main(int argc, char **argv)
{
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc == 2);
    rig_load(&rig, argv[1]);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    *(void **)&driver_set_free = dlsym(library, "bale_driver_set_free");
    *(void **)&driver_set_exclusive = dlsym(library, "bale_driver_set_exclusive");
    rig_reserve(&rig, RIG_STEP);
    test_kept(&rig);
    test_unpinned(&rig);
    test_request(&rig);
    test_wake_while_closing(&rig);
    if (driver_set_free && driver_set_exclusive) {
        test_pins(&rig);
        test_pressure(&rig);
        test_shares(&rig);
        test_insisting(&rig);
        test_no_memory(&rig);
        test_exclusive(&rig);
    }
    return check_result();
}
