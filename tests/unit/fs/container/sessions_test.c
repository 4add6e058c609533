/* What a container's roots say of sessions and syncs. */
#include "fs/container/container.h"

#include <stdatomic.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/support/rig.h"

static struct bale_root newest(struct rig *rig)
{
    struct bale_roots roots;

    REQUIRE(bale_roots_read(rig->file.bytes, BALE_DATA_START, &roots) == BALE_OK);
    REQUIRE(roots.newest >= 0);
    return roots.root[roots.newest];
}

/* The next root records a sync, at the latest when the container is closed. */
static void test_durable_recorded(void)
{
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100), BALE_OK);
    rig_commit(&rig, true);
    CHECK_EQ_U(newest(&rig).durable, 0);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ_U(newest(&rig).generation, 3);
    CHECK_EQ_U(newest(&rig).durable, 2);
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    CHECK_EQ_U(rig.file.syncs, 2);
    rig_close(&rig);
    CHECK_EQ_U(newest(&rig).generation, 4);
    CHECK_EQ_U(newest(&rig).durable, 3);
    REQUIRE(rig_open(&rig) == BALE_OK);
    /* The confirming root shares all with the durable one: no sync is needed before writing. */
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ_U(rig.file.syncs, 2);
    CHECK_EQ_U(newest(&rig).durable, 3);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* A container of an uncertain session is verified once, and then confirmed. */
static void test_uncertain(void)
{
    struct rig rig;
    struct bale_container_attr attr;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 40000), BALE_OK);
    rig_commit(&rig, false);
    rig_close(&rig);
    rig.session = 2;
    rig.certain_from = 2;
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_E_UNVERIFIED);
    rig.config.writable = false;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ_U(bale_container_rejected(rig.container), 0);
    rig_matches(&rig, true);
    rig_close(&rig);
    CHECK_EQ_U(rig.file.syncs, 0);
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_E_UNVERIFIED);
    rig.config.writable = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ_U(rig.file.syncs, 2);
    CHECK_EQ_U(newest(&rig).session, 2);
    CHECK_EQ_U(newest(&rig).durable, 2);
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_OK);
    CHECK_EQ_U(attr.size, 40000);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

static atomic_bool stopped;

static bool is_stopped(const void *arg)
{
    (void)arg;
    return atomic_load(&stopped);
}

/* Another writer has the store: from then on nothing reaches the file, whatever is under way. */
static void test_stopped(void)
{
    struct rig rig;
    uint64_t writes, syncs;

    rig_start(&rig, 100000);
    rig.config.stopped = is_stopped;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    rig_commit(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 20000, 5000), BALE_OK);
    writes = rig.file.writes;
    syncs = rig.file.syncs;
    atomic_store(&stopped, true);
    CHECK_EQ(rig_write(&rig, 40000, 5000), BALE_E_IO);
    CHECK_EQ(bale_container_commit(rig.container, true), BALE_E_IO);
    CHECK_EQ(rig_begin(&rig), BALE_E_IO);
    CHECK_EQ(bale_container_sync(rig.container), BALE_E_IO);
    CHECK_EQ(bale_container_trim(rig.container), BALE_E_IO);
    rig_close(&rig);
    CHECK_EQ_U(rig.file.writes, writes);
    CHECK_EQ_U(rig.file.syncs, syncs);
    rig_clear(&rig);
}

int main(void)
{
    test_durable_recorded();
    test_uncertain();
    test_stopped();
    return check_result();
}
