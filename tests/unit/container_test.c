/* Containers against a model of plain bytes. */
#include "format/err.h"
#include "tests/check.h"
#include "tests/support/rig.h"

static void test_small(void)
{
    struct rig rig;
    struct bale_container_attr attr;

    rig_init(&rig, 1, BALE_EXTENT_MIN, 1 << 20);
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    CHECK_EQ_U(rig.file.writes, 2);
    CHECK_EQ_U(rig.file.syncs, 0);
    rig_matches(&rig, true);
    rig_close(&rig);
    REQUIRE(rig_open(&rig) == BALE_OK);
    bale_container_attr(rig.container, &attr);
    CHECK_EQ_U(attr.size, 1000);
    CHECK_EQ_U(attr.generation, 1);
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
    for (int commit = 0; commit < 60; commit++) {
        bool durable = rig_random(&rig, 4) == 0;

        if (!CHECK_EQ(rig_begin(&rig), BALE_OK))
            break;
        for (uint32_t n = rig_random(&rig, rig.piece < 1000 ? 100 : 12); n > 0; n--)
            CHECK_EQ(rig_change(&rig), BALE_OK);
        if (!rig_matches(&rig, false))
            break;
        if (!CHECK_EQ(bale_container_commit(rig.container, durable), BALE_OK))
            break;
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

int main(void)
{
    test_small();
    for (uint64_t seed = 1; seed <= 40; seed++)
        test_random(seed);
    return check_result();
}
