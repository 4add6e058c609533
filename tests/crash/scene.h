/* A container whose newest root is of a session that its store does not know, and what must be found
 * in it (FORMAT.md 8 rule 5). */
#ifndef BALE_TESTS_CRASH_SCENE_H
#define BALE_TESTS_CRASH_SCENE_H

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

static inline int add_span(struct scene *s, uint64_t position, uint32_t length, bool page)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->spans[i].position == position)
            return BALE_OK;
    REQUIRE(s->count < SPANS_MAX);
    s->spans[s->count++] = (struct span){position, length, page};
    return BALE_OK;
}

static inline int add_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct scene *s = arg;

    /* Each commit here writes a settings page. */
    return !page || page->generation > s->durable ? add_span(s, ref->position, ref->length, true)
                                                  : BALE_OK;
}

static inline int add_segment(void *arg, const struct bale_segment *segment)
{
    struct scene *s = arg;

    return segment->generation > s->durable
               ? add_span(s, segment->position, segment->frame_length, false)
               : BALE_OK;
}

static inline void write_commit(struct rig *rig, enum kind kind)
{
    REQUIRE(rig_begin(rig) == BALE_OK);
    if (kind == DIRECT)
        REQUIRE(rig_write(rig, 0, 3000) == BALE_OK);
    for (unsigned i = 0; kind == EXTENTS && i < 3; i++)
        REQUIRE(rig_write(rig, i * 14000, 11000) == BALE_OK);
    for (unsigned i = 0; kind == LEVELS && i < 130; i++)
        REQUIRE(rig_write(rig, i * 101, 100) == BALE_OK);
}

static inline void restore(struct scene *s)
{
    rig_close(&s->rig);
    memory_file_resize(&s->rig.file, 0);
    memory_file_write(&s->rig.file, s->image.bytes, s->image.size, 0);
}

/* Two commits in one session, closed, and taken to a store that does not know the session. */
static inline void build(struct scene *s, enum kind kind, bool older, bool paged)
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
static inline uint64_t read_newest(struct scene *s)
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
static inline void expect_damage(struct scene *s)
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

static inline void expect_first(struct scene *s, enum bale_recovery recovery)
{
    static uint8_t raw[SIZE_MAX_];
    uint64_t size;

    REQUIRE(rig_open(&s->rig) == BALE_OK);
    CHECK_EQ(bale_container_recovery(s->rig.container), recovery);
    CHECK_EQ(rig_read(&s->rig, raw, &size), BALE_OK);
    CHECK_EQ_U(size, s->first_size);
    CHECK_EQ_MEM(raw, s->first, SIZE_MAX_);
}

static inline void expect_missing(struct scene *s)
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

/* Calls test with a scene of each kind. */
static inline void each_scene(void (*test)(struct scene *s))
{
    static struct scene scene;

    for (int kind = 0; kind < KINDS; kind++) {
        for (int way = 0; way < (kind == LEVELS ? 2 : 4); way++) {
            build(&scene, (enum kind)kind, way % 2, way / 2);
            test(&scene);
            rig_clear(&scene.rig);
            memory_file_clear(&scene.image);
        }
    }
}

#endif
