/* States after a crash that chance seldom finds: the newest commit's root is there, its last frame
 * is not. */
#include "format/err.h"
#include "tests/check.h"
#include "tests/support/rig.h"

enum { SIZE_MAX_ = 60000 };

/* Does what is recorded but the last write of a frame, and opens the rest with all sessions
 * uncertain. */
static void without_last_frame(struct rig *rig, struct rig *after)
{
    size_t last = rig->file.op_count;

    while (last > 0 && (rig->file.ops[last - 1].kind != MEMORY_WRITE ||
                        rig->file.ops[last - 1].length < BALE_EXTENT_MIN))
        last--;
    REQUIRE(last > 0);
    rig_init(after, 1, BALE_EXTENT_MIN, SIZE_MAX_);
    for (size_t i = 0; i < rig->file.op_count; i++)
        if (i != last - 1)
            memory_file_apply(&after->file, &rig->file.ops[i]);
    after->certain_from = 0;
    after->session = 100;
    REQUIRE(rig_open(after) == BALE_OK);
}

static void write_extent(struct rig *rig, uint64_t seed)
{
    rig->random = seed;
    rig->incompressible = true;
    REQUIRE(rig_begin(rig) == BALE_OK);
    REQUIRE(rig_write(rig, BALE_EXTENT_MIN, BALE_EXTENT_MIN) == BALE_OK);
}

enum { SEED_A = 1234567, SEED_B = 7654321 };

/* A killed writer's frame has the generation, place, offset and length of the one written after it.
 */
static void test_same_generation(void)
{
    struct rig rig, after;
    uint64_t size, generation;

    rig_init(&rig, 1, BALE_EXTENT_MIN, SIZE_MAX_);
    rig.file.record = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    REQUIRE(rig_write(&rig, 0, 100) == BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    write_extent(&rig, SEED_A);
    generation = rig.generation;
    rig_die(&rig);
    atomic_fetch_add(&rig.session, 1);
    rig.size = 0;
    REQUIRE(rig_open(&rig) == BALE_OK);
    write_extent(&rig, SEED_B);
    CHECK_EQ_U(rig.generation, generation);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    without_last_frame(&rig, &after);
    REQUIRE(rig_read(&after, after.model, &size) == BALE_OK);
    CHECK_EQ_U(size, 100);
    rig_clear(&after);
    rig_clear(&rig);
}

/* A sync before a close still counts when the container is opened again in the same session. */
static void test_synced_and_closed(void)
{
    struct rig rig, after;
    static uint8_t first[SIZE_MAX_];
    uint64_t size;

    rig_init(&rig, 1, BALE_EXTENT_MIN, SIZE_MAX_);
    rig.file.record = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    write_extent(&rig, SEED_A);
    CHECK_EQ(bale_container_commit(rig.container, true), BALE_OK);
    memcpy(first, rig.model, sizeof first);
    rig_close(&rig);
    REQUIRE(rig_open(&rig) == BALE_OK);
    write_extent(&rig, SEED_B);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    CHECK(memcmp(first, rig.model, sizeof first) != 0);
    without_last_frame(&rig, &after);
    CHECK_EQ(rig_read(&after, after.model, &size), BALE_OK);
    CHECK_EQ_U(size, 2 * BALE_EXTENT_MIN);
    CHECK_EQ_MEM(after.model, first, sizeof first);
    CHECK(bale_container_rejected(after.container) > 0);
    rig_clear(&after);
    rig_clear(&rig);
}

int main(void)
{
    test_same_generation();
    test_synced_and_closed();
    return check_result();
}
