/* Every page and root of containers is damaged in turn and in pairs, and repaired.
 *
 *     repair_pages_test [CONTAINERS]     200 if none are given
 *
 * A repair brings nothing back that was overwritten, punched or cut off: what can be read
 * afterwards is what the commit that serves has. With salvage everything can be read that a whole
 * frame has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/index.h"
#include "tests/check.h"
#include "tests/support/rig_repair.h"

enum { CONTAINERS = 200, EXTENT = 16384, SIZE_MOST = 300000, PARTS_MOST = 400, COMMITS = 100 };
/* In a third of the containers, which have an index of several pages. */
enum { COMMITS_MANY = 600, PIECE_SMALL = 400 };

/* What a container held at a commit. */
struct commit {
    uint64_t generation;
    uint64_t size;
    uint8_t *data;
    bool *live; /* bytes that a frame has, not holes */
};

struct state {
    struct rig rig;
    struct memory_file whole; /* undamaged */
    struct bale_roots roots;
    struct commit commits[2]; /* of the slots */
    struct commit recent[16]; /* the last ones, by number */
    unsigned number;
    bool ties;                         /* a commit may have two frames for one place */
    struct bale_ref parts[PARTS_MOST]; /* what is damaged: the slots, then pages */
    size_t count;
    uint8_t *data;
    bool *lost;
};

static struct {
    unsigned cases, whole, partly, refused, salvaged, interrupted, pages;
} total;

/* ---- The containers -------------------------------------------------------------------------- */

static int add_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct state *state = arg;

    (void)page;
    for (size_t i = 0; i < state->count; i++)
        if (state->parts[i].position == ref->position)
            return 0;
    REQUIRE(state->count < PARTS_MOST);
    state->parts[state->count++] = *ref;
    return 0;
}

static int add_live(void *arg, const struct bale_segment *segment)
{
    struct commit *commit = arg;

    for (uint64_t i = 0; i < segment->length && !segment->flags; i++)
        commit->live[segment->offset + i] = true;
    return 0;
}

/* Finds the pages of both roots, and what the roots had. */
static void find_parts(struct state *state)
{
    const struct bale_index_visitor pages = {.arg = state, .page = add_page};
    struct bale_io *io = memory_io_open(&state->rig.file);

    REQUIRE(bale_roots_read(state->rig.file.bytes, BALE_DATA_START, &state->roots) == BALE_OK);
    for (int i = 0; i < 2; i++) {
        const struct bale_root *root = &state->roots.root[i];
        struct commit *commit = &state->commits[i];
        const struct bale_index_visitor live = {.arg = commit, .segment = add_live};

        state->parts[state->count++] =
            (struct bale_ref){.position = (uint64_t)i * BALE_ROOT_SIZE, .length = BALE_ROOT_SIZE};
        if (i == state->roots.newest) /* also if it only confirms the last commit */
            *commit = state->recent[(state->number - 1) % 16];
        for (size_t j = 0; j < 16; j++)
            if (state->recent[j].data && state->recent[j].generation == root->generation)
                *commit = state->recent[j];
        commit->live = calloc(SIZE_MOST, sizeof *commit->live);
        if (i == state->roots.newest || state->roots.fallback == i)
            (void)bale_index_visit_root(io, root, &live);
    }
    (void)bale_index_visit_root(io, &state->roots.root[state->roots.newest], &pages);
    io->ops->close(io);
}

static void note_commit(struct state *state)
{
    struct commit *commit = &state->recent[state->number++ % 16];

    if (!commit->data)
        commit->data = malloc(SIZE_MOST);
    REQUIRE(commit->data);
    memcpy(commit->data, state->rig.model, SIZE_MOST);
    commit->generation = rig_attr(&state->rig).generation;
    commit->size = state->rig.size;
}

static void fill(struct state *state, uint64_t seed)
{
    struct rig *rig = &state->rig;
    const bool many = seed % 3 == 0;

    rig_init(rig, seed, EXTENT, SIZE_MOST);
    rig->certain_below = 1000;
    rig->zeros_empty = false;
    rig->piece = many ? PIECE_SMALL : 30000;
    state->ties = seed % 4 == 3;
    REQUIRE(rig_open(rig) == BALE_OK);
    for (int i = 0; i < (many ? COMMITS_MANY : COMMITS); i++) {
        CHECK_EQ(rig_begin(rig), BALE_OK);
        for (int j = 0; j < (state->ties ? 3 : 1); j++)
            if (seed % 4 == 0)
                CHECK_EQ(rig_write(rig, rig_random(rig, SIZE_MOST - 50000),
                                   1 + rig_random(rig, rig->piece)),
                         BALE_OK);
            else
                CHECK_EQ(rig_change(rig), BALE_OK);
        rig_commit(rig, i % 8 == 0);
        note_commit(state);
    }
    /* In half of them the last root is confirmed: the other slot says the same. */
    if (seed % 2 == 0)
        rig_die(rig);
    rig_close(rig);
    memory_file_write(&state->whole, rig->file.bytes, rig->file.size, 0);
    state->data = malloc(SIZE_MOST);
    state->lost = malloc(SIZE_MOST * sizeof *state->lost);
    REQUIRE(state->data && state->lost);
    find_parts(state);
}

static void clear(struct state *state)
{
    for (size_t i = 0; i < 16; i++)
        free(state->recent[i].data);
    free(state->commits[0].live);
    free(state->commits[1].live);
    free(state->data);
    free(state->lost);
    memory_file_clear(&state->whole);
    rig_clear(&state->rig);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

static void damage(struct state *state, size_t part, unsigned how)
{
    const struct bale_ref *ref = &state->parts[part];
    uint8_t *bytes = state->rig.file.bytes + ref->position;

    if (how % 2)
        memset(bytes, 0, ref->length);
    else
        bytes[10 + how % (ref->length - 10)] ^= 0x10;
}

static void undo(struct state *state)
{
    memory_file_resize(&state->rig.file, 0);
    memory_file_write(&state->rig.file, state->whole.bytes, state->whole.size, 0);
}

/* ---- After a repair -------------------------------------------------------------------------- */

/* Opens the container and compares what can be read with the commit: all of it, or only what was
 * live. Returns the number of bytes that cannot be read, or SIZE_MAX if it does not open. */
static size_t compare(struct state *state, const struct commit *commit, bool live, bool salvaged)
{
    struct rig *rig = &state->rig;
    size_t lost = 0;
    uint64_t size;

    if (rig_open(rig) != BALE_OK)
        return SIZE_MAX;
    CHECK_EQ(rig_read_around(rig, state->data, state->lost, &size), BALE_OK);
    for (size_t i = 0; i < SIZE_MOST && commit->data; i++) {
        lost += state->lost[i];
        if (live && !commit->live[i])
            continue;
        if (salvaged ? state->lost[i] || state->data[i] != commit->data[i]
                     : !state->lost[i] && state->data[i] != commit->data[i]) {
            fprintf(stderr, "byte %zu: lost %d, %02x for %02x\n", i, state->lost[i], state->data[i],
                    commit->data[i]);
            CHECK(false);
            break;
        }
    }
    rig_close(rig);
    return lost;
}

/* The commit of the greatest slot that is neither first nor second; NULL: both slots are
 * damaged. */
static const struct commit *serving(const struct state *state, size_t first, size_t second)
{
    size_t newest = (size_t)state->roots.newest, older = 1 - newest;

    if (first != newest && second != newest)
        return &state->commits[newest];
    return first != older && second != older && state->roots.fallback >= 0 ? &state->commits[older]
                                                                           : NULL;
}

/* What was lost can be written. */
static void write_again(struct state *state)
{
    struct rig *rig = &state->rig;
    uint64_t size;

    if (!CHECK_EQ(rig_open(rig), BALE_OK))
        return;
    rig->size = rig_attr(rig).size;
    CHECK_EQ(rig_begin(rig), BALE_OK);
    CHECK_EQ(rig_write(rig, 0, SIZE_MOST), BALE_OK);
    rig_commit(rig, true);
    rig_close(rig);
    CHECK_EQ(rig_open(rig), BALE_OK);
    CHECK_EQ(rig_read(rig, state->data, &size), BALE_OK);
    CHECK_EQ_MEM(state->data, rig->model, SIZE_MOST);
    rig_close(rig);
}

static void test_salvage(struct state *state, const struct commit *commit)
{
    struct bale_repair repair = {.salvage = true, .settle = true};
    int err = rig_repair(&state->rig, BALE_PICK_BY_RULES, &repair);

    if (!commit)
        commit = &state->commits[state->roots.newest]; /* as it has all frames */
    total.salvaged += repair.salvaged.ranges > 0;
    if (!memchr(commit->live, true, SIZE_MOST)) /* then both slots are nothing to go by */
        return;
    CHECK(err == BALE_OK || err == BALE_E_NOENT);
    size_t lost = state->ties ? 0 : compare(state, commit, true, true);
    CHECK(lost != SIZE_MAX);
    if (total.cases % 8 == 0)
        write_again(state);
}

/* The salvage is ended at each of its changes, as by a kill or a full disk; the next one finds all
 * that the first would have. */
static void test_interrupted(struct state *state, const struct commit *commit)
{
    struct rig *rig = &state->rig;
    struct memory_file damaged = {.fail_after = -1};
    bool done = false;

    memory_file_write(&damaged, rig->file.bytes, rig->file.size, 0);
    for (long n = 0; n < 40 && !done; n++) {
        struct bale_repair repair = {.salvage = true}, again = {.salvage = true};
        memory_file_resize(&rig->file, 0);
        memory_file_write(&rig->file, damaged.bytes, damaged.size, 0);
        rig->file.fail_kinds = MEMORY_CHANGES;
        rig->file.fail_after = n;
        rig->file.fail_error = n % 2 ? BALE_E_NOSPACE : BALE_E_IO;
        done = rig_repair(rig, BALE_PICK_BY_RULES, &repair) == BALE_OK;
        rig->file.fail_after = -1;
        int err = rig_repair(rig, BALE_PICK_BY_RULES, &again);
        CHECK(err == BALE_OK || err == BALE_E_NOENT);
        CHECK(compare(state, commit, true, true) != SIZE_MAX);
        total.interrupted++;
    }
    memory_file_resize(&rig->file, 0);
    memory_file_write(&rig->file, damaged.bytes, damaged.size, 0);
    memory_file_clear(&damaged);
}

/* first, second: what is damaged; the same if it is one part. */
static void test_damage(struct state *state, size_t first, size_t second, unsigned how)
{
    const struct commit *commit = serving(state, first, second);
    struct bale_repair repair = {.settle = false};
    unsigned failed = (unsigned)check_failures;

    damage(state, first, how);
    if (first != second)
        damage(state, second, how / 2);
    (void)rig_repair(&state->rig, BALE_PICK_BY_RULES, &repair);
    size_t lost = commit ? compare(state, commit, false, false) : SIZE_MAX;
    total.cases++;
    total.whole += lost == 0;
    total.partly += lost > 0 && lost < SIZE_MAX;
    total.refused += lost == SIZE_MAX;
    if (lost > 0 && commit && !state->ties && memchr(commit->live, true, SIZE_MOST) &&
        total.partly % 4 == 1)
        test_interrupted(state, commit);
    test_salvage(state, commit);
    if (failed != (unsigned)check_failures)
        fprintf(stderr, "... parts %zu and %zu of %zu, how %u\n", first, second, state->count, how);
    undo(state);
}

int main(int argc, char **argv)
{
    uint64_t containers = argc > 1 ? strtoull(argv[1], NULL, 10) : CONTAINERS;

    for (uint64_t seed = 0; seed < containers && check_failures < 20; seed++) {
        struct state state = {0};
        unsigned failed = (unsigned)check_failures;

        fill(&state, seed);
        total.pages = state.count - 2 > total.pages ? (unsigned)state.count - 2 : total.pages;
        for (size_t i = 0; i < state.count; i++)
            for (size_t j = i; j < state.count; j++)
                test_damage(&state, i, j, (unsigned)(seed + i * 7 + j));
        if (failed != (unsigned)check_failures)
            fprintf(stderr, "... container %" PRIu64 "\n", seed);
        clear(&state);
    }
    printf("%u cases, in up to %u pages: %u whole after a repair, %u in part, %u not to be opened; "
           "%u salvaged, %u interrupted\n",
           total.cases, total.pages, total.whole, total.partly, total.refused, total.salvaged,
           total.interrupted);
    CHECK(total.whole > total.cases / 3 && total.salvaged > 0 && total.pages > 4);
    return check_result();
}
