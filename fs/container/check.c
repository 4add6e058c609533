/* Checking everything that the newest root on disk refers to. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/container/claims.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"
#include "kernels/frame/frame.h"

struct check {
    struct bale_container *container;
    struct bale_scratch *scratch; /* NULL: structure only */
    struct bale_claims claims;
    struct bale_frame_set frames;
    uint64_t stored;
    bool new_frame;  /* the present segment is the first of its frame */
    bool incomplete; /* part of the index could not be read */
    int result;
    void (*report)(void *arg, const struct bale_fault *fault);
    void *arg;
};

static void report_fault(struct check *check, const struct bale_fault *fault)
{
    check->result = BALE_E_CORRUPT;
    check->report(check->arg, fault);
}

static int check_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct check *check = arg;
    uint64_t offset = !page               ? 0
                      : page->height == 1 ? page->segments[0].offset
                                          : page->children[0].first;

    return bale_claims_add(&check->claims, ref->position, ref->length, offset);
}

/* Names a damaged part of the index: a page, or in the direct form the head of the only frame. */
static const char *name_damage(const struct bale_bad_ref *bad, int err)
{
    static const char *const names[][3] = {
        [BALE_BAD_SETTINGS] = {"settings page", "settings page: cannot be read",
                               "settings page: of a newer version"},
        [BALE_BAD_PAGE] = {"index page", "index page: cannot be read",
                           "index page: of a newer version"},
        [BALE_BAD_HEAD] = {"frame head", "frame head: cannot be read",
                           "frame head: of a newer version"},
    };

    return names[bad->what][err == BALE_E_IO ? 1 : err == BALE_E_UNSUPPORTED ? 2 : 0];
}

static int check_bad(void *arg, int err, const struct bale_bad_ref *bad, uint64_t first,
                     uint64_t upper)
{
    struct check *check = arg;
    const struct bale_root *root = &check->container->root;
    const struct bale_fault fault = {
        .offset = first,
        .length = upper < root->size ? upper - first : root->size - first,
        .position = bad->ref.position,
        .what = name_damage(bad, err),
    };

    check->incomplete = true;
    report_fault(check, &fault);
    return BALE_OK;
}

static void report_frame_fault(void *arg, const struct bale_fault *fault)
{
    struct check *check = arg;

    /* If the segment has no byte of the chunk, report the chunk once, with the first segment of its
     * frame. */
    if (fault->length > 0 || check->new_frame)
        report_fault(check, fault);
}

/* Decodes a frame whose stored bytes are valid. */
static int check_raw(struct check *check, const struct bale_segment *segment)
{
    struct bale_fault fault = {.offset = segment->offset,
                               .length = segment->length,
                               .position = segment->position,
                               .what = "raw data"};
    struct bale_frame_head head;
    uint8_t *raw = NULL;
    int err;

    err = bale_frame_head_read(check->container->io, segment->position, segment->frame_length,
                               segment->frame_length, &head, &fault);
    if (err == BALE_OK) {
        raw = malloc(head.frame.raw_length);
        err = raw ? bale_frame_decode(check->scratch, head.data, head.length, raw,
                                      head.frame.raw_length, NULL)
                  : BALE_E_NOMEM;
    }
    if (err == BALE_E_CORRUPT)
        report_fault(check, &fault);
    free(raw);
    free(head.data);
    return err;
}

/* BALE_E_CORRUPT: the fault was reported. */
static int check_frame(struct check *check, const struct bale_segment *segment)
{
    struct bale_container *c = check->container;
    int err = bale_frame_verify(c->io, segment, c->root.extent, report_frame_fault, check);

    if (err == BALE_E_UNSUPPORTED)
        return BALE_E_CORRUPT;
    return err == BALE_OK ? check_raw(check, segment) : err;
}

/* Checks each frame once, but a bad one for each of its segments, because each is another part of
 * the file. */
static int check_data(struct check *check, const struct bale_segment *segment)
{
    bool *bad = &check->frames.frames[check->frames.last].marked;
    int err;

    if (!check->scratch || (!check->new_frame && !*bad))
        return BALE_OK;
    err = check_frame(check, segment);
    *bad = err == BALE_E_CORRUPT;
    return *bad ? BALE_OK : err;
}

static int check_segment(void *arg, const struct bale_segment *segment)
{
    struct check *check = arg;
    const struct bale_fault fault = {.offset = segment->offset,
                                     .length = segment->length,
                                     .position = segment->position,
                                     .what = "segments of one frame that differ"};
    int err = BALE_OK;
    int added;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0)
        return BALE_OK;
    added = bale_frame_set_add(&check->frames, segment);
    if (added == BALE_E_CORRUPT) {
        report_fault(check, &fault);
        return BALE_OK;
    }
    if (added < 0)
        return added;
    check->new_frame = added == 1;
    if (check->new_frame) {
        check->stored += segment->frame_length;
        err = bale_claims_add(&check->claims, segment->position, segment->frame_length,
                              segment->offset);
    }
    return err == BALE_OK ? check_data(check, segment) : err;
}

static void check_overlaps(struct check *check)
{
    const struct bale_claim *claim;

    bale_claims_sort(&check->claims);
    for (size_t i = 0; (claim = bale_claims_overlap(&check->claims, &i)) != NULL; i++) {
        const struct bale_fault fault = {
            .offset = claim[1].offset,
            .position = claim[1].position,
            .what = "overlap",
            .expected = claim->position + claim->length,
            .found = claim[1].position,
        };

        report_fault(check, &fault);
    }
}

/* Reports a root slot that is neither a root nor zeros; the container was opened with the other. */
static int check_slots(struct check *check)
{
    struct bale_io *io = check->container->io;
    struct bale_fault fault = {.what = "root slot (the other one is used)"};
    uint8_t head[BALE_DATA_START];
    struct bale_roots roots;
    size_t length;
    int err = io->ops->read(io, head, sizeof head, 0, &length);

    if (err != BALE_OK)
        return err;
    (void)bale_roots_read(head, length, &roots);
    if (roots.damaged) {
        fault.position = roots.newest == 0 ? BALE_ROOT_SIZE : 0;
        report_fault(check, &fault);
    }
    return BALE_OK;
}

static int check_root(struct check *check)
{
    struct bale_container *c = check->container;
    const struct bale_index_visitor visitor = {
        .arg = check, .page = check_page, .segment = check_segment, .bad = check_bad};
    const struct bale_fault fault = {.length = c->root.size, .what = "stored bytes in the root"};
    int err;

    bale_frame_set_init(&check->frames, c->root.extent);
    err = bale_index_visit_root(c->io, &c->root, &visitor);
    if (err == BALE_OK && !check->incomplete) {
        check_overlaps(check);
        if (check->stored != c->root.stored) {
            struct bale_fault sum = fault;

            sum.expected = c->root.stored;
            sum.found = check->stored;
            report_fault(check, &sum);
        }
    }
    bale_claims_clear(&check->claims);
    bale_frame_set_clear(&check->frames);
    return err;
}

/* ---- A lost part of the index ---------------------------------------------------------------- */

struct lost {
    uint64_t offset;
    uint64_t first;
    uint64_t end;
};

static int find_lost(void *arg, int err, const struct bale_bad_ref *bad, uint64_t first,
                     uint64_t upper)
{
    struct lost *lost = arg;

    (void)err;
    (void)bad;
    if (upper <= lost->offset)
        return BALE_OK;
    lost->first = first;
    lost->end = upper;
    return 1;
}

bool bale_container_lost(struct bale_container *c, uint64_t offset, uint64_t *first, uint64_t *end)
{
    struct lost lost = {.offset = offset};
    const struct bale_index_visitor visitor = {.arg = &lost, .bad = find_lost};

    bale_container_lock_writer(c);
    (void)bale_index_visit_root(c->io, &c->root, &visitor);
    bale_container_unlock_writer(c);
    *first = lost.first;
    *end = lost.end < c->root.size ? lost.end : c->root.size;
    return lost.end > 0;
}

int bale_container_check(struct bale_container *c, struct bale_scratch *scratch, bool data,
                         void (*report)(void *arg, const struct bale_fault *fault), void *arg)
{
    struct check check = {
        .container = c, .scratch = data ? scratch : NULL, .report = report, .arg = arg};
    int err = BALE_OK;

    bale_container_lock_writer(c);
    err = check_slots(&check);
    if (c->root.generation > 0 && err == BALE_OK)
        err = check_root(&check);
    bale_container_unlock_writer(c);
    return err == BALE_OK ? check.result : err;
}
