/* The index against an array that says for every byte of the file which byte of which frame it is.
 */
#include "fs/container/index.h"

#include "format/err.h"
#include "format/frame.h"
#include "fs/base/free_map.h"
#include "fs/container/index_node.h"
#include "tests/check.h"
#include "tests/support/memory_io.h"

enum { BYTES = 60000, FRAME_LENGTH = 104, EXTENT = BALE_EXTENT_MIN };

struct byte {
    uint64_t position; /* 0: hole; 1: unwritten */
    uint32_t skip;
};

static struct byte model[BYTES];
static struct bale_free_map space;
static struct memory_file file;
static struct bale_io *io;
static struct bale_index index_;
static struct bale_root root;
static uint64_t generation;
static uint64_t state;

static unsigned draw(unsigned below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % below);
}

/* Released entries go back into the space at once: the test has no crashes. */
static void drain(void)
{
    for (size_t i = 0; i < index_.released_count; i++)
        CHECK_EQ(
            bale_free_map_release(&space, index_.released[i].position, index_.released[i].length),
            BALE_OK);
    index_.released_count = 0;
}

static uint64_t count_frames(void)
{
    uint64_t count = 0;

    /* A frame's bytes may lie apart, but within an extent. */
    for (unsigned i = 0; i < BYTES; i++) {
        bool seen = model[i].position < 2;

        for (unsigned j = i / EXTENT * EXTENT; j < i && !seen; j++)
            seen = model[j].position == model[i].position;
        count += seen ? 0 : 1;
        while (i + 1 < BYTES && (i + 1) % EXTENT != 0 && model[i + 1].position == model[i].position)
            i++;
    }
    return count;
}

/* Compares bytes, and that find gives every segment from every offset in it. */
static void compare(void)
{
    uint64_t offset = 0, unwritten = 0;
    struct bale_segment segment;
    int err;

    while ((err = bale_index_find(&index_, offset, true, &segment)) == BALE_OK) {
        uint64_t end = bale_segment_end(&segment);
        struct bale_segment again;

        if (!CHECK(end > offset) || !CHECK(end <= BYTES))
            return;
        for (; offset < segment.offset; offset++)
            if (model[offset].position != 0 && !CHECK(model[offset].position == 0))
                return;
        for (; offset < end; offset++) {
            uint64_t position = segment.position ? segment.position : 1;
            uint32_t skip =
                segment.position ? segment.skip + (uint32_t)(offset - segment.offset) : 0;

            if (model[offset].position != position || model[offset].skip != skip) {
                CHECK_EQ_U(model[offset].position, position);
                CHECK_EQ_U(model[offset].skip, skip);
                return;
            }
        }
        unwritten += segment.position ? 0 : segment.length;
        CHECK_EQ(bale_index_find(&index_, end - 1, true, &again), BALE_OK);
        CHECK_EQ_U(again.offset, segment.offset);
    }
    CHECK_EQ(err, BALE_E_NOENT);
    for (; offset < BYTES; offset++)
        if (model[offset].position != 0 && !CHECK(model[offset].position == 0))
            return;
    if (index_.loaded) {
        CHECK_EQ_U(index_.unwritten, unwritten);
        CHECK_EQ_U(index_.stored, count_frames() * FRAME_LENGTH);
    }
}

static void put(unsigned offset, unsigned length, bool unwritten)
{
    struct bale_segment segment = {
        .offset = offset, .length = length, .generation = generation, .flags = 0};
    uint64_t position = 1;

    if (unwritten) {
        segment.flags = BALE_SEGMENT_UNWRITTEN;
        segment.generation = 0;
    } else {
        REQUIRE(bale_free_map_allocate(&space, FRAME_LENGTH, &position) == BALE_OK);
        segment.position = position;
        segment.frame_length = FRAME_LENGTH;
        segment.codec = BALE_CODEC_LZ4;
        segment.chunk_log2 = 16;
        segment.checksum = position * 3;
    }
    CHECK_EQ(bale_index_put(&index_, &segment, true), BALE_OK);
    for (unsigned i = 0; i < length; i++)
        model[offset + i] = (struct byte){.position = position, .skip = unwritten ? 0 : i};
    drain();
}

static void cut(unsigned offset, unsigned length)
{
    CHECK_EQ(bale_index_cut(&index_, offset, offset + length), BALE_OK);
    for (unsigned i = 0; i < length; i++)
        model[offset + i] = (struct byte){0};
    drain();
}

static int allocate(void *arg, uint32_t length, uint64_t *position)
{
    (void)arg;
    return bale_free_map_allocate(&space, length, position);
}

static void release(void *arg, uint64_t position, uint32_t length)
{
    (void)arg;
    CHECK_EQ(bale_free_map_release(&space, position, length), BALE_OK);
}

/* Writes the index, once in vain now and then. */
static void write_out(void)
{
    const struct bale_index_space callbacks = {.allocate = allocate, .release = release};
    uint64_t before = space.bytes, end = space.end;

    index_.ctx.container_id = 77;
    if (draw(4) == 0) {
        file.fail_kinds = MEMORY_WRITE;
        file.fail_after = (long)draw(3);
        file.fail_error = BALE_E_NOSPACE;
        (void)bale_index_write(&index_, generation, &callbacks, &root.tree, &root.height);
        bale_index_written(&index_, &callbacks, false);
        file.fail_after = -1;
        CHECK_EQ_U(space.end - space.bytes, end - before);
        generation++;
    }
    CHECK_EQ(bale_index_write(&index_, generation, &callbacks, &root.tree, &root.height), BALE_OK);
    bale_index_written(&index_, &callbacks, true);
    drain();
    root.generation = generation++;
    root.size = BYTES;
    root.end = space.end;
    root.extent = EXTENT;
    root.container_id = 77;
    root.stored = index_.stored;
}

static int see_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    uint64_t *bytes = arg;

    (void)page;
    *bytes += (ref->length + 7) & ~7u;
    return 0;
}

/* Reads the index back, lazily or whole. Space is exactly what frames and pages take. */
static void reload(bool whole)
{
    uint64_t bytes = 0;
    const struct bale_index_visitor visitor = {.arg = &bytes, .page = see_page};

    bale_index_clear(&index_);
    bale_index_init(&index_, io, &root, EXTENT);
    if (!whole)
        compare();
    CHECK_EQ(bale_index_load_all(&index_, &visitor), BALE_OK);
    CHECK_EQ_U(space.end - space.bytes - BALE_DATA_START, bytes + root.stored);
    /* The owner counts these; here they did not change. */
    for (unsigned i = 0; i < BYTES; i++)
        index_.unwritten += model[i].position == 1 ? 1 : 0;
    compare();
}

static void change(unsigned most)
{
    unsigned offset = draw(BYTES);
    unsigned length = 1 + draw(most);
    unsigned room = EXTENT - offset % EXTENT;

    if (length > BYTES - offset)
        length = BYTES - offset;
    if (draw(40) == 0) {
        cut(offset, draw(6) == 0                   ? BYTES - offset
                    : length * 20 < BYTES - offset ? length * 20
                                                   : length);
    } else if (draw(6) == 0) {
        cut(offset, length);
    } else {
        put(offset, length < room ? length : room, draw(10) == 0);
    }
}

static void start(uint64_t seed)
{
    state = seed * 0x9e3779b97f4a7c15u + 1;
    generation = 1;
    memset(model, 0, sizeof model);
    root = (struct bale_root){0};
    file.fail_after = -1;
    bale_free_map_init(&space, BALE_DATA_START, 8);
    io = memory_io_open(&file);
    bale_index_init(&index_, io, NULL, EXTENT);
}

static void finish(void)
{
    bale_index_clear(&index_);
    CHECK_EQ_U(index_.memory, 0);
    io->ops->close(io);
    bale_free_map_clear(&space);
    memory_file_clear(&file);
}

static void test_random(uint64_t seed, unsigned most)
{
    start(seed);
    for (int round = 0; round < 12; round++) {
        for (unsigned n = draw(2000); n > 0; n--) {
            change(most);
            if (n % 500 == 0)
                compare();
        }
        compare();
        write_out();
        if (draw(2) == 0)
            reload(draw(2) == 0);
    }
    /* Emptying it takes all pages away. */
    cut(0, BYTES);
    write_out();
    CHECK_EQ_U(root.height, 0);
    CHECK_EQ_U(space.end, BALE_DATA_START);
    compare();
    finish();
}

/* Segments in ascending order fill their pages. */
static void test_append(void)
{
    uint64_t pages, bytes;

    start(1);
    for (unsigned i = 0; i < 10000; i++)
        put(i * 6, 6 - (i * 6 % EXTENT > EXTENT - 6 ? i * 6 % EXTENT - (EXTENT - 6) : 0), false);
    write_out();
    bale_index_pages(&index_, &pages, &bytes);
    CHECK_EQ_U(root.height, 3);
    CHECK_EQ_U(pages, (10000 + 83) / 84 + 2 + 1);
    reload(true);
    finish();
}

/* A change to one segment of many writes one page for every level. */
static void test_small_change(void)
{
    unsigned long writes;

    start(1);
    for (unsigned i = 0; i < 10000; i++)
        put(i * 5, 5 - (i * 5 % EXTENT > EXTENT - 5 ? i * 5 % EXTENT - (EXTENT - 5) : 0), false);
    write_out();
    writes = file.writes;
    put(20000, 5, false);
    write_out();
    CHECK(file.writes - writes <= 3);
    reload(false);
    finish();
}

int main(int argc, char **argv)
{
    const uint64_t seeds = check_few(&argc, argv) ? 2 : 6;

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        test_random(seed, 8);
        test_random(seed, 60);
        test_random(seed, 4000);
    }
    test_append();
    test_small_change();
    return check_result();
}
