/* What a container has given up, and bale_container_scrub, which removes it. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/container.h"
#include "tests/check.h"
#include "tests/support/power_loss.h"
#include "tests/support/rig.h"

enum { SIZE = 60000, NEEDLE = 5 };

static void work(struct rig *rig)
{
    rig_start(rig, SIZE);
    rig->incompressible = true; /* frames then hold the bytes themselves */
    CHECK_EQ(rig_begin(rig), BALE_OK);
    CHECK_EQ(rig_write(rig, 0, SIZE), BALE_OK);
    rig_commit(rig, true);
}

enum { STARTS = 1 << 20 };

/* The first 20 bits of what is there, below STARTS. */
static uint32_t start_of(const uint8_t *bytes)
{
    return (bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16) % STARTS;
}

/* How many of the runs of bytes of old that the model no longer has are in a file; one run in each
 * 20 bytes. Most are not, as none in the file starts like them: a search for each would take
 * long. */
static unsigned left_in(const struct memory_file *file, const struct rig *rig, const uint8_t *old)
{
    static bool starts[STARTS];
    unsigned found = 0;

    for (uint64_t at = 0; at + NEEDLE <= file->size; at++)
        starts[start_of(file->bytes + at)] = true;
    for (uint64_t at = 0; at + NEEDLE <= SIZE; at += 20) {
        bool same = at + NEEDLE <= rig->size && memcmp(old + at, rig->model + at, NEEDLE) == 0;
        found += !same && starts[start_of(old + at)] &&
                 memmem(file->bytes, file->size, old + at, NEEDLE);
    }
    for (uint64_t at = 0; at + NEEDLE <= file->size; at++)
        starts[start_of(file->bytes + at)] = false;
    return found;
}

static unsigned left(const struct rig *rig, const uint8_t *old)
{
    return left_in(&rig->file, rig, old);
}

/* Runs of NEEDLE bytes that are there by chance are not more than this. */
enum { CHANCE = 3 };

static void scrub_and_check(struct rig *rig, const uint8_t *old)
{
    CHECK(left(rig, old) > 100);
    CHECK(bale_container_has_slack(rig->container));
    CHECK_EQ(bale_container_scrub(rig->container, rig->scratch), BALE_OK);
    CHECK(left(rig, old) <= CHANCE);
    rig_matches(rig, true);
    rig_reopen(rig);
    rig_matches(rig, true);
    CHECK(left(rig, old) <= CHANCE);
}

static uint8_t *copy_of(const struct rig *rig)
{
    uint8_t *copy = malloc(SIZE);

    REQUIRE(copy);
    memcpy(copy, rig->model, SIZE);
    return copy;
}

/* Overwritten as a whole; in part, so that old frames stay in use; cut off; at a file's start, in
 * few bytes, with a direct root. */
static void test_given_up(int how, bool punches)
{
    struct rig rig;

    work(&rig);
    if (!punches) {
        rig.file.fail_kinds = MEMORY_PUNCH;
        rig.file.fail_after = 0;
        rig.file.fail_error = BALE_E_UNSUPPORTED;
    }
    uint8_t *old = copy_of(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    switch (how) {
    case 0:
        CHECK_EQ(rig_write(&rig, 0, SIZE), BALE_OK);
        break;
    case 1:
        CHECK_EQ(rig_write(&rig, 100, 3000), BALE_OK);
        CHECK_EQ(rig_write(&rig, 20000, 5000), BALE_OK);
        break;
    case 2:
        CHECK_EQ(rig_cut(&rig, 1000, 30000), BALE_OK);
        break;
    case 3:
        CHECK_EQ(rig_truncate(&rig, 10), BALE_OK);
        break;
    default:
        CHECK_EQ(rig_truncate(&rig, 0), BALE_OK);
    }
    rig_commit(&rig, how % 2 == 0);
    if (how == 3)
        rig_reopen(&rig); /* what was given up before it was opened counts as well */
    scrub_and_check(&rig, old);
    free(old);
    rig_clear(&rig);
}

/* Nothing is written for a container that has given up nothing. */
static void test_nothing_given_up(void)
{
    struct rig rig;

    work(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, SIZE - 1), BALE_OK);
    bale_container_abandon(rig.container);
    rig_close(&rig);
    rig_clear(&rig);

    rig_start(&rig, SIZE);
    CHECK(!bale_container_has_slack(rig.container));
    for (uint64_t at = 0; at < SIZE; at += 10000) { /* index pages are no data */
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        CHECK_EQ(rig_write(&rig, at, 10000), BALE_OK);
        rig_commit(&rig, false);
    }
    CHECK(!bale_container_has_slack(rig.container));
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    unsigned long writes = rig.file.writes, syncs = rig.file.syncs;
    CHECK_EQ(bale_container_scrub(rig.container, rig.scratch), BALE_OK);
    CHECK_EQ_U(rig.file.writes, writes);
    CHECK_EQ_U(rig.file.syncs, syncs);
    rig_clear(&rig);
}

/* Done twice it writes nothing the second time, also after it was opened again. */
static void test_twice(void)
{
    struct rig rig;

    work(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 30000), BALE_OK);
    rig_commit(&rig, true);
    CHECK_EQ(bale_container_scrub(rig.container, rig.scratch), BALE_OK);
    rig_reopen(&rig);
    unsigned long writes = rig.file.writes, syncs = rig.file.syncs;
    CHECK_EQ(bale_container_scrub(rig.container, rig.scratch), BALE_OK);
    CHECK_EQ_U(rig.file.writes, writes);
    CHECK_EQ_U(rig.file.syncs, syncs);
    rig_clear(&rig);
}

/* Trimming leaves nothing at the edges of what it punches. */
static void test_trim(void)
{
    struct rig rig;

    work(&rig);
    uint8_t *old = copy_of(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 3 * BALE_EXTENT_MIN), BALE_OK);
    rig_commit(&rig, true);
    CHECK(left(&rig, old) > 100);
    CHECK_EQ(bale_container_trim(rig.container), BALE_OK);
    CHECK(left(&rig, old) <= CHANCE);
    rig_matches(&rig, true);
    free(old);
    rig_clear(&rig);
}

/* Each call fails once: the file keeps its contents. */
static void test_failures(void)
{
    for (long calls = 0;; calls++) {
        struct rig rig;

        work(&rig);
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        CHECK_EQ(rig_write(&rig, 100, 3000), BALE_OK);
        rig_commit(&rig, false);
        rig.file.fail_kinds = MEMORY_CHANGES;
        rig.file.fail_after = calls;
        rig.file.fail_error = BALE_E_IO;
        int err = bale_container_scrub(rig.container, rig.scratch);
        rig.file.fail_after = -1;
        rig_reopen(&rig);
        rig_matches(&rig, true);
        rig_clear(&rig);
        if (err == BALE_OK && CHECK(calls > 5))
            break;
        if (!CHECK_EQ(err, BALE_E_IO))
            break;
    }
}

/* If the power is lost when it has returned, what it removed does not come back: the permissions
 * that admit readers may be on disk. */
static void test_power_loss(void)
{
    for (int salt = 0; salt < 12; salt++) {
        struct memory_file state = {.fail_after = -1};
        struct rig rig;

        work(&rig);
        uint8_t *old = copy_of(&rig);
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        CHECK_EQ(rig_write(&rig, 0, SIZE), BALE_OK);
        rig_commit(&rig, salt % 3 == 0);
        memory_file_write(&state, rig.file.bytes, rig.file.size, 0);
        rig.file.record = true;
        CHECK_EQ(bale_container_scrub(rig.container, rig.scratch), BALE_OK);
        struct power_loss loss = {.salt = (uint64_t)salt,
                                  .first = power_loss_synced(rig.file.ops, rig.file.op_count),
                                  .end = rig.file.op_count,
                                  .kind = salt % 4};
        power_loss_apply(rig.file.ops, &loss, &state);
        CHECK(left_in(&state, &rig, old) <= CHANCE);
        memory_file_clear(&state);
        free(old);
        rig_clear(&rig);
    }
}

int main(void)
{
    for (int how = 0; how < 5; how++)
        test_given_up(how, how != 1);
    test_given_up(0, false);
    test_nothing_given_up();
    test_twice();
    test_trim();
    test_failures();
    test_power_loss();
    return check_result();
}
