/* A backing file that fails: what was acknowledged stays, and what could not be written for lack of
 * space goes out later. */
#include "format/err.h"
#include "tests/check.h"
#include "tests/support/rig.h"

enum { SIZE_MAX_ = 100000 };

static void ignore(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    CHECK(fault->what != NULL);
}

/* Work until something fails. Returns the first error; *kept: digest of what was last acknowledged,
 * *last: of what the commit under way would have made. */
static int work(struct rig *rig, uint64_t *kept, uint64_t *last)
{
    int err = rig_open(rig);

    for (int i = 0; i < 6 && err == BALE_OK; i++) {
        bool durable = i % 2 == 1;

        err = rig_begin(rig);
        if (err != BALE_OK)
            break;
        for (int n = 0; n < 3 && err == BALE_OK; n++)
            err = rig_change(rig);
        if (err != BALE_OK) {
            bale_container_abandon(rig->container);
            break;
        }
        *last = rig_digest(rig->model, rig->size);
        err = bale_container_commit(rig->container, durable);
        if (err == BALE_OK)
            *kept = *last;
    }
    return err;
}

/* The n-th call of a kind fails, for every n. What was acknowledged is there when the container is
 * opened again. */
static void test_failing(unsigned kinds, int error)
{
    static uint8_t data[SIZE_MAX_];
    int err = BALE_E_IO;

    for (long n = 0; err != BALE_OK && n < 500; n++) {
        uint64_t kept = rig_digest(NULL, 0), last = kept, size, found;
        struct rig rig;

        rig_init(&rig, (uint64_t)n % 3, BALE_EXTENT_MIN, 60000);
        rig.file.fail_kinds = kinds;
        rig.file.fail_after = n;
        rig.file.fail_error = error;
        err = work(&rig, &kept, &last);
        if (err != BALE_OK && rig.container && error == BALE_E_IO) {
            CHECK_EQ(rig_begin(&rig), BALE_E_IO);
            CHECK_EQ(bale_container_sync(rig.container), BALE_E_IO);
        }
        if (err != BALE_OK)
            CHECK_EQ(err, error);
        rig_close(&rig);
        rig.file.fail_after = -1;
        atomic_fetch_add(&rig.session, 2);
        REQUIRE(rig_open(&rig) == BALE_OK);
        CHECK_EQ(rig_read(&rig, data, &size), BALE_OK);
        found = rig_digest(data, size);
        CHECK(found == kept || found == last);
        CHECK_EQ(bale_container_check(rig.container, rig.scratch, true, ignore, NULL), BALE_OK);
        rig_clear(&rig);
    }
    CHECK_EQ(err, BALE_OK); /* in the end there were fewer calls */
}

/* Space runs out and comes back: nothing is lost, and the next commit takes what the last could
 * not. */
static void test_full(uint64_t seed)
{
    static uint8_t data[SIZE_MAX_];
    struct rig rig;
    uint64_t size, kept = rig_digest(NULL, 0);
    unsigned failed = 0;

    rig_init(&rig, seed, BALE_EXTENT_MIN, 60000);
    REQUIRE(rig_open(&rig) == BALE_OK);
    for (int i = 0; i < 60; i++) {
        int err = BALE_OK;

        rig.file.limit = rig_random(&rig, 3) == 0 ? 0 : rig.file.size + 1 + rig_random(&rig, 4000);
        if (!CHECK_EQ(rig_begin(&rig), BALE_OK))
            break;
        for (int n = 0; n < 4 && err == BALE_OK; n++)
            err = rig_change(&rig);
        CHECK(err == BALE_OK || err == BALE_E_NOSPACE);
        failed += err == BALE_OK ? 0 : 1;
        err = bale_container_commit(rig.container, i % 5 == 0);
        CHECK(err == BALE_OK || err == BALE_E_NOSPACE);
        failed += err == BALE_OK ? 0 : 1;
        if (err == BALE_OK)
            kept = rig_digest(rig.model, rig.size);
        if (!rig_matches(&rig, err == BALE_OK))
            break;
        if (rig_random(&rig, 6) != 0)
            continue;
        rig_close(&rig);
        REQUIRE(rig_open(&rig) == BALE_OK);
        CHECK_EQ(rig_read(&rig, data, &size), BALE_OK);
        CHECK_EQ_U(rig_digest(data, size), kept);
        memcpy(rig.model, data, (size_t)rig.size_max);
        rig.size = size;
    }
    CHECK(failed > 0);
    rig_clear(&rig);
}

int main(void)
{
    test_failing(MEMORY_WRITE, BALE_E_IO);
    test_failing(MEMORY_SYNC, BALE_E_IO);
    test_failing(MEMORY_CHANGES | MEMORY_READ, BALE_E_IO);
    test_failing(MEMORY_WRITE, BALE_E_NOSPACE);
    test_failing(MEMORY_WRITE, BALE_E_DQUOT);
    for (uint64_t seed = 1; seed <= 20; seed++)
        test_full(seed);
    return check_result();
}
