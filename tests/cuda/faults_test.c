/* The CUDA engine when something fails: each item comes back with a status that says that another
 * engine is to do it, and what can go on goes on. Skipped where there is no GPU; where nvCOMP is
 * missing, without its codecs.
 *
 * usage: faults_test PLUGIN: one built with BALE_CUDA_FAULTS */
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/dispatch.h"
#include "tests/check.h"
#include "tests/codecs/data.h"
#include "tests/cuda/rig.h"

enum { ITEMS = 16, LENGTH = 128 << 10, ROOM = LENGTH + 4096 };

static struct bale_item items[ITEMS];

static struct bale_setting setting_of(uint8_t codec)
{
    static const struct bale_setting some[] = {{.codec = BALE_CODEC_ZSTD, .parameter = 1},
                                               {.codec = BALE_CODEC_GPULZ, .parameter = 0x01ff}};

    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++)
        if (some[i].codec == codec)
            return some[i];
    return (struct bale_setting){.codec = codec, .parameter = 0};
}

static void prepare(struct rig *rig, uint8_t codec)
{
    for (unsigned i = 0; i < ITEMS; i++) {
        uint8_t *room = rig->memory + (size_t)2 * i * ROOM;
        data_fill(DATA_TEXT, i, room, LENGTH);
        items[i] = (struct bale_item){
            .kind = BALE_ITEM_ENCODE,
            .priority = BALE_PRIORITY_NORMAL,
            .memory_kind = BALE_MEMORY_PINNED,
            .setting = setting_of(codec),
            .frame = {.raw_length = LENGTH, .chunk_log2 = 16},
            .raw = room,
            .stored = room + ROOM,
            .capacity = ROOM,
        };
    }
}

/* All items come back with the status. */
static void expect(struct rig *rig, uint8_t codec, const char *name, int status)
{
    prepare(rig, codec);
    rig->fault(name);
    rig_run(rig, items, ITEMS);
    rig->fault(NULL);
    for (unsigned i = 0; i < ITEMS; i++)
        CHECK_EQ(items[i].status, status);
}

static bool takes(struct rig *rig, uint8_t codec)
{
    prepare(rig, codec);
    return rig->gpu->takes(rig->engine, &items[0]);
}

static void test_find(struct rig *rig)
{
    struct bale_gpu_found found;
    struct bale_reason why = {0};
    int err = rig->gpu->find(&found, &why);

    CHECK(err == BALE_OK || why.text[0] != '\0');
    CHECK(found.chosen < found.device_count);
    CHECK(found.devices[found.chosen].name[0]);
    CHECK(found.devices[found.chosen].memory > 0);
}

static void test_failed_batches(struct rig *rig, uint8_t codec)
{
    const struct bale_gpu_options options = {.verify = true};

    if (!rig_has(rig, codec))
        return;
    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, "nomem", BALE_E_NOMEM);
    expect(rig, codec, "launch", BALE_E_ENGINE);
    expect(rig, codec, NULL, BALE_OK);
    CHECK(!rig_stats(rig).lost);
    CHECK_EQ_U(rig_stats(rig).failed, 2 * ITEMS);
    rig_close(rig);
}

/* A frame that holds more or less than its item has room for is as good as damaged. */
static void test_other_lengths(struct rig *rig)
{
    const struct bale_gpu_options options = {.verify = true};
    uint8_t *raw = rig->memory;

    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, NULL, BALE_OK);
    memset(raw, 0x5a, ROOM);
    for (int more = -1; more <= 1; more += 2) {
        items[0].kind = BALE_ITEM_DECODE;
        items[0].frame.raw_length = (uint32_t)(LENGTH + more);
        CHECK(!rig->gpu->takes(rig->engine, &items[0]));
        rig_run(rig, items, 1);
        CHECK_EQ(items[0].status, BALE_E_CORRUPT);
        CHECK(rig_all(raw, raw + ROOM, 0x5a));
    }
    rig_close(rig);
}

/* Only the item whose chunk it is fails. The third time the codec is no longer taken. */
static void test_mismatch(struct rig *rig, uint8_t codec)
{
    const struct bale_gpu_options options = {.verify = true};

    if (!rig_has(rig, codec))
        return;
    rig_open(rig, &options);
    for (unsigned round = 1; round <= 3; round++) {
        CHECK(takes(rig, codec));
        rig->fault("flip");
        rig_run(rig, items, 1);
        rig->fault(NULL);
        CHECK_EQ(items[0].status, BALE_E_CORRUPT);
        CHECK_EQ_U(rig_stats(rig).mismatches, round);
    }
    CHECK(!takes(rig, codec));
    CHECK(takes(rig, BALE_CODEC_STORE));
    rig_close(rig);
}

static void test_little_memory(struct rig *rig)
{
    const struct bale_gpu_options options = {.verify = true, .memory = (uint64_t)8 << 30};

    rig->fault("alloc");
    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, "alloc", BALE_OK);
    rig_close(rig);
}

/* The batch is given up long before the kernel ends. Until that has, nothing is taken; then the
 * device is closed, and the next batch opens it. */
static void test_hang(struct rig *rig)
{
    const struct bale_gpu_options options = {.watchdog_ms = 800, .release_ms = 60000};

    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, "hang", BALE_E_ENGINE);
    CHECK(!takes(rig, BALE_CODEC_STORE));
    rig_wait(rig, false);
    expect(rig, BALE_CODEC_STORE, NULL, BALE_E_NO_DEVICE);
    rig_wait(rig, true);
    expect(rig, BALE_CODEC_STORE, NULL, BALE_OK);
    CHECK(!rig_stats(rig).lost);
    rig_close(rig);
}

/* A batch that hangs as it is written is given up as well. Its items' outputs may be used again
 * when that is said, and from then on nothing writes there. */
static void test_late(struct rig *rig)
{
    struct rig_quarantine late = RIG_QUARANTINE;
    const struct bale_gpu_options options = {
        .watchdog_ms = 800, .release_ms = 60000, .quarantine = rig_note_quarantine, .arg = &late};
    unsigned complaints;

    rig_open(rig, &options);
    complaints = rig_complaints();
    expect(rig, BALE_CODEC_STORE, NULL, BALE_OK);
    CHECK_EQ_U(atomic_load(&late.calls), 0);
    prepare(rig, BALE_CODEC_STORE);
    rig->fault("late");
    rig_run(rig, items, ITEMS);
    for (unsigned i = 0; i < ITEMS; i++)
        CHECK_EQ(items[i].status, BALE_E_QUARANTINED);
    CHECK_EQ_U(rig_complaints(), complaints + 1);
    CHECK(atomic_load(&late.may));
    CHECK(!takes(rig, BALE_CODEC_STORE));
    rig->fault(NULL);
    rig_quarantine_wait(&late);
    for (unsigned i = 0; i < ITEMS; i++)
        memset(items[i].stored, 0x33, ROOM);
    rig_wait(rig, false);
    expect(rig, BALE_CODEC_STORE, NULL, BALE_E_NO_DEVICE);
    rig_wait(rig, true);
    for (unsigned i = 0; i < ITEMS; i++)
        CHECK(rig_all(items[i].stored, items[i].stored + ROOM, 0x33));
    expect(rig, BALE_CODEC_STORE, NULL, BALE_OK);
    CHECK_EQ_U(atomic_load(&late.calls), 2);
    CHECK(!rig_stats(rig).lost);
    rig_close(rig);
    CHECK_EQ_U(atomic_load(&late.calls), 2);
    CHECK_EQ_U(rig_complaints(), complaints + 1);
}

/* A batch that hangs as it is written while another one ends the device: both may be written yet,
 * until what is lost was closed, when the first is back. On a GPU nothing hangs that long. */
static void test_late_and_lost(struct rig *rig)
{
    struct rig_quarantine late = RIG_QUARANTINE;
    const struct bale_gpu_options options = {
        .watchdog_ms = 1000, .release_ms = 60000, .quarantine = rig_note_quarantine, .arg = &late};

    rig_open(rig, &options);
    if (strcmp(rig_stats(rig).device, "fake") != 0) {
        rig_close(rig);
        return;
    }
    prepare(rig, BALE_CODEC_STORE);
    items[1].setting = setting_of(BALE_CODEC_GPULZ); /* never of one batch */
    rig->fault("dies");
    rig_run(rig, items, 2);
    CHECK_EQ(items[0].status, BALE_E_QUARANTINED);
    CHECK_EQ(items[1].status, BALE_E_QUARANTINED);
    CHECK(rig_stats(rig).lost);
    CHECK(atomic_load(&late.may));
    rig->fault(NULL);
    rig_quarantine_wait(&late);
    CHECK(rig_stats(rig).lost);
    CHECK(!takes(rig, BALE_CODEC_STORE));
    expect(rig, BALE_CODEC_STORE, NULL, BALE_E_ENGINE);
    rig_close(rig);
    CHECK_EQ_U(atomic_load(&late.calls), 2);
}

/* A device that was slow to read is not lost because of what it takes to write. A GPU is as fast as
 * ever. */
static void test_slow(struct rig *rig)
{
    const struct bale_gpu_options options = {.watchdog_ms = 4500};

    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, "slow", BALE_OK);
    CHECK(!rig_stats(rig).lost);
    rig_close(rig);
}

/* While a device is opened again items are answered, and do not wait for that. */
static void test_opening(struct rig *rig)
{
    const struct bale_gpu_options options = {.release_ms = 100};
    unsigned refused = 0;

    rig_open(rig, &options);
    rig_wait(rig, false);
    rig->fault("opening");
    prepare(rig, BALE_CODEC_STORE);
    for (rig_run(rig, items, 1); items[0].status == BALE_E_NO_DEVICE; rig_run(rig, items, 1)) {
        refused++;
        usleep(1000);
    }
    rig->fault(NULL);
    CHECK_EQ(items[0].status, BALE_OK);
    CHECK(refused >= 10);
    rig_close(rig);
}

/* Opened again with smaller slots a device does nothing that is too large for them, also if it came
 * while there was none. A GPU's do not become that small. */
static void test_smaller_slots(struct rig *rig)
{
    const struct bale_gpu_options options = {.release_ms = 1, .memory = (uint64_t)8 << 30};
    bool smaller = true;

    for (unsigned round = 0; smaller && round < 30; round++) {
        unsigned done = 0;
        rig_open(rig, &options);
        rig_wait(rig, false);
        rig->fault("alloc");
        prepare(rig, BALE_CODEC_STORE);
        for (unsigned i = 0; i < ITEMS; i++)
            items[i].frame.chunk_log2 = BALE_CHUNK_LOG2_MIN;
        for (unsigned answers = 0; answers < 2; answers += items[0].status != BALE_E_NO_DEVICE) {
            rig_run(rig, items, ITEMS);
            for (unsigned i = 0; i < ITEMS; i++)
                done += items[i].status == BALE_OK;
        }
        smaller = items[0].status == BALE_E_INVALID;
        CHECK(!smaller || done == 0);
        rig->fault(NULL);
        rig_close(rig);
    }
}

/* An error that sticks ends it; the engine goes on answering. */
static void test_lost(struct rig *rig)
{
    const struct bale_gpu_options options = {.verify = true};

    rig_open(rig, &options);
    expect(rig, BALE_CODEC_STORE, "stray", BALE_E_ENGINE);
    CHECK(rig_stats(rig).lost);
    CHECK(!takes(rig, BALE_CODEC_STORE));
    expect(rig, BALE_CODEC_STORE, NULL, BALE_E_ENGINE);
    rig_close(rig);
}

static void say(int level, const char *text)
{
    printf("log %d: %s\n", level, text);
}

static void post(void *sem)
{
    sem_post(sem);
}

static void post_done(struct bale_item *item)
{
    sem_post(item->owner);
}

/* Items that wait behind batches that do not come back are done all the same, and so are the items
 * of these, once there is memory for it. */
static void test_stuck(struct rig *rig)
{
    enum { ALL = 6 };
    struct rig_quarantine late = RIG_QUARANTINE;
    unsigned taken = 0;
    sem_t opened;
    sem_t done;
    struct bale_engine *engine;
    const struct bale_dispatch_options options = {
        .threads = 1,
        .choice = BALE_ENGINE_GPU,
        .plugin = rig->file,
        .gpu = {.verify = true,
                .watchdog_ms = 800,
                .release_ms = 60000,
                .log = say,
                .quarantine = rig_note_quarantine,
                .arg = &late},
        .opened = post,
        .arg = &opened,
    };

    sem_init(&opened, 0, 0);
    sem_init(&done, 0, 0);
    REQUIRE(bale_dispatch_create(&options, &engine) == BALE_OK);
    bale_dispatch_open(engine);
    rig_wait_for(&opened, 1);
    REQUIRE(bale_dispatch_pin(engine, rig->memory, RIG_STEP) == BALE_OK);
    prepare(rig, BALE_CODEC_STORE);
    for (unsigned i = 0; i < ALL; i++) {
        items[i].memory_kind = BALE_MEMORY_HOST;
        items[i].done = post_done;
        items[i].owner = &done;
    }
    rig->fault("late");
    for (unsigned i = 0; i < ALL; i++)
        bale_engine_submit(engine, &items[i]);
    rig_wait_for(&done, ALL);
    CHECK(atomic_load(&late.may));
    rig->fault(NULL);
    rig_quarantine_wait(&late);
    for (unsigned i = 0; i < ALL; i++)
        if (items[i].status == BALE_E_QUARANTINED) {
            taken++;
            bale_engine_submit(engine, &items[i]);
        }
    rig_wait_for(&done, taken);
    bale_engine_destroy(engine);
    CHECK(taken > 0);
    for (unsigned i = 0; i < ALL; i++)
        CHECK_EQ(items[i].status, BALE_OK);
    sem_destroy(&opened);
    sem_destroy(&done);
}

int main(int argc, char **argv)
{
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc == 2);
    rig_load(&rig, argv[1]);
    REQUIRE(rig.fault);
    rig_say_missing(&rig);
    rig_reserve(&rig, (size_t)2 * ITEMS * ROOM);
    test_find(&rig);
    test_failed_batches(&rig, BALE_CODEC_ZSTD);
    test_failed_batches(&rig, BALE_CODEC_GPULZ);
    test_other_lengths(&rig);
    test_mismatch(&rig, BALE_CODEC_ZSTD);
    test_mismatch(&rig, BALE_CODEC_LZ4);
    test_mismatch(&rig, BALE_CODEC_GPULZ);
    test_little_memory(&rig);
    test_hang(&rig);
    test_late(&rig);
    test_slow(&rig);
    test_opening(&rig);
    test_smaller_slots(&rig);
    test_stuck(&rig);
    test_late_and_lost(&rig);
    test_lost(&rig); /* the last: a device that was lost is not there for the process again */
    return check_result();
}
