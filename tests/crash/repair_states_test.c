/* What a crash may leave is repaired: a container that opens is not changed by that, whatever the
 * store knows of its sessions; with damage on top of the crash, what can be read afterwards is what
 * one commit had, and no older one than the last that was durable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/index.h"
#include "tests/check.h"
#include "tests/support/power_loss.h"
#include "tests/support/rig_repair.h"

enum { SEEDS = 24, SIZE_MOST = 60000, COMMITS = 24, MARKS = 64, STATES = 60 };

/* What the file held after a commit, and where in the list of operations that was. */
struct mark {
    uint8_t *data;
    uint64_t size;
    size_t ops;
    bool durable;
};

struct history {
    struct rig rig;
    struct mark marks[MARKS];
    size_t count;
};

static struct {
    unsigned states, opened, changed, damaged, restored;
} total;

static void mark(struct history *h, bool durable)
{
    struct mark *mark = &h->marks[h->count++];

    REQUIRE(h->count <= MARKS);
    *mark = (struct mark){.data = malloc(SIZE_MOST),
                          .size = h->rig.size,
                          .ops = h->rig.file.op_count,
                          .durable = durable};
    REQUIRE(mark->data);
    memcpy(mark->data, h->rig.model, SIZE_MOST);
}

static void work(struct history *h, uint64_t seed)
{
    struct rig *rig = &h->rig;

    rig_init(rig, seed, BALE_EXTENT_MIN, SIZE_MOST);
    rig->file.record = true;
    rig->piece = seed % 2 ? 400 : 8000; /* an index of pages, or a few frames */
    rig->session = 5;
    rig->certain_below = 5;
    REQUIRE(rig_open(rig) == BALE_OK);
    mark(h, true);
    for (int i = 0; i < COMMITS; i++) {
        const bool durable = rig_random(rig, 5) == 0;
        CHECK_EQ(rig_begin(rig), BALE_OK);
        for (uint32_t n = 1 + rig_random(rig, 12); n > 0; n--)
            CHECK_EQ(rig_change(rig), BALE_OK);
        rig_commit(rig, durable);
        mark(h, durable);
    }
    rig_die(rig);
}

/* A state of the file, and which commits may be found in it. */
static size_t make_state(const struct history *h, struct rig *rig, struct power_loss *loss)
{
    size_t oldest = 0;

    memory_file_resize(&rig->file, 0);
    power_loss_apply(h->rig.file.ops, loss, &rig->file);
    for (size_t i = 0; i < h->count; i++)
        if (h->marks[i].durable && h->marks[i].ops <= loss->first)
            oldest = i;
    return oldest;
}

/* Whether what can be read is of one commit, from oldest on. */
static bool is_a_commit(const struct history *h, size_t oldest, const uint8_t *data,
                        const bool *lost, uint64_t size)
{
    for (size_t i = oldest; i < h->count; i++) {
        size_t at = 0;
        while (at < SIZE_MOST && (lost[at] || data[at] == h->marks[i].data[at]))
            at++;
        if (at == SIZE_MOST && size == h->marks[i].size)
            return true;
    }
    return false;
}

/* Opens it without writing. SIZE_MAX: it does not open; else the bytes that cannot be read. */
static size_t look(struct rig *rig, uint8_t *data, bool *lost, uint64_t *size)
{
    size_t count = 0;

    rig->config.writable = false;
    int err = rig_open(rig);
    if (err == BALE_OK)
        CHECK_EQ(rig_read_around(rig, data, lost, size), BALE_OK);
    rig_close(rig);
    rig->config.writable = true;
    for (size_t i = 0; err == BALE_OK && i < SIZE_MOST; i++)
        count += lost[i];
    return err == BALE_OK ? count : SIZE_MAX;
}

/* Spoils a page of the root that the newest slot has. False: there is none. */
static int first_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct bale_ref *found = arg;

    (void)page;
    *found = *ref;
    return 1;
}

static bool spoil(struct rig *rig, uint32_t how)
{
    struct bale_ref page = {0};
    const struct bale_index_visitor visitor = {.arg = &page, .page = first_page};
    struct bale_roots roots;

    if (rig->file.size < BALE_DATA_START)
        return false;
    if (how % 4 == 0) { /* a slot */
        rig->file.bytes[how % BALE_DATA_START] ^= 1;
        return true;
    }
    if (bale_roots_read(rig->file.bytes, BALE_DATA_START, &roots) != BALE_OK || roots.newest < 0)
        return false;
    int which = how % 3 && roots.fallback >= 0 ? roots.fallback : roots.newest;
    struct bale_io *io = memory_io_open(&rig->file);
    (void)bale_index_visit_root(io, &roots.root[which], &visitor);
    io->ops->close(io);
    if (page.length == 0 || page.position + page.length > rig->file.size)
        return false;
    rig->file.bytes[page.position + how % page.length] ^= 0x20;
    return true;
}

static void test_state(const struct history *h, struct rig *rig, uint64_t salt)
{
    static uint8_t before[SIZE_MOST], after[SIZE_MOST];
    static bool lost[SIZE_MOST], lost_after[SIZE_MOST];
    struct power_loss loss = {.salt = salt, .kind = (int)(salt % 4)};
    struct bale_repair repair = {.settle = salt % 5 == 0};
    uint64_t size = 0, size_after = 0;

    loss.end = 1 + rig_random(rig, (uint32_t)h->rig.file.op_count);
    loss.first = power_loss_synced(h->rig.file.ops, loss.end);
    size_t oldest = make_state(h, rig, &loss);
    rig->session = 6;
    rig->certain_below = 0;
    rig->certain_from = rig->session;
    rig->foreign = salt % 2;
    const bool damaged = salt % 3 == 0 && spoil(rig, rig_random(rig, 10000));
    size_t first = look(rig, before, lost, &size);
    unsigned failed = (unsigned)check_failures;
    (void)rig_repair(rig, BALE_PICK_BY_RULES, &repair);
    size_t second = look(rig, after, lost_after, &size_after);
    total.states++;
    total.opened += first != SIZE_MAX;
    total.damaged += damaged;
    total.changed += repair.pages > 0 || repair.slot || repair.settled;
    total.restored += second < first;
    if (first == 0) { /* whole: nothing that can be read changes */
        CHECK_EQ_U(second, 0);
        CHECK(size == size_after && memcmp(before, after, sizeof before) == 0);
    } else if (first != SIZE_MAX) {
        CHECK(second <= first);
    }
    if (second != SIZE_MAX && !damaged)
        CHECK(is_a_commit(h, oldest, after, lost_after, size_after));
    if (second != SIZE_MAX && damaged)
        CHECK(is_a_commit(h, 0, after, lost_after, size_after));
    if (failed != (unsigned)check_failures)
        fprintf(stderr, "... salt %" PRIu64 ", lost %zu then %zu of %zu operations\n", salt, first,
                second, loss.end);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : SEEDS;

    for (uint64_t seed = 1; seed <= seeds && check_failures < 20; seed++) {
        struct history h = {0};
        struct rig rig;

        work(&h, seed);
        rig_init(&rig, seed + 7000, BALE_EXTENT_MIN, SIZE_MOST);
        for (uint64_t n = 0; n < STATES; n++)
            test_state(&h, &rig, seed * 1000 + n);
        rig_clear(&rig);
        rig_clear(&h.rig);
        for (size_t i = 0; i < h.count; i++)
            free(h.marks[i].data);
    }
    printf("%u states, %u opened, %u damaged: %u changed by a repair, %u better\n", total.states,
           total.opened, total.damaged, total.changed, total.restored);
    CHECK(total.opened > total.states / 2 && total.restored > 0);
    return check_result();
}
