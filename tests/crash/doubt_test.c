/* A container whose newest root is of a session that its store does not know: what is decided about
 * it, and what is left of it when a root slot is lost. */
#include "tests/crash/scene.h"

/* Once it is settled, the container is like any other: what is damaged stays so, and can be
 * overwritten. */
static void test_settle(struct scene *s)
{
    const struct span *span = &s->spans[0];

    while (span->page)
        span++;
    restore(s);
    s->rig.file.bytes[span->position + span->length - 1] ^= 1;
    s->rig.config.writable = true;
    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(bale_container_settle(s->rig.container), BALE_OK);
    CHECK_EQ(bale_container_recovery(s->rig.container), BALE_RECOVERY_NONE);
    rig_reopen(&s->rig);
    CHECK_EQ(bale_container_recovery(s->rig.container), BALE_RECOVERY_NONE);
    uint64_t lost = read_newest(s);
    CHECK(lost > 0 && lost <= BALE_EXTENT_MIN);
    uint64_t size = s->rig.size;
    CHECK_EQ(rig_begin(&s->rig), BALE_OK);
    CHECK_EQ(rig_write(&s->rig, 0, (uint32_t)size), BALE_OK);
    rig_commit(&s->rig, true);
    rig_matches(&s->rig, true);
    rig_close(&s->rig);
}

static void test_pick(struct scene *s)
{
    static uint8_t raw[SIZE_MAX_];
    uint64_t size;

    restore(s);
    s->rig.config.writable = false;
    s->rig.config.pick = BALE_PICK_OLDER;
    if (s->older)
        expect_first(s, BALE_RECOVERY_NONE);
    else
        CHECK_EQ(rig_open(&s->rig), BALE_E_INVALID);
    rig_close(&s->rig);
    s->rig.config.pick = BALE_PICK_NEWEST;
    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(rig_read(&s->rig, raw, &size), BALE_OK);
    CHECK_EQ_MEM(raw, s->rig.model, SIZE_MAX_);
    rig_close(&s->rig);
    s->rig.config.pick = BALE_PICK_OLDER;
    s->rig.config.writable = s->older;
    if (s->older) {
        REQUIRE(rig_open(&s->rig) == BALE_OK);
        CHECK_EQ(bale_container_settle(s->rig.container), BALE_OK);
        rig_close(&s->rig);
        s->rig.config.pick = BALE_PICK_BY_RULES;
        expect_first(s, BALE_RECOVERY_NONE);
        rig_close(&s->rig);
    }
    s->rig.config.pick = BALE_PICK_BY_RULES;
    s->rig.config.writable = true;
}

/* A slot is damaged: the other root serves if all below it is whole, and else as it can. */
static void test_slot(struct scene *s)
{
    struct bale_roots roots;
    unsigned newest;

    REQUIRE(bale_roots_read(s->image.bytes, s->image.size, &roots) == BALE_OK);
    newest = (unsigned)roots.newest;
    restore(s);
    s->rig.file.bytes[newest * BALE_ROOT_SIZE + ROOT_AT_SIZE] ^= 1;
    s->rig.config.writable = false;
    if (!s->older) {
        CHECK_EQ(rig_open(&s->rig), BALE_E_CORRUPT);
        rig_close(&s->rig);
        return;
    }
    expect_first(s, BALE_RECOVERY_SLOT);
    rig_close(&s->rig);
    restore(s);
    s->rig.file.bytes[(1 - newest) * BALE_ROOT_SIZE + ROOT_AT_SIZE] ^= 1;
    memset(s->rig.file.bytes + s->spans[0].position, 0, s->spans[0].length);
    expect_damage(s);
}

/* Zeros in place of the slots: nothing is known, so nothing is written. */
static void test_blank(struct scene *s)
{
    restore(s);
    memset(s->rig.file.bytes, 0, BALE_DATA_START);
    s->rig.config.writable = true;
    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(bale_container_recovery(s->rig.container), BALE_RECOVERY_BLANK);
    CHECK_EQ_U(rig_attr(&s->rig).size, 0);
    CHECK_EQ(rig_begin(&s->rig), BALE_E_RDONLY);
    rig_close(&s->rig);
    CHECK_EQ_U(s->rig.file.size, s->image.size);
    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(bale_container_settle(s->rig.container), BALE_OK);
    CHECK_EQ_U(s->rig.file.size, 0);
}

static void test_scene(struct scene *s)
{
    test_pick(s);
    test_slot(s);
    test_settle(s);
    test_blank(s);
}

int main(void)
{
    each_scene(test_scene);
    return check_result();
}
