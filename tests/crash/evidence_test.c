/* A container whose newest root is of a session that its store does not know (FORMAT.md 8 rule 5).
 * Whatever happens to one page or frame of it: a write that is missing gives the older root, wrong
 * bytes cost what they lie in, and what is in doubt is not written. */
#include "format/bytes.h"
#include "format/err.h"
#include "fs/container/index.h"
#include "tests/check.h"
#include "tests/support/offsets.h"
#include "tests/support/rig.h"

enum { SIZE_MAX_ = 40000, SPANS_MAX = 400 };

enum kind { DIRECT, EXTENTS, LEVELS, KINDS };

/* A page or frame that only the newest root refers to. */
struct span {
    uint64_t position;
    uint32_t length;
    bool page;
};

struct scene {
    struct rig rig;
    struct memory_file image; /* as it was closed */
    struct span spans[SPANS_MAX];
    size_t count;
    uint64_t durable;
    bool older; /* the first commit is durable: there is a root to fall back to */
    uint8_t first[SIZE_MAX_];
    uint64_t first_size;
};

static int add_span(struct scene *s, uint64_t position, uint32_t length, bool page)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->spans[i].position == position)
            return BALE_OK;
    REQUIRE(s->count < SPANS_MAX);
    s->spans[s->count++] = (struct span){position, length, page};
    return BALE_OK;
}

static int add_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct scene *s = arg;

    /* Each commit here writes a settings page. */
    return !page || page->generation > s->durable ? add_span(s, ref->position, ref->length, true)
                                                  : BALE_OK;
}

static int add_segment(void *arg, const struct bale_segment *segment)
{
    struct scene *s = arg;

    return segment->generation > s->durable
               ? add_span(s, segment->position, segment->frame_length, false)
               : BALE_OK;
}

static void write_commit(struct rig *rig, enum kind kind)
{
    REQUIRE(rig_begin(rig) == BALE_OK);
    if (kind == DIRECT)
        REQUIRE(rig_write(rig, 0, 3000) == BALE_OK);
    for (unsigned i = 0; kind == EXTENTS && i < 3; i++)
        REQUIRE(rig_write(rig, i * 14000, 11000) == BALE_OK);
    for (unsigned i = 0; kind == LEVELS && i < 130; i++)
        REQUIRE(rig_write(rig, i * 101, 100) == BALE_OK);
}

static void restore(struct scene *s)
{
    rig_close(&s->rig);
    memory_file_resize(&s->rig.file, 0);
    memory_file_write(&s->rig.file, s->image.bytes, s->image.size, 0);
}

/* Two commits in one session, closed, and taken to a store that does not know the session. */
static void build(struct scene *s, enum kind kind, bool older, bool paged)
{
    const struct bale_index_visitor visitor = {.arg = s, .page = add_page, .segment = add_segment};
    struct bale_roots roots;

    memset(s, 0, sizeof *s);
    s->older = older;
    s->image.fail_after = -1;
    rig_init(&s->rig, 11 + kind, BALE_EXTENT_MIN, SIZE_MAX_);
    s->rig.incompressible = true;
    if (paged)
        REQUIRE(rig_field_setting(7, &s->rig.defaults.setting));
    REQUIRE(rig_open(&s->rig) == BALE_OK);
    write_commit(&s->rig, kind);
    rig_commit(&s->rig, older);
    memcpy(s->first, s->rig.model, SIZE_MAX_);
    s->first_size = s->rig.size;
    write_commit(&s->rig, kind);
    rig_commit(&s->rig, false);
    rig_close(&s->rig);
    memory_file_write(&s->image, s->rig.file.bytes, s->rig.file.size, 0);
    REQUIRE(bale_roots_read(s->image.bytes, s->image.size, &roots) == BALE_OK);
    REQUIRE((roots.fallback >= 0) == older);
    s->durable = roots.root[roots.newest].durable;
    struct bale_io *io = memory_io_open(&s->image);
    REQUIRE(bale_index_visit_root(io, &roots.root[roots.newest], &visitor) == BALE_OK);
    io->ops->close(io);
    REQUIRE(s->count > 0);
    s->rig.session = 2;
    s->rig.certain_from = 2;
    s->rig.foreign = true;
}

/* ---- What must be found ---------------------------------------------------------------------- */

/* Reads each segment: its bytes are those of the last commit, or it cannot be read. Returns the
 * number of bytes that could not. */
static uint64_t read_newest(struct scene *s)
{
    static uint8_t raw[SIZE_MAX_];
    struct bale_segment segment;
    uint64_t lost = 0, at = 0;

    CHECK_EQ_U(rig_attr(&s->rig).size, s->rig.size);
    while (at < s->rig.size) {
        int err = bale_container_map(s->rig.container, at, &segment);

        if (err == BALE_E_NOENT)
            break;
        if (err != BALE_OK) {
            lost++;
            at++;
            continue;
        }
        err = bale_container_read(s->rig.container, s->rig.scratch, &segment, segment.offset,
                                  segment.length, raw, NULL);
        if (err == BALE_OK)
            CHECK_EQ_MEM(raw, s->rig.model + segment.offset, segment.length);
        else
            lost += segment.length;
        at = segment.offset + segment.length;
    }
    return lost;
}

/* The newest root serves without what is damaged, and not a byte of the container is written. */
static void expect_damage(struct scene *s)
{
    struct memory_file before = {.fail_after = -1};
    uint64_t generation;

    memory_file_write(&before, s->rig.file.bytes, s->rig.file.size, 0);
    for (int writable = 0; writable < 2; writable++) {
        s->rig.config.writable = writable;
        REQUIRE(rig_open(&s->rig) == BALE_OK);
        CHECK_EQ(bale_container_recovery(s->rig.container), BALE_RECOVERY_DAMAGE);
        CHECK_EQ(bale_container_is_held(s->rig.container), writable);
        CHECK(read_newest(s) > 0);
        REQUIRE(bale_container_begin(s->rig.container, &generation) == BALE_E_RDONLY);
        CHECK_EQ(bale_container_sync(s->rig.container), BALE_OK);
        CHECK_EQ(bale_container_trim(s->rig.container), BALE_OK);
        rig_close(&s->rig);
        CHECK_EQ_U(s->rig.file.size, before.size);
        CHECK_EQ_MEM(s->rig.file.bytes, before.bytes, before.size);
    }
    memory_file_clear(&before);
}

static void expect_first(struct scene *s, enum bale_recovery recovery)
{
    static uint8_t raw[SIZE_MAX_];
    uint64_t size;

    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(bale_container_recovery(s->rig.container), recovery);
    CHECK_EQ(rig_read(&s->rig, raw, &size), BALE_OK);
    CHECK_EQ_U(size, s->first_size);
    CHECK_EQ_MEM(raw, s->first, SIZE_MAX_);
}

static void expect_missing(struct scene *s)
{
    if (!s->older) { /* the only root stays, whatever is missing below it */
        expect_damage(s);
        return;
    }
    s->rig.config.writable = false;
    expect_first(s, BALE_RECOVERY_MISSING);
    CHECK(bale_container_rejected(s->rig.container) > 0);
    rig_close(&s->rig);
    s->rig.config.writable = true;
    expect_first(s, BALE_RECOVERY_MISSING);
    rig_close(&s->rig);
    expect_first(s, BALE_RECOVERY_NONE); /* it was confirmed */
    rig_close(&s->rig);
}

/* ---- What happens ---------------------------------------------------------------------------- */

static uint32_t sparse = 1; /* only every so many flips */

static void test_flips(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        uint32_t step = span->length > 2000 ? 97 : span->page ? 5 : 11;

        for (uint32_t at = 0; at < span->length; at += sparse * (at < 52 && i < 3 ? 1 : step)) {
            restore(s);
            s->rig.file.bytes[span->position + at] ^= (uint8_t)(1 << at % 8);
            expect_damage(s);
        }
    }
}

/* Bytes in the middle of a frame or page are another's: it is there, and damaged. */
static void test_patches(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];

        restore(s);
        memset(s->rig.file.bytes + span->position + span->length / 2, 0xe5, span->length / 4);
        expect_damage(s);
    }
}

static void test_zeros(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        restore(s);
        memset(s->rig.file.bytes + s->spans[i].position, 0, s->spans[i].length);
        expect_missing(s);
    }
}

/* The container ends within its last page or frame; what the older root refers to lies before. */
static void test_cut(struct scene *s)
{
    const struct span *last = s->spans;

    for (size_t i = 0; i < s->count; i++)
        if (s->spans[i].position > last->position)
            last = &s->spans[i];
    for (uint32_t left = 0; left < last->length; left += last->length / 3 + 1) {
        restore(s);
        memory_file_resize(&s->rig.file, last->position + left);
        expect_missing(s);
    }
}

/* Another frame or page lies there, as if the write had not come over what was there before. */
static void test_others(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        const struct span *other = &s->spans[(i + 1) % s->count];
        uint8_t *at;

        restore(s);
        at = s->rig.file.bytes + span->position;
        if (other == span) { /* the only one: of the generation before */
            struct bale_frame frame;

            REQUIRE(bale_frame_head_decode(at, span->length, &frame) == BALE_OK);
            bale_frame_stamp(at, &frame, frame.generation - 1);
        } else {
            memset(at, 0x77, span->length);
            memcpy(at, s->image.bytes + other->position,
                   other->length < span->length ? other->length : span->length);
        }
        expect_missing(s);
    }
}

/* A page of this container and of this length is there, whole, and of the generation before. */
static void test_page_before(struct scene *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct span *span = &s->spans[i];
        uint8_t *at;

        if (!span->page)
            continue;
        restore(s);
        at = s->rig.file.bytes + span->position;
        bale_put64(at + PAGE_AT_GENERATION, bale_get64(at + PAGE_AT_GENERATION) - 1);
        bale_put64(at + span->length - BALE_HASH_SIZE,
                   bale_hash(at, span->length - BALE_HASH_SIZE));
        expect_missing(s);
    }
}

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

int main(int argc, char **argv)
{
    static struct scene scene;

    if (check_few(&argc, argv))
        sparse = 7;

    for (int kind = 0; kind < KINDS; kind++) {
        for (int way = 0; way < (kind == LEVELS ? 2 : 4); way++) {
            build(&scene, (enum kind)kind, way % 2, way / 2);
            test_flips(&scene);
            test_patches(&scene);
            test_zeros(&scene);
            test_cut(&scene);
            test_others(&scene);
            test_page_before(&scene);
            test_pick(&scene);
            test_slot(&scene);
            test_settle(&scene);
            test_blank(&scene);
            rig_clear(&scene.rig);
            memory_file_clear(&scene.image);
        }
    }
    return check_result();
}
