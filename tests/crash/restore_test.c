/* Lost pages of an index are made again from what lies in the container: as they were, byte for
 * byte, or not at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/index.h"
#include "fs/container/repair.h"
#include "tests/check.h"
#include "tests/support/rig.h"

enum { CONTAINERS = 200, EXTENT = 16384, SIZE_MOST = 600000, PAGES_MOST = 400, PAIRS_MOST = 40 };

struct state {
    struct rig rig;
    uint8_t *whole; /* the container's bytes, undamaged */
    struct bale_root root;
    struct bale_ref pages[PAGES_MOST];
    size_t page_count;
    unsigned known, unknown; /* lost pages, in one restoration */
};

static struct {
    unsigned pages, inner, restored, pairs, pairs_restored;
} total;

static int note_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct state *state = arg;

    REQUIRE(state->page_count < PAGES_MOST);
    state->pages[state->page_count++] = *ref;
    total.inner += page->height > 1;
    return 0;
}

static int find_pages(struct state *state)
{
    const struct bale_index_visitor visitor = {.arg = state, .page = note_page};
    struct bale_io *io = memory_io_open(&state->rig.file);
    struct bale_roots roots;

    REQUIRE(io && bale_roots_read(state->rig.file.bytes, BALE_DATA_START, &roots) == BALE_OK);
    state->root = roots.root[roots.newest];
    state->page_count = 0;
    if (state->root.height < 1 || state->root.height > BALE_HEIGHT_MAX)
        return io->ops->close(io);
    CHECK_EQ(bale_index_visit_root(io, &state->root, &visitor), 0);
    return io->ops->close(io);
}

/* A history: writes of pieces and of whole extents, in three of four containers also cuts and
 * truncations; in every fourth, writes of one commit overlap. Few commits are durable. */
static void fill(struct state *state, uint64_t seed)
{
    struct rig *rig = &state->rig;

    rig_init(rig, seed, EXTENT, SIZE_MOST);
    rig->certain_below = 1000;
    rig->piece = seed % 3 == 0 ? 3000 : 40000;
    REQUIRE(rig_open(rig) == BALE_OK);
    for (int i = 0; i < 120; i++) {
        CHECK_EQ(rig_begin(rig), BALE_OK);
        for (int j = 0; j < (seed % 4 == 3 ? 3 : 1); j++)
            if (seed % 4 == 0)
                CHECK_EQ(rig_write(rig, rig_random(rig, SIZE_MOST - 50000),
                                   1 + rig_random(rig, rig->piece)),
                         BALE_OK);
            else
                CHECK_EQ(rig_change(rig), BALE_OK);
        rig_commit(rig, i % 8 == 0);
    }
    rig_close(rig);
    state->whole = malloc(rig->file.size);
    REQUIRE(state->whole);
    memcpy(state->whole, rig->file.bytes, rig->file.size);
    CHECK_EQ(find_pages(state), 0);
}

static void damage(struct state *state, const struct bale_ref *page, unsigned how)
{
    uint8_t *bytes = state->rig.file.bytes + page->position;

    if (how % 2)
        memset(bytes, 0, page->length);
    else
        bytes[how % page->length] ^= 0x10;
}

static bool count_lost(void *arg, const struct bale_lost_page *page)
{
    struct state *state = arg;

    *(page->bytes ? &state->known : &state->unknown) += 1;
    return true;
}

/* Returns whether everything was restored. What was not is as damaged as before. */
static bool restore(struct state *state)
{
    struct rig *rig = &state->rig;
    uint8_t *before = malloc(rig->file.size);

    REQUIRE(before);
    memcpy(before, rig->file.bytes, rig->file.size);
    state->known = state->unknown = 0;
    rig->config.pick = BALE_PICK_NEWEST;
    REQUIRE(rig_open(rig) == BALE_OK);
    CHECK_EQ(bale_container_restore(rig->container, count_lost, state), BALE_OK);
    rig_close(rig);
    rig->config.pick = BALE_PICK_BY_RULES;
    bool all = state->unknown == 0;
    for (size_t i = BALE_DATA_START; i < rig->file.size; i++)
        if (rig->file.bytes[i] != state->whole[i] &&
            (all || rig->file.bytes[i] != before[i] || state->known + state->unknown == 0)) {
            CHECK(rig->file.bytes[i] == state->whole[i]);
            break;
        }
    free(before);
    return all;
}

static void undo(struct state *state)
{
    memcpy(state->rig.file.bytes, state->whole, state->rig.file.size);
}

static void test_single_pages(struct state *state, uint64_t seed)
{
    for (size_t i = 0; i < state->page_count; i++) {
        damage(state, &state->pages[i], (unsigned)(seed + i));
        bool all = restore(state);
        total.pages++;
        total.restored += all;
        CHECK(all || seed % 4 != 0); /* without cuts every page is known */
        if (all && i % 16 == 0) {
            CHECK_EQ(rig_open(&state->rig), BALE_OK);
            rig_matches(&state->rig, true);
            rig_close(&state->rig);
        }
        undo(state);
    }
}

/* With a root slot: the other one serves only if all below it is whole. */
static void test_slot_and_page(struct state *state, uint64_t seed)
{
    struct bale_roots roots;

    REQUIRE(bale_roots_read(state->whole, BALE_DATA_START, &roots) == BALE_OK);
    if (state->page_count == 0 || roots.fallback < 0)
        return;
    size_t other = (size_t)roots.fallback * BALE_ROOT_SIZE;
    damage(state, &state->pages[seed % state->page_count], 1);
    state->rig.file.bytes[other + 50] ^= 1;
    CHECK_EQ(rig_open(&state->rig), BALE_E_CORRUPT);
    rig_close(&state->rig);
    if (restore(state)) {
        CHECK_EQ(rig_open(&state->rig), BALE_OK);
        rig_matches(&state->rig, false);
        rig_close(&state->rig);
    }
    undo(state);
}

static void test_pairs(struct state *state, uint64_t seed)
{
    unsigned left = PAIRS_MOST;

    for (size_t i = 0; i < state->page_count; i++)
        for (size_t j = i + 1; j < state->page_count && left > 0; j += 1 + seed % 3, left--) {
            damage(state, &state->pages[i], (unsigned)(i + j));
            damage(state, &state->pages[j], (unsigned)(i * j));
            total.pairs++;
            total.pairs_restored += restore(state);
            undo(state);
        }
}

int main(void)
{
    for (uint64_t seed = 0; seed < CONTAINERS; seed++) {
        struct state state = {0};

        fill(&state, seed);
        test_single_pages(&state, seed);
        test_slot_and_page(&state, seed);
        test_pairs(&state, seed);
        free(state.whole);
        rig_clear(&state.rig);
    }
    printf("%u pages, %u of them inner: %u restored; %u pairs: %u restored\n", total.pages,
           total.inner, total.restored, total.pairs, total.pairs_restored);
    CHECK(total.inner > 20);
    /* From frames alone, without older pages, come 6 of 10. */
    CHECK(total.restored * 4 > total.pages * 3 && total.pairs_restored > total.pairs / 3);
    return check_result();
}
