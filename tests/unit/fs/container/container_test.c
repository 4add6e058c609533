/* Containers, rule by rule. */
#include "fs/container/container.h"

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/check.h"
#include "tests/support/offsets.h"
#include "tests/support/rig.h"

static int height_of(struct rig *rig)
{
    struct bale_container_usage usage;

    CHECK_EQ(bale_container_usage(rig->container, &usage), BALE_OK);
    return usage.height;
}

/* ---- Forms ----------------------------------------------------------------------------------- */

static void test_empty(void)
{
    struct rig rig;
    struct bale_segment segment;

    rig_start(&rig, 1000);
    CHECK_EQ_U(rig_attr(&rig).generation, 0);
    CHECK_EQ_U(rig_attr(&rig).extent, BALE_EXTENT_MIN);
    CHECK_EQ_U(bale_container_id(rig.container), 0);
    CHECK_EQ(bale_container_map(rig.container, 0, &segment), BALE_E_NOENT);
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    rig_commit(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    bale_container_abandon(rig.container);
    rig_close(&rig);
    CHECK_EQ_U(rig.file.size, 0);
    CHECK_EQ_U(rig.file.writes, 0);
    CHECK_EQ_U(rig.file.syncs, 0);
    rig_clear(&rig);
}

static void test_small(void)
{
    struct rig rig;

    rig_start(&rig, 1 << 20);
    rig.file.record = true;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_OK);
    rig_commit(&rig, false);
    /* An empty file's root with the frame behind it, then the root over the first. */
    CHECK_EQ_U(rig.file.op_count, 2);
    CHECK_EQ_U(rig.file.ops[0].position, BALE_ROOT_SIZE);
    CHECK(rig.file.ops[0].length > BALE_ROOT_SIZE);
    CHECK_EQ_U(rig.file.ops[1].length, BALE_ROOT_SIZE);
    CHECK_EQ_U(rig.file.ops[1].position, rig.file.ops[0].position);
    CHECK_EQ(height_of(&rig), BALE_HEIGHT_DIRECT);
    rig_matches(&rig, true);
    rig_reopen(&rig);
    CHECK_EQ_U(rig.file.op_count, 2);
    CHECK_EQ_U(rig_attr(&rig).size, 1000);
    CHECK_EQ_U(rig_attr(&rig).generation, 2);
    CHECK(bale_container_id(rig.container) != 0);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* A kill cuts the first write of a container off between two pages: the file is then empty. */
static void test_first_write_cut_off(void)
{
    struct rig rig;

    rig_start(&rig, 1 << 20);
    rig.file.record = true;
    rig.incompressible = true;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 20000), BALE_OK);
    rig_die(&rig);
    const struct memory_op first = rig.file.ops[0];
    rig.file.record = false;
    CHECK(first.length > 16384);
    for (uint64_t end = 4096; end < 20000; end += 4096) {
        memory_file_resize(&rig.file, 0);
        memory_file_write(&rig.file, first.data, end - first.position, first.position);
        REQUIRE(rig_open(&rig) == BALE_OK);
        CHECK_EQ_U(rig_attr(&rig).size, 0);
        CHECK_EQ_U(rig_attr(&rig).generation, 1);
        rig_close(&rig);
    }
    rig_clear(&rig);
}

/* A write of the first root and frame that fails is made again as a whole. */
static void test_first_write_fails(void)
{
    struct rig rig;

    rig_start(&rig, 1 << 20);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    rig.file.fail_kinds = MEMORY_WRITE;
    rig.file.fail_after = 0;
    rig.file.fail_error = BALE_E_NOSPACE;
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_E_NOSPACE);
    rig.file.fail_after = -1;
    bale_container_abandon(rig.container);
    CHECK_EQ_U(rig_attr(&rig).generation, 0);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_OK);
    rig_commit(&rig, false);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

/* The frame of a small file is read once, for the index and for the data. */
static void test_small_read(void)
{
    struct rig rig;
    uint8_t *data = malloc(1 << 20);
    uint64_t size = 0;

    rig_start(&rig, 1 << 20);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_OK);
    rig_commit(&rig, false);
    rig_reopen(&rig);
    rig.file.fail_kinds = MEMORY_READ;
    rig.file.fail_error = BALE_E_IO;
    rig.file.fail_after = 1;
    CHECK_EQ(rig_read(&rig, data, &size), BALE_OK);
    CHECK_EQ_U(size, 1000);
    CHECK_EQ(rig_digest(data, size), rig_digest(rig.model, 1000));
    CHECK_EQ(rig_read(&rig, data, &size), BALE_E_IO);
    rig.file.fail_after = -1;
    rig_matches(&rig, true);
    rig_clear(&rig);
    free(data);
}

/* Behind a chunk that is read by itself the kernel need not read ahead; behind a whole frame, or a
 * small one, it may. */
static void test_reads_alone(void)
{
    struct bale_segment segment;
    struct rig rig;
    uint8_t *data = malloc(1 << 20);
    uint64_t size = 0;

    REQUIRE(data);
    rig_init(&rig, 1, 1 << 18, 1 << 20);
    rig.incompressible = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, (1 << 18) + 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK(!rig.file.alone);
    CHECK_EQ(bale_container_map(rig.container, 0, &segment), BALE_OK);
    CHECK_EQ(bale_container_read(rig.container, rig.scratch, &segment, 0, 4096, data, NULL),
             BALE_OK);
    CHECK(rig.file.alone);
    CHECK_EQ(bale_container_read_frame(rig.container, &segment, data), BALE_OK);
    CHECK(!rig.file.alone);
    CHECK_EQ(bale_container_read(rig.container, rig.scratch, &segment, 8192, 4096, data, NULL),
             BALE_OK);
    CHECK(rig.file.alone);
    CHECK_EQ(bale_container_map(rig.container, 1 << 18, &segment), BALE_OK);
    CHECK_EQ(bale_container_read(rig.container, rig.scratch, &segment, 1 << 18, 100, data, NULL),
             BALE_OK);
    CHECK(!rig.file.alone);
    CHECK_EQ(rig_read(&rig, data, &size), BALE_OK);
    CHECK(!rig.file.alone);
    rig_clear(&rig);
    free(data);
}

/* Direct while the one frame is used from its first byte to its last, and back again. */
static void test_direct(void)
{
    struct rig rig;

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 50000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), 0);
    CHECK_EQ_U(rig.file.size, BALE_DATA_START);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), BALE_HEIGHT_DIRECT); /* a hole follows it */
    rig_reopen(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 20000, 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), 1);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_cut(&rig, 20000, 5000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), BALE_HEIGHT_DIRECT);
    rig_matches(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 4000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), 1); /* the frame has more than that */
    rig_reopen(&rig);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 50000), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), 1);
    rig_matches(&rig, true);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_truncate(&rig, 0), BALE_OK);
    rig_commit(&rig, false);
    CHECK_EQ(height_of(&rig), 0);
    CHECK_EQ_U(rig_attr(&rig).stored, 0);
    rig_clear(&rig);
}

static void test_attributes(void)
{
    struct rig rig;
    struct bale_container_attr attr, bad;

    rig_start(&rig, 100000);
    rig.config.modes_in_container = true;
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    attr = rig_attr(&rig);
    attr.extent = 1 << 20;
    attr.extent_explicit = true;
    attr.setting = (struct bale_setting){.codec = BALE_CODEC_ZSTD, .parameter = -5};
    attr.setting_explicit = true;
    attr.mode = BALE_ROOT_MODE_IN_CONTAINER | 0640;
    attr.mtime = -7;
    attr.size = 123;
    CHECK_EQ(bale_container_set_attr(rig.container, &attr), BALE_OK);
    CHECK_EQ_U(rig_attr(&rig).size, 0); /* not before the commit */
    rig_commit(&rig, false);
    for (int i = 0; i < 2; i++) {
        attr = rig_attr(&rig);
        CHECK_EQ_U(attr.extent, 1 << 20);
        CHECK(attr.extent_explicit && attr.setting_explicit);
        CHECK_EQ(attr.setting.codec, BALE_CODEC_ZSTD);
        CHECK_EQ(attr.setting.parameter, -5);
        CHECK_EQ(attr.mode, BALE_ROOT_MODE_IN_CONTAINER | 0640);
        CHECK_EQ(attr.mtime, -7);
        CHECK_EQ_U(attr.size, 123);
        CHECK_EQ_U(attr.generation, 1);
        rig_reopen(&rig);
    }
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_OK);
    CHECK_EQ(attr.mode, BALE_ROOT_MODE_IN_CONTAINER | 0640);

    CHECK_EQ(rig_begin(&rig), BALE_OK);
    bad = attr;
    bad.extent = 5000;
    CHECK_EQ(bale_container_set_attr(rig.container, &bad), BALE_E_INVALID);
    bad = attr;
    bad.size = (uint64_t)INT64_MAX + 1;
    CHECK_EQ(bale_container_set_attr(rig.container, &bad), BALE_E_INVALID);
    bad = attr;
    bad.setting.codec = 99;
    CHECK_EQ(bale_container_set_attr(rig.container, &bad), BALE_E_INVALID);
    CHECK_EQ(rig_write(&rig, 0, 10), BALE_OK);
    bad = attr;
    bad.extent = 2 << 20; /* there are segments */
    CHECK_EQ(bale_container_set_attr(rig.container, &bad), BALE_E_INVALID);
    rig_commit(&rig, false);
    rig_clear(&rig);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void test_refusals(void)
{
    struct rig rig;
    struct bale_segment segment = {.offset = 0, .length = 100, .frame_length = 200};
    struct bale_container_attr attr;
    uint8_t raw[16];

    rig_start(&rig, 100000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 1000), BALE_OK);
    CHECK_EQ(bale_container_put(rig.container, &segment), BALE_E_INVALID);
    REQUIRE(bale_container_map(rig.container, 0, &segment) == BALE_OK);
    segment.length = BALE_EXTENT_MIN + 1; /* over its extent */
    CHECK_EQ(bale_container_put(rig.container, &segment), BALE_E_INVALID);
    segment.length = 1000;
    CHECK_EQ(bale_container_read(rig.container, rig.scratch, &segment, 990, 11, raw, NULL),
             BALE_E_INVALID);
    CHECK_EQ(bale_container_read(rig.container, rig.scratch, &segment, 990, 10, raw, NULL),
             BALE_OK);
    CHECK_EQ_MEM(raw, rig.model + 990, 10);

    /* A commit that would leave data behind the size. */
    segment = (struct bale_segment){.offset = 5000, .length = 100, .flags = BALE_SEGMENT_UNWRITTEN};
    CHECK_EQ(bale_container_put(rig.container, &segment), BALE_OK);
    CHECK_EQ(bale_container_commit(rig.container, false), BALE_E_INVALID);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(bale_container_cut(rig.container, 5000, UINT64_MAX), BALE_OK);
    rig_commit(&rig, false);
    rig_matches(&rig, true);
    rig_close(&rig);

    rig.config.writable = false;
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ(rig_begin(&rig), BALE_E_RDONLY);
    CHECK_EQ(bale_container_sync(rig.container), BALE_OK);
    rig_matches(&rig, true);
    rig_close(&rig);

    /* A header that is short, or of zeros where every session ended well. */
    memory_file_resize(&rig.file, 223);
    CHECK_EQ(rig_open(&rig), BALE_E_CORRUPT);
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_E_CORRUPT);
    memory_file_resize(&rig.file, 0);
    memory_file_resize(&rig.file, 400);
    rig.zeros_empty = false;
    CHECK_EQ(rig_open(&rig), BALE_E_CORRUPT);
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_E_CORRUPT);
    rig.zeros_empty = true;
    CHECK_EQ(rig_peek(&rig, &attr, NULL), BALE_OK);
    CHECK_EQ_U(attr.generation, 0);
    REQUIRE(rig_open(&rig) == BALE_OK);
    CHECK_EQ_U(rig_attr(&rig).size, 0);
    rig_close(&rig);
    rig.config.writable = true;
    REQUIRE(rig_open(&rig) == BALE_OK);
    rig.size = 0;
    memset(rig.model, 0, (size_t)rig.size_max);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 100, 1000), BALE_OK);
    rig_commit(&rig, false);
    rig_matches(&rig, true);
    rig_clear(&rig);
}

static void test_feature(void)
{
    struct rig rig;
    struct bale_container_attr attr;
    struct bale_root root;
    struct bale_container *container;
    uint8_t slot[BALE_ROOT_SIZE];
    char feature[5];

    rig_start(&rig, 1000);
    CHECK_EQ(rig_begin(&rig), BALE_OK);
    CHECK_EQ(rig_write(&rig, 0, 100), BALE_OK);
    rig_commit(&rig, false);
    rig_close(&rig);
    REQUIRE(bale_root_decode(rig.file.bytes + BALE_ROOT_SIZE, &root, feature) == BALE_OK);
    bale_root_encode(&root, slot);
    memcpy(slot + ROOT_AT_FEATURES, "xyz1", 4);
    bale_put64(slot + ROOT_AT_CHECKSUM, bale_hash(slot, ROOT_AT_CHECKSUM));
    memory_file_write(&rig.file, slot, sizeof slot, BALE_ROOT_SIZE);
    CHECK_EQ(rig_peek(&rig, &attr, feature), BALE_E_UNSUPPORTED);
    CHECK_EQ_STR(feature, "xyz1");
    memset(feature, 0, sizeof feature);
    CHECK_EQ(bale_container_open(memory_io_open(&rig.file), &rig.config, &rig.defaults, &container,
                                 feature),
             BALE_E_UNSUPPORTED);
    CHECK_EQ_STR(feature, "xyz1");
    rig_clear(&rig);
}

int main(void)
{
    test_empty();
    test_small();
    test_small_read();
    test_reads_alone();
    test_first_write_cut_off();
    test_first_write_fails();
    test_direct();
    test_attributes();
    test_refusals();
    test_feature();
    return check_result();
}
