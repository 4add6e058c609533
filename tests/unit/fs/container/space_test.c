/* Containers against a model of plain bytes, and what becomes of their space. */
#include "fs/container/container.h"

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "tests/check.h"
#include "tests/support/rig.h"

/* A file that is rewritten again and again does not grow, whether its commits are synced or not. */
static void test_bounded(bool durable)
{
    struct rig rig;
    uint64_t least, most = 0;

    rig_start(&rig, 200000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    rig.incompressible = true;
    CHECK_EQ(rig_write(&rig, 0, 200000), BALE_OK);
    rig_commit(&rig, durable);
    least = rig.file.size;
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        CHECK_EQ(rig_write(&rig, 0, 200000), BALE_OK);
        rig_commit(&rig, durable);
        most = rig.file.size > most ? rig.file.size : most;
    }
    CHECK(most <= 2 * least + 10000);
    CHECK_EQ_U(bale_container_deferred_bytes(rig.container), 0);
    rig_matches(&rig, true);
    CHECK_EQ(bale_container_trim(rig.container), BALE_OK);
    rig_close(&rig);
    CHECK(rig.file.size <= 2 * least + 10000);
    rig_clear(&rig);
}

/* Space of a durable commit waits for the next one to be durable. */
static void test_waiting(void)
{
    struct rig rig;

    rig_start(&rig, 200000);
    rig.incompressible = true;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100000), BALE_OK);
    rig_commit(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100000), BALE_OK);
    CHECK_EQ_U(bale_container_deferred_bytes(rig.container), 0);
    rig_commit(&rig, false);
    CHECK(bale_container_deferred_bytes(rig.container) >= 100000);
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    CHECK_EQ_U(bale_container_deferred_bytes(rig.container), 0);
    /* Half of the file is free now, at its start: that is punched; later the tail is cut. */
    CHECK_EQ(bale_container_trim(rig.container), BALE_OK);
    rig_matches(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 0), BALE_OK);
    rig_commit(&rig, true);
    rig_close(&rig);
    CHECK_EQ_U(rig.file.size, BALE_DATA_START);
    rig_clear(&rig);
}

/* Frames of an abandoned transaction are given back. */
static void test_abandon(void)
{
    struct rig rig;
    uint8_t frame[600];
    struct bale_frame head = {.offset = 0, .generation = 1, .raw_length = 500, .chunk_log2 = 12};
    uint64_t position, again;
    uint8_t raw[500];
    size_t length;

    rig_start(&rig, 1000);
    for (size_t i = 0; i < sizeof raw; i++)
        raw[i] = (uint8_t)(i * i >> 3);
    REQUIRE(bale_frame_encode(rig.scratch, (struct bale_setting){.codec = BALE_CODEC_STORE}, raw,
                              &head, frame, &length) == BALE_OK);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_write_frame(rig.container, frame, length, &position), BALE_OK);
    CHECK_EQ(bale_container_write_frame(rig.container, frame, length, &again), BALE_OK);
    CHECK(again >= position + length);
    bale_container_abandon(rig.container);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_write_frame(rig.container, frame, length, &again), BALE_OK);
    CHECK_EQ_U(again, position);
    rig_commit(&rig, false);
    CHECK_EQ_U(rig_attr(&rig).size, 0);
    CHECK_EQ_U(rig_attr(&rig).stored, 0);
    rig_clear(&rig);
}

static void commit_once(void *arg)
{
    struct rig *rig = arg;

    rig->file.reading = NULL;
    CHECK_EQ(rig_begin(rig), BALE_OK);
    CHECK_EQ(rig_write(rig, 0, 100000), BALE_OK);
    rig_commit(rig, true);
}

/* Adding up what a container holds delays no commit; what is added up is one commit's. */
static void test_usage(void)
{
    struct rig rig;
    struct bale_container_usage usage, again;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100000), BALE_OK);
    rig_commit(&rig, true);
    rig.file.reading = commit_once;
    rig.file.reading_arg = &rig;
    CHECK_EQ(bale_container_usage(rig.container, &usage), BALE_OK);
    CHECK(!rig.file.reading);
    CHECK_EQ(bale_container_usage(rig.container, &again), BALE_OK);
    uint64_t stored[2] = {0};
    for (int i = 0; i < 256; i++) {
        stored[0] += usage.stored[i];
        stored[1] += again.stored[i];
    }
    CHECK(stored[0] > 0);
    CHECK_EQ_U(stored[1], rig_attr(&rig).stored);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

static int count_unwritten(void *arg, const struct bale_segment *segment)
{
    uint64_t *bytes = arg;

    *bytes += segment->flags & BALE_SEGMENT_UNWRITTEN ? segment->length : 0;
    return *bytes > 3000000000u ? 5 : 0;
}

static void test_promise(void)
{
    struct rig rig;
    struct bale_container_attr attr;
    uint64_t bytes = 0;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 1000, 500), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 50000), BALE_OK);
    CHECK_EQ(bale_container_preallocate(rig.container, 0, 50000), BALE_OK);
    CHECK(rig.file.allocated >= 49500);
    rig_commit(&rig, false);
    rig_matches(&rig, true);
    rig_reopen(&rig);
    CHECK_EQ(bale_container_walk(rig.container, count_unwritten, &bytes), BALE_OK);
    CHECK_EQ_U(bytes, 49500);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 20000, 500), BALE_OK);
    rig.file.limit = rig.file.size + 1000;
    attr = rig_attr(&rig);
    attr.size = 5000000000u;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_OK);
    CHECK_EQ(bale_container_preallocate(rig.container, 50000, 4999950000u), BALE_E_NOSPACE);
    bytes = 0;
    CHECK_EQ(bale_container_walk(rig.container, count_unwritten, &bytes), BALE_OK);
    CHECK_EQ_U(bytes, 49000);
    rig.file.limit = 0;
    CHECK_EQ(bale_container_preallocate(rig.container, 50000, 4999950000u), BALE_OK);
    rig_commit(&rig, false);
    bytes = 0;
    CHECK_EQ(bale_container_walk(rig.container, count_unwritten, &bytes), 5);
    rig_clear(&rig);
}

/* Where blocks are allocated, inside the file or beyond its end. */
static size_t backed(const struct rig *rig)
{
    return rig->file.allocated > rig->file.size ? rig->file.allocated : rig->file.size;
}

static void test_give_back(void)
{
    struct rig rig;

    rig_start(&rig, 1000000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 500), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 1000000), BALE_OK);
    rig_commit(&rig, false);

    rig.file.limit = rig.file.size + 400000;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_preallocate(rig.container, 0, 1000000), BALE_E_NOSPACE);
    CHECK_EQ_U(backed(&rig), rig.file.size);
    /* What is preallocated already stays. */
    CHECK_EQ(bale_container_preallocate(rig.container, 0, 200000), BALE_OK);
    rig_commit(&rig, false);
    size_t before = backed(&rig);
    CHECK(before >= 199500);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_preallocate(rig.container, 0, 1000000), BALE_E_NOSPACE);
    rig_commit(&rig, false);
    CHECK(backed(&rig) >= 199500 && backed(&rig) <= before + 4096);

    /* A truncation gives back what it cuts off, and leaves the rest. */
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 100000), BALE_OK);
    rig_commit(&rig, false);
    bale_container_give_back(rig.container);
    CHECK(backed(&rig) >= 99500 && backed(&rig) <= before - 100000 + 4096);
    rig_matches(&rig, true);
    rig_reopen(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 500), BALE_OK);
    rig_commit(&rig, false);
    bale_container_give_back(rig.container);
    CHECK(rig.file.allocated <= rig.file.size);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* Ten thousand small appends, each committed. */
static void test_appends(void)
{
    struct rig rig;
    size_t memory;

    rig_start(&rig, 1000000);
    for (uint32_t i = 0; i < 10000; i++) {
        if (!CHECK_EQ(rig_begin(&rig), BALE_OK) ||
            !CHECK_EQ(rig_write(&rig, i * 100, 100), BALE_OK))
            break;
        rig_commit(&rig, false);
    }
    rig_matches(&rig, true);
    CHECK(rig.file.size < 3000000);
    memory = bale_container_memory(rig.container);
    CHECK(memory > 10000 * sizeof(struct bale_segment) && memory < 2000000);
    rig_reopen(&rig);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

static void test_random(uint64_t seed)
{
    struct rig rig;

    rig_init(&rig, seed, BALE_EXTENT_MIN, 300000);
    if (seed % 4 == 0)
        rig.piece = 100;
    REQUIRE(rig_open(&rig) == BALE_OK);
    for (int i = 0; i < 60; i++) {
        bool durable = rig_random(&rig, 4) == 0;

        if (!CHECK_EQ(rig_begin(&rig), BALE_OK))
            break;
        for (uint32_t n = rig_random(&rig, rig.piece < 1000 ? 100 : 12); n > 0; n--)
            CHECK_EQ(rig_change(&rig), BALE_OK);
        if (!rig_matches(&rig, false))
            break;
        rig_commit(&rig, durable);
        if (!rig_matches(&rig, true))
            break;
        if (rig_random(&rig, 8) == 0)
            CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
        if (rig_random(&rig, 8) == 0)
            CHECK_EQ(bale_container_trim(rig.container), BALE_OK);
        if (rig_random(&rig, 6) == 0) {
            rig_close(&rig);
            atomic_fetch_add(&rig.session, rig_random(&rig, 4));
            REQUIRE(rig_open(&rig) == BALE_OK);
            if (!rig_matches(&rig, true))
                break;
        }
    }
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    const uint64_t seeds = check_few(&argc, argv) ? 12 : 40;

    test_bounded(true);
    test_bounded(false);
    test_waiting();
    test_abandon();
    test_promise();
    test_usage();
    test_give_back();
    test_appends();
    for (uint64_t seed = 1; seed <= seeds; seed++)
        test_random(seed);
    return check_result();
}
