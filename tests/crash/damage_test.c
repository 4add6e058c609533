/* Damage: no byte of a container can be changed so that wrong data is read, and only what lies at
 * the byte is lost. Then a backing file that fails: what was acknowledged stays. */
#include "format/err.h"
#include "tests/check.h"
#include "tests/support/offsets.h"
#include "tests/support/rig.h"

enum { PIECE = 512, FAULTS_MAX = 400, SIZE_MAX_ = 100000 };

static struct bale_fault faults[FAULTS_MAX];
static size_t fault_count;

static void collect(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    REQUIRE(fault->what);
    if (fault_count < FAULTS_MAX)
        faults[fault_count++] = *fault;
}

static bool is_reported(uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < fault_count; i++)
        if (faults[i].offset < to && faults[i].offset + faults[i].length > from)
            return true;
    return false;
}

/* ---- Flipped bytes --------------------------------------------------------------------------- */

struct damage {
    struct rig rig;
    const uint8_t *expected; /* content */
    const uint8_t *older;    /* content of the other root, or NULL */
    uint64_t size;
    unsigned long lost; /* pieces that could not be read, in all */
};

/* Reads a piece of one segment: it is right, or reported, by the read and by the check. Returns
 * whether it was read. */
static bool read_piece(struct damage *d, const struct bale_segment *segment, uint64_t from,
                       uint32_t length)
{
    uint8_t raw[PIECE];
    struct bale_fault fault = {0};
    int err =
        bale_container_read(d->rig.container, d->rig.scratch, segment, from, length, raw, &fault);

    if (err == BALE_OK) {
        CHECK_EQ_MEM(raw, d->expected + from, length);
        return true;
    }
    CHECK_EQ(err, BALE_E_CORRUPT);
    CHECK(fault.what != NULL);
    CHECK(fault.offset < from + length && fault.offset + fault.length > from);
    CHECK(fault.offset >= segment->offset &&
          fault.offset + fault.length <= segment->offset + segment->length);
    CHECK(is_reported(from, from + length));
    return false;
}

/* Reads all that the index still gives. Returns the number of pieces lost. */
static unsigned long read_all(struct damage *d)
{
    unsigned long lost = 0;
    uint64_t offset = 0;

    while (offset < d->size) {
        struct bale_segment segment;
        uint64_t end;
        int err = bale_container_map(d->rig.container, offset, &segment);

        if (err == BALE_E_CORRUPT) { /* a page, or the next one after a hole: goes on behind it */
            CHECK(is_reported(offset, offset + PIECE));
            lost++;
            offset += PIECE - offset % PIECE;
            continue;
        }
        if (err == BALE_E_NOENT)
            segment = (struct bale_segment){.offset = d->size};
        else if (!CHECK_EQ(err, BALE_OK))
            break;
        for (; offset < segment.offset && offset < d->size; offset++)
            if (d->expected[offset] != 0 && !CHECK(d->expected[offset] == 0))
                return lost;
        end = segment.offset + segment.length;
        while (offset < end) {
            uint64_t border = (offset / PIECE + 1) * PIECE;
            uint64_t to = border < end ? border : end;

            lost += read_piece(d, &segment, offset, (uint32_t)(to - offset)) ? 0 : 1;
            offset = to;
        }
    }
    return lost;
}

static void flip(struct damage *d, size_t at)
{
    struct bale_container_attr attr;
    unsigned long lost;
    int err;

    d->rig.file.bytes[at] ^= (uint8_t)(1 << at % 8);
    fault_count = 0;
    err = rig_open(&d->rig);
    if (at < BALE_DATA_START && err == BALE_OK) {
        /* The other root serves. */
        CHECK_EQ(bale_container_check(d->rig.container, NULL, false, collect, NULL),
                 BALE_E_CORRUPT);
        bale_container_attr(d->rig.container, &attr);
        if (attr.size == d->size && d->older) {
            uint8_t *data = malloc((size_t)d->rig.size_max);
            uint64_t size;

            REQUIRE(data);
            REQUIRE(rig_read(&d->rig, data, &size) == BALE_OK);
            CHECK(memcmp(data, d->expected, (size_t)d->size) == 0 ||
                  memcmp(data, d->older, (size_t)d->size) == 0);
            free(data);
        }
    } else if (at < BALE_DATA_START) {
        CHECK(err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED);
    } else if (CHECK_EQ(err, BALE_OK)) {
        err = bale_container_check(d->rig.container, d->rig.scratch, true, collect, NULL);
        CHECK_EQ(err, fault_count > 0 ? BALE_E_CORRUPT : BALE_OK);
        lost = read_all(d);
        CHECK(lost == 0 || fault_count > 0);
        d->lost += lost;
    }
    rig_close(&d->rig);
    d->rig.file.bytes[at] ^= (uint8_t)(1 << at % 8);
}

static size_t sparse = 1; /* only every so many flips of those behind the slots */

/* kind 0: one small frame; 1: some extents, overwritten in part; 2: many pieces, an index of two
 * levels. */
static void test_flips(int kind)
{
    struct damage d = {0};
    uint8_t *older = malloc(SIZE_MAX_);
    size_t step = kind == 0 ? 1 : kind == 1 ? 3 : 5;

    REQUIRE(older);
    rig_init(&d.rig, 7, BALE_EXTENT_MIN, SIZE_MAX_);
    REQUIRE(rig_open(&d.rig) == BALE_OK);
    for (int commit = 0; commit < 2; commit++) {
        memcpy(older, d.rig.model, SIZE_MAX_);
        REQUIRE(rig_begin(&d.rig) == BALE_OK);
        if (kind == 0)
            REQUIRE(rig_write(&d.rig, 0, 3000) == BALE_OK);
        for (unsigned i = 0; kind == 1 && i < 4; i++) {
            REQUIRE(rig_write(&d.rig, i * 20000, 16000) == BALE_OK);
            REQUIRE(rig_write(&d.rig, i * 20000 + 5000, 700) == BALE_OK);
        }
        for (unsigned i = 0; kind == 2 && i < 200; i++)
            REQUIRE(rig_write(&d.rig, i * 151, 150) == BALE_OK);
        REQUIRE(bale_container_commit(d.rig.container, true) == BALE_OK);
    }
    rig_close(&d.rig);
    d.rig.config.writable = false;
    d.expected = d.rig.model;
    d.older = older;
    d.size = d.rig.size;
    for (size_t at = 0; at < d.rig.file.size; at += at < BALE_DATA_START ? 1 : sparse * step)
        flip(&d, at);
    CHECK(d.lost > 100 / sparse);
    free(older);
    rig_clear(&d.rig);
}

/* With the newest root gone the other one is taken, once all of it is known to be good; when it is
 * not, nothing is. */
static void test_root_lost(void)
{
    struct rig rig;
    struct bale_container_attr attr;
    struct bale_segment segment;
    uint64_t position, last;
    struct bale_io *io;

    rig_init(&rig, 3, BALE_EXTENT_MIN, SIZE_MAX_);
    REQUIRE(rig_open(&rig) == BALE_OK);
    for (unsigned i = 0; i < 2; i++) {
        REQUIRE(rig_begin(&rig) == BALE_OK);
        REQUIRE(rig_write(&rig, i * 20000, 5000) == BALE_OK);
        REQUIRE(bale_container_commit(rig.container, true) == BALE_OK);
    }
    REQUIRE(bale_container_map(rig.container, 0, &segment) == BALE_OK);
    position = segment.position;
    REQUIRE(bale_container_map(rig.container, 20000, &segment) == BALE_OK);
    last = segment.position;
    rig_die(&rig); /* no confirming root */

    rig.file.bytes[ROOT_AT_FLAGS] ^= 1; /* the second commit's root is in slot 0 */
    rig.config.writable = false;
    io = memory_io_open(&rig.file);
    CHECK_EQ(bale_container_peek(io, &rig.config, &rig.defaults, &attr, NULL), BALE_E_UNVERIFIED);
    io->ops->close(io);
    REQUIRE(rig_open(&rig) == BALE_OK);
    bale_container_attr(rig.container, &attr);
    CHECK_EQ_U(attr.size, 5000);
    rig_close(&rig);
    rig.file.bytes[position + FRAME_AT_TABLE + 16] ^= 1;
    CHECK_EQ(rig_open(&rig), BALE_E_CORRUPT);

    /* With the newest root back, what is not newer than the durable root is not looked at by open.
     */
    rig.file.bytes[ROOT_AT_FLAGS] ^= 1;
    rig.certain_from = 0;
    CHECK_EQ(rig_open(&rig), BALE_OK);
    rig_close(&rig);

    /* A bad frame of the newest: the fallback, were it good. */
    rig.file.bytes[last + FRAME_AT_TABLE + 16] ^= 1;
    CHECK_EQ(rig_open(&rig), BALE_E_CORRUPT);
    rig.file.bytes[position + FRAME_AT_TABLE + 16] ^= 1;
    REQUIRE(rig_open(&rig) == BALE_OK);
    bale_container_attr(rig.container, &attr);
    CHECK_EQ_U(attr.size, 5000);
    CHECK(bale_container_rejected(rig.container) > attr.generation);
    rig_clear(&rig);
}

int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        sparse = 7;
    for (int kind = 0; kind < 3; kind++)
        test_flips(kind);
    test_root_lost();
    return check_result();
}
