/* Containers with a settings page: what a setting says about an array stays with the file. */
#include "format/bytes.h"
#include "format/err.h"
#include "fs/container/container.h"
#include "fs/container/repair.h"
#include "tests/check.h"
#include "tests/support/offsets.h"
#include "tests/support/rig.h"

enum { AT_SETTINGS_HEIGHT = 5, AT_SETTINGS_TREE = 24 };

static const struct bale_setting lz4 = {.codec = BALE_CODEC_LZ4};

static struct bale_setting field_of(uint64_t x)
{
    struct bale_setting setting;

    REQUIRE(rig_field_setting(x, &setting));
    return setting;
}

static void set(struct rig *rig, struct bale_setting setting)
{
    struct bale_container_attr attr = rig_attr(rig);

    attr.size = rig->size;
    attr.setting = setting;
    CHECK_EQ(bale_container_set_attr(rig->container, &attr), BALE_OK);
}

static const uint64_t step = UINT64_C(0x3f70) << 48;

static void set_greatest(struct rig *rig, uint64_t greatest_step)
{
    struct bale_container_attr attr = rig_attr(rig);

    attr.greatest_step = greatest_step;
    CHECK_EQ(bale_container_set_attr(rig->container, &attr), BALE_OK);
}

static void expect_setting(struct rig *rig, struct bale_setting setting)
{
    struct bale_container_attr attr = rig_attr(rig);

    CHECK_EQ(attr.setting.codec, setting.codec);
    CHECK(bale_field_equal(&attr.setting.field, &setting.field));
    CHECK_EQ_U(attr.rounds, BALE_ROUNDS_UNDECIDED);
}

/* The newest root in the file. */
static struct bale_root newest_root(const struct rig *rig)
{
    struct bale_roots roots;

    REQUIRE(bale_roots_read(rig->file.bytes, BALE_DATA_START, &roots) == BALE_OK);
    return roots.root[roots.newest];
}

/* Its height is in *height. Returns the settings page's position. */
static uint64_t newest(const struct rig *rig, uint8_t *height)
{
    const struct bale_root root = newest_root(rig);

    *height = root.height;
    return root.tree.position;
}

static void expect_page(const struct rig *rig, bool paged, uint8_t tree_height)
{
    uint8_t height;
    uint64_t position = newest(rig, &height);

    CHECK_EQ(height == BALE_HEIGHT_SETTINGS, paged);
    if (paged) {
        CHECK_EQ_MEM(rig->file.bytes + position, "BSET", 4);
        CHECK_EQ(rig->file.bytes[position + AT_SETTINGS_HEIGHT], tree_height);
    } else {
        CHECK_EQ(height, tree_height);
    }
}

/* Before any data, with one frame, with several, and without data again. */
static void test_forms(void)
{
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set(&rig, field_of(5));
    rig_commit(&rig, false);
    expect_page(&rig, true, 0);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(5));
    rig_matches(&rig, true);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    rig_commit(&rig, false);
    expect_page(&rig, true, BALE_HEIGHT_DIRECT);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 50000, 5000), BALE_OK);
    rig_commit(&rig, true);
    expect_page(&rig, true, 1);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(5));
    rig_matches(&rig, true);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 0), BALE_OK);
    rig_commit(&rig, false);
    expect_page(&rig, true, 0);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(5));
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* A file is made with the setting: its first root comes before the page, and is without. */
static void test_first_root(void)
{
    struct rig rig;

    rig_init(&rig, 1, BALE_EXTENT_MIN, 100000);
    rig.defaults.setting = field_of(3);
    REQUIRE(rig_open(&rig) == BALE_OK);
    expect_setting(&rig, field_of(3));
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    expect_page(&rig, false, 0);
    expect_setting(&rig, field_of(3));
    rig_commit(&rig, false);
    expect_page(&rig, true, BALE_HEIGHT_DIRECT);
    rig.defaults.setting = lz4;
    rig_reopen(&rig);
    expect_setting(&rig, field_of(3));
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* The page is written only when it says something else, and its old place is used again. */
static void test_space(void)
{
    struct bale_container_attr attr;
    struct rig rig;
    uint64_t position, writes, size = 0;
    uint8_t height;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    set(&rig, field_of(5));
    rig_commit(&rig, true);
    position = newest(&rig, &height);

    attr = rig_attr(&rig);
    attr.mtime = 77;
    writes = rig.file.writes;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ_U(newest(&rig, &height), position);
    CHECK_EQ_U(rig.file.writes, writes + 1); /* the root alone */

    for (uint64_t x = 6; x < 200; x++) {
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        set(&rig, field_of(x));
        rig_commit(&rig, x % 3 == 0);
        expect_page(&rig, true, BALE_HEIGHT_DIRECT);
        if (x == 20)
            size = rig.file.size;
    }
    CHECK_EQ_U(rig.file.size, size);
    rig_matches(&rig, true);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(199));
    rig_matches(&rig, true);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set(&rig, lz4);
    rig_commit(&rig, true);
    expect_page(&rig, false, BALE_HEIGHT_DIRECT);
    rig_reopen(&rig);
    expect_setting(&rig, lz4);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* What elements were rounded with stays, whatever the codec becomes. */
static void test_rounded(void)
{
    struct bale_container_attr attr;
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set_greatest(&rig, step);
    rig_commit(&rig, false);
    expect_page(&rig, true, 0);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    rig_commit(&rig, false);
    expect_page(&rig, true, BALE_HEIGHT_DIRECT);
    rig_reopen(&rig);
    expect_setting(&rig, lz4);
    CHECK_EQ_U(rig_attr(&rig).greatest_step, step);
    rig_matches(&rig, true);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set(&rig, field_of(5));
    rig_commit(&rig, false);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set_greatest(&rig, step + 1);
    rig_commit(&rig, true);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(5));
    REQUIRE(rig_peek(&rig, &attr, NULL) == BALE_OK);
    CHECK_EQ_U(attr.greatest_step, step + 1);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set(&rig, lz4);
    rig_commit(&rig, true);
    rig_reopen(&rig);
    expect_setting(&rig, lz4);
    CHECK_EQ_U(rig_attr(&rig).greatest_step, step + 1);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set_greatest(&rig, 0);
    rig_commit(&rig, true);
    expect_page(&rig, false, BALE_HEIGHT_DIRECT);
    rig_reopen(&rig);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* A root with a page needs a feature. Without the page, and without frames that need it, a program
 * that does not know it can read the container again; after an opening in between it may stay. */
static void test_feature(void)
{
    for (int reopened = 0; reopened <= 1; reopened++) {
        struct rig rig;
        rig_start(&rig, 100000);
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
        rig_commit(&rig, false);
        CHECK_EQ_U(newest_root(&rig).features, 0);
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        set(&rig, field_of(5));
        rig_commit(&rig, false);
        CHECK_EQ_U(newest_root(&rig).features, BALE_FEATURE_PARTS);
        if (reopened)
            rig_reopen(&rig);
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        set(&rig, lz4);
        rig_commit(&rig, false);
        expect_page(&rig, false, BALE_HEIGHT_DIRECT);
        CHECK(reopened || newest_root(&rig).features == 0);
        rig_reopen(&rig);
        rig_matches(&rig, true);
        rig_clear(&rig);
    }
}

/* A page of the index is lost, and what the settings page says stays. */
static void test_salvaged(void)
{
    struct bale_salvage salvage;
    struct rig rig;
    uint64_t tree;
    uint8_t height;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    CHECK_EQ(rig_write(&rig, 50000, 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set_greatest(&rig, step);
    rig_commit(&rig, true);
    expect_page(&rig, true, 1);
    tree = bale_get64(rig.file.bytes + newest(&rig, &height) + AT_SETTINGS_TREE);
    rig_close(&rig);
    rig.file.bytes[tree + 30] ^= 1;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ(bale_container_salvage(rig.container, true, NULL, NULL, &salvage), BALE_OK);
    CHECK_EQ_U(salvage.ranges, 1);
    rig_reopen(&rig);
    CHECK_EQ_U(rig_attr(&rig).greatest_step, step);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

static const char *found;

static void note_fault(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    found = fault->what;
}

/* Without the page nothing is known: the file can neither be read nor written, and says why. */
static void test_damage(void)
{
    struct bale_segment segment;
    struct rig rig;
    uint64_t position;
    uint8_t height;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    set(&rig, field_of(5));
    rig_commit(&rig, true);
    position = newest(&rig, &height);
    rig_close(&rig);
    rig.file.bytes[position + 50] ^= 1;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ_U(rig_attr(&rig).size, 5000);
    CHECK_EQ(bale_container_map(rig.container, 0, &segment), BALE_E_CORRUPT);
    CHECK_EQ(rig_begin(&rig), BALE_E_CORRUPT);
    CHECK_EQ(bale_container_check(rig.container, rig.scratch, true, note_fault, NULL),
             BALE_E_CORRUPT);
    CHECK_EQ_STR(found, "settings page");
    rig_clear(&rig);
}

/* A commit that fails leaves the page before it, and the next one succeeds. */
static void test_failure(void)
{
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    set(&rig, field_of(5));
    rig_commit(&rig, true);
    for (int n = 0; n < 2; n++) { /* the page's write fails, then the root's */
        CHECK_EQ(rig_begin(&rig), BALE_OK);
        set(&rig, field_of(6));
        rig.file.fail_kinds = MEMORY_CHANGES;
        rig.file.fail_after = n;
        rig.file.fail_error = BALE_E_NOSPACE;
        CHECK_EQ(bale_container_commit(rig.container, false), BALE_E_NOSPACE);
        rig.file.fail_after = -1;
        expect_setting(&rig, field_of(5));
        rig_matches(&rig, true);
    }
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    set(&rig, field_of(7));
    rig_commit(&rig, false);
    rig_reopen(&rig);
    expect_setting(&rig, field_of(7));
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* Only what a page may say. */
static void test_refused(void)
{
    struct bale_container_attr attr;
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    attr = rig_attr(&rig);
    attr.setting = field_of(5);
    attr.rounds = BALE_ROUNDS_END;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    attr.setting = lz4;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    attr.setting.field.type = BALE_FIELD_F32;
    attr.rounds = BALE_ROUNDS_UNDECIDED;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    attr.setting = lz4;
    attr.greatest_step = 1;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    attr.greatest_step = step;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_OK);
    attr.rounds = BALE_ROUNDS_YES;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    attr.setting = field_of(5);
    attr.greatest_step = attr.setting.field.step - 1;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_E_INVALID);
    bale_container_abandon(rig.container);
    rig_clear(&rig);
}

int main(void)
{
    test_forms();
    test_first_root();
    test_space();
    test_rounded();
    test_feature();
    test_salvaged();
    test_damage();
    test_failure();
    test_refused();
    return check_result();
}
