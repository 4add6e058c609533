/* Frames that were cloned from another container, and a loss of power at any time: the file opens
 * as one of its commits left it. */
#include <string.h>

#include "format/err.h"
#include "tests/check.h"
#include "tests/support/power_loss.h"
#include "tests/support/rig.h"

enum { EXTENT = BALE_EXTENT_MIN, EXTENTS = 8, SIZE = EXTENT * EXTENTS, SALTS = 12, STATES = 4 };

/* What the file held after each of its commits. */
struct states {
    uint64_t size[STATES], digest[STATES];
    size_t op[STATES]; /* the recorded operations at that time */
    unsigned count;
};

static void note_state(struct states *states, struct rig *rig)
{
    REQUIRE(states->count < STATES);
    states->size[states->count] = rig->size;
    states->digest[states->count] = rig_digest(rig->model, rig->size);
    states->op[states->count++] = rig->file.op_count;
}

static void make_source(struct rig *source)
{
    rig_init(source, 5, EXTENT, SIZE);
    source->incompressible = true;
    REQUIRE(rig_open(source) == BALE_OK);
    REQUIRE(rig_begin(source) == BALE_OK);
    REQUIRE(rig_write(source, 0, SIZE) == BALE_OK);
    CHECK_EQ(bale_container_commit(source->container, true), BALE_OK);
}

/* Clones the extents from the first on in the open transaction, and puts them. */
static void clone_extents(struct rig *rig, struct rig *source, unsigned first)
{
    struct bale_segment run[EXTENTS];
    unsigned count = EXTENTS - first;
    struct bale_container_attr attr = rig_attr(rig);
    uint64_t position = 0;

    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = (uint64_t)(first + i) * EXTENT;
        REQUIRE(bale_container_map(source->container, offset, &run[i]) == BALE_OK);
        CHECK(i == 0 || bale_container_adjoins(&run[i - 1], &run[i]));
    }
    REQUIRE(bale_container_clone(rig->container, source->container, run, count, &position) ==
            BALE_OK);
    CHECK_EQ_U(position % 4096, run[0].position % 4096);
    attr.size = SIZE;
    REQUIRE(bale_container_set_attr(rig->container, &attr) == BALE_OK);
    uint64_t start = run[0].position;
    for (unsigned i = 0; i < count; i++) {
        run[i].position = position + (run[i].position - start);
        REQUIRE(bale_container_put(rig->container, &run[i]) == BALE_OK);
    }
    rig->size = SIZE;
    memcpy(rig->model + first * EXTENT, source->model + first * EXTENT, count * EXTENT);
}

/* Opens what a loss has left, and finds the state. */
static void check_loss(const struct rig *rig, const struct states *states, uint32_t certain_below,
                       const struct power_loss *loss)
{
    struct rig after;
    uint64_t size;
    unsigned least = 0, i;

    rig_init(&after, 1, EXTENT, SIZE);
    after.certain_from = 0;
    after.certain_below = certain_below;
    after.session = 100;
    power_loss_apply(rig->file.ops, loss, &after.file);
    REQUIRE(rig_open(&after) == BALE_OK);
    CHECK_EQ(rig_read(&after, after.model, &size), BALE_OK);
    while (least + 1 < states->count && states->op[least + 1] <= loss->first)
        least++;
    for (i = least; i < states->count; i++)
        if (states->size[i] == size && states->digest[i] == rig_digest(after.model, size))
            break;
    CHECK(i < states->count);
    rig_clear(&after);
}

static void check_losses(const struct rig *rig, const struct states *states, uint32_t certain_below)
{
    for (size_t end = 0; end <= rig->file.op_count; end++)
        for (uint64_t salt = 0; salt < SALTS; salt++) {
            const struct power_loss loss = {.salt = salt,
                                            .first = power_loss_synced(rig->file.ops, end),
                                            .end = end,
                                            .kind = (int)(salt % 4)};
            check_loss(rig, states, certain_below, &loss);
        }
}

/* Into a new file; then a cloned frame is replaced, and its space used again. */
static void test_new_file(void)
{
    struct rig source, rig;
    struct states states = {0};

    make_source(&source);
    rig_init(&rig, 7, EXTENT, SIZE);
    rig.file.record = true;
    rig.incompressible = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    note_state(&states, &rig);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    clone_extents(&rig, &source, 0);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    CHECK_EQ_U(rig.file.syncs, 0);
    note_state(&states, &rig);
    CHECK(rig_matches(&rig, true));
    REQUIRE(rig_begin(&rig) == BALE_OK);
    REQUIRE(rig_write(&rig, 2 * EXTENT, EXTENT) == BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, true), BALE_OK);
    note_state(&states, &rig);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    REQUIRE(rig_write(&rig, 3 * EXTENT, 2 * EXTENT) == BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    note_state(&states, &rig);
    CHECK(rig_matches(&rig, true));
    CHECK(rig_matches(&source, true));
    check_losses(&rig, &states, 0);
    rig_clear(&rig);
    rig_clear(&source);
}

/* Behind data of a session that has ended, whose checkpoint may have promised that its root is
 * durable: that root is newer than the frames that are cloned. */
static void test_ended_session(void)
{
    struct rig source, rig;
    struct states states = {0};

    make_source(&source);
    rig_init(&rig, 9, EXTENT, SIZE);
    rig.file.record = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    REQUIRE(rig_write(&rig, 0, 100) == BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    REQUIRE(rig.file.ops[rig.file.op_count - 1].kind == MEMORY_WRITE);
    REQUIRE(bale_container_io(rig.container)->ops->sync(bale_container_io(rig.container)) ==
            BALE_OK); /* of the checkpoint */
    note_state(&states, &rig);
    unsigned long syncs = rig.file.syncs;
    rig.certain_from = 0;
    rig.certain_below = 2;
    rig.session = 2;
    REQUIRE(rig_begin(&rig) == BALE_OK);
    clone_extents(&rig, &source, 1);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_OK);
    CHECK(rig.file.syncs > syncs);
    note_state(&states, &rig);
    for (size_t end = states.op[0]; end <= rig.file.op_count; end++)
        for (uint64_t salt = 0; salt < SALTS; salt++) {
            const struct power_loss loss = {.salt = salt,
                                            .first = power_loss_synced(rig.file.ops, end),
                                            .end = end,
                                            .kind = (int)(salt % 4)};
            check_loss(&rig, &states, 2, &loss);
        }
    rig_clear(&rig);
    rig_clear(&source);
}

/* Frames that are older than what was durable in the target are not cloned. */
static void test_refused(void)
{
    struct rig source, rig;
    struct bale_segment run[2];
    uint64_t position;

    make_source(&source);
    rig_init(&rig, 11, EXTENT, SIZE);
    REQUIRE(rig_open(&rig) == BALE_OK);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    REQUIRE(rig_write(&rig, 0, 100) == BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, true), BALE_OK);
    for (unsigned i = 0; i < 2; i++)
        REQUIRE(bale_container_map(source.container, (i + 1) * EXTENT, &run[i]) == BALE_OK);
    REQUIRE(rig_begin(&rig) == BALE_OK);
    CHECK_EQ(bale_container_clone(rig.container, source.container, run, 2, &position),
             BALE_E_NOENT);
    bale_container_abandon(rig.container);
    CHECK(rig_matches(&rig, true));
    rig_clear(&rig);
    rig_clear(&source);
}

int main(void)
{
    test_new_file();
    test_ended_session();
    test_refused();
    return check_result();
}
