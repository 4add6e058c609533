/* Containers made to deceive: any byte of roots and pages changed, with every checksum put right
 * again. They may be refused at any point; nothing else may happen. (The sanitizers see to that.)
 */
#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/check.h"
#include "tests/support/offsets.h"
#include "tests/support/rig.h"

enum { ROUNDS = 6000, PAGES_MAX = 64 };

static struct {
    uint64_t position;
    uint32_t length;
} pages[PAGES_MAX];
static unsigned page_count;

/* Puts the checksums below a page right, then its own, which is returned. Collects the pages on the
 * way. */
static uint64_t seal(struct memory_file *file, uint64_t position, uint32_t length, unsigned height)
{
    uint8_t *page;
    uint64_t hash;

    if (length < PAGE_WITHOUT_RECORDS || position > file->size || length > file->size - position)
        return 0;
    page = file->bytes + position;
    if (page_count < PAGES_MAX) {
        pages[page_count].position = position;
        pages[page_count].length = length;
        page_count++;
    }
    for (unsigned i = 0; height > 1 && i < bale_get16(page + PAGE_AT_COUNT); i++) {
        uint8_t *record = page + PAGE_AT_RECORDS + (size_t)i * CHILD_SIZE;

        if (PAGE_AT_RECORDS + (i + 1) * CHILD_SIZE > length)
            break;
        bale_put64(record + CHILD_AT_CHECKSUM,
                   seal(file, bale_get64(record + CHILD_AT_POSITION),
                        bale_get32(record + CHILD_AT_LENGTH), height - 1));
    }
    hash = bale_hash(page, length - 8);
    bale_put64(page + length - 8, hash);
    return hash;
}

static void seal_root(struct memory_file *file, uint8_t *slot)
{
    unsigned height = slot[ROOT_AT_HEIGHT];

    page_count = 0;
    if (height >= 1 && height <= 3)
        bale_put64(slot + ROOT_AT_TREE_CHECKSUM,
                   seal(file, bale_get64(slot + ROOT_AT_TREE_POSITION),
                        bale_get32(slot + ROOT_AT_TREE_LENGTH), height));
    bale_put64(slot + ROOT_AT_CHECKSUM, bale_hash(slot, ROOT_AT_CHECKSUM));
}

/* A container with an index of two levels, and the slot of its root. */
static size_t build(struct rig *rig)
{
    rig_init(rig, 5, BALE_EXTENT_MIN, 60000);
    REQUIRE(rig_open(rig) == BALE_OK);
    REQUIRE(rig_begin(rig) == BALE_OK);
    for (unsigned i = 0; i < 200; i++)
        REQUIRE(rig_write(rig, i * 300, i % 3 == 0 ? 300 : 250) == BALE_OK);
    REQUIRE(rig_write(rig, 20000, 9000) == BALE_OK);
    REQUIRE(rig_write(rig, 24000, 100) == BALE_OK);
    REQUIRE(bale_container_preallocate(rig->container, 0, 30000) == BALE_OK);
    REQUIRE(bale_container_commit(rig->container, false) == BALE_OK);
    rig_close(rig);
    REQUIRE(rig->file.bytes[BALE_ROOT_SIZE + ROOT_AT_HEIGHT] == 2);
    return BALE_ROOT_SIZE;
}

/* A value that is near another, or at an edge. */
static uint8_t spoil(struct rig *rig, uint8_t byte)
{
    switch (rig_random(rig, 5)) {
    case 0:
        return (uint8_t)(byte + 1);
    case 1:
        return (uint8_t)(byte - 1);
    case 2:
        return 0;
    case 3:
        return 0xff;
    default:
        return (uint8_t)rig_random(rig, 256);
    }
}

static void change(struct rig *rig, size_t slot)
{
    uint8_t *bytes = rig->file.bytes;

    for (uint32_t n = 1 + rig_random(rig, 3); n > 0; n--) {
        uint32_t page = rig_random(rig, page_count + 1);
        size_t at = slot + rig_random(rig, 104);

        if (page < page_count)
            at = (size_t)pages[page].position + rig_random(rig, pages[page].length - 8);
        bytes[at] = spoil(rig, bytes[at]);
        if (page < page_count && rig_random(rig, 3) == 0) { /* a whole field from elsewhere */
            size_t from = rig_random(rig, pages[page].length - 48) & ~7u;
            size_t to = rig_random(rig, pages[page].length - 48) & ~7u;

            memmove(bytes + pages[page].position + to, bytes + pages[page].position + from, 8);
        }
    }
}

static int count(void *arg, const struct bale_segment *segment)
{
    (void)segment;
    return ++*(unsigned *)arg > 100000;
}

static void ignore(void *arg, const struct bale_fault *fault)
{
    (void)arg;
    CHECK(fault->what != NULL);
}

/* Uses it in every way. Returns whether it was accepted for writing. */
static bool use(struct rig *rig)
{
    struct bale_container_usage usage;
    struct bale_container_attr attr;
    unsigned segments = 0;
    uint64_t size;
    bool written = false;

    if (rig_open(rig) != BALE_OK)
        return false;
    (void)bale_container_walk(rig->container, count, &segments);
    CHECK(segments <= 100000);
    bale_container_attr(rig->container, &attr);
    if (attr.size <= rig->size_max)
        (void)rig_read(rig, rig->model, &size);
    (void)bale_container_usage(rig->container, &usage);
    (void)bale_container_check(rig->container, rig->scratch, true, ignore, NULL);
    rig->size = attr.size;
    if (attr.size <= rig->size_max && attr.extent == BALE_EXTENT_MIN && rig_begin(rig) == BALE_OK) {
        for (int n = 0; n < 5; n++)
            (void)rig_change(rig);
        (void)rig_cut(rig, 5000, 20000);
        written = bale_container_commit(rig->container, true) == BALE_OK;
        (void)bale_container_trim(rig->container);
    }
    rig_close(rig);
    return written;
}

int main(void)
{
    struct memory_file good = {.fail_after = -1};
    struct rig rig;
    size_t slot = build(&rig);
    unsigned accepted = 0;

    memory_file_write(&good, rig.file.bytes, rig.file.size, 0);
    rig.file.limit = 1 << 20; /* an end far away is no reason to write there */
    for (int round = 0; round < ROUNDS; round++) {
        memory_file_resize(&rig.file, 0);
        memory_file_write(&rig.file, good.bytes, good.size, 0);
        seal_root(&rig.file, rig.file.bytes + slot);
        if (round > 0)
            change(&rig, slot);
        seal_root(&rig.file, rig.file.bytes + slot);
        rig.certain_from = rig_random(&rig, 2);
        rig.config.writable = rig_random(&rig, 4) != 0;
        accepted += use(&rig) ? 1 : 0;
    }
    printf("%u of %d were written to\n", accepted, ROUNDS);
    CHECK(accepted > 10 && accepted < ROUNDS);
    memory_file_clear(&good);
    rig_clear(&rig);
    return check_result();
}
