/* Checks and statistics: both look at what is on disk, from the newest root on. */
#include <stdlib.h>
#include <string.h>

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
    bool fresh;      /* the segment at hand is its frame's first */
    bool incomplete; /* part of the index is unknown */
    int result;
    void (*report)(void *arg, const struct bale_fault *fault);
    void *arg;
};

static void tell(struct check *check, const struct bale_fault *fault)
{
    check->result = BALE_E_CORRUPT;
    check->report(check->arg, fault);
}

static int check_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct check *check = arg;
    uint64_t offset = page->height == 1 ? page->segments[0].offset : page->children[0].first;

    return bale_claims_add(&check->claims, ref->position, ref->length, offset);
}

/* Of the index, or the head of the only frame, which then stands for it. */
static const char *what_is_bad(const struct bale_root *root, int err)
{
    bool direct = root->height == BALE_HEIGHT_DIRECT;

    if (err == BALE_E_IO)
        return direct ? "frame head: cannot be read" : "index page: cannot be read";
    if (err == BALE_E_UNSUPPORTED)
        return direct ? "frame head: of a newer version" : "index page: of a newer version";
    return direct ? "frame head" : "index page";
}

static int check_bad(void *arg, int err, const struct bale_ref *ref, uint64_t first, uint64_t upper)
{
    struct check *check = arg;
    const struct bale_root *root = &check->container->root;
    const struct bale_fault fault = {
        .offset = first,
        .length = upper < root->size ? upper - first : root->size - first,
        .position = ref->position,
        .what = what_is_bad(root, err),
    };

    check->incomplete = true;
    tell(check, &fault);
    return BALE_OK;
}

static void tell_frame(void *arg, const struct bale_fault *fault)
{
    struct check *check = arg;

    /* A chunk none of whose bytes the segment has is told of once, with the frame's first segment.
     */
    if (fault->length > 0 || check->fresh)
        tell(check, fault);
}

/* Decodes a frame whose stored bytes are right. */
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
        tell(check, &fault);
    free(raw);
    free(head.data);
    return err;
}

/* BALE_E_CORRUPT: it was told of. */
static int check_frame(struct check *check, const struct bale_segment *segment)
{
    int err = bale_frame_verify(check->container->io, segment, tell_frame, check);

    if (err == BALE_E_UNSUPPORTED)
        return BALE_E_CORRUPT;
    return err == BALE_OK ? check_raw(check, segment) : err;
}

/* Looks at each frame once; at a bad one for each of its segments, as each is another part of the
 * file. */
static int check_data(struct check *check, const struct bale_segment *segment)
{
    bool *bad = &check->frames.frames[check->frames.last].marked;
    int err;

    if (!check->scratch || (!check->fresh && !*bad))
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
    int fresh;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0)
        return BALE_OK;
    fresh = bale_frame_set_add(&check->frames, segment);
    if (fresh == BALE_E_CORRUPT) {
        tell(check, &fault);
        return BALE_OK;
    }
    if (fresh < 0)
        return fresh;
    check->fresh = fresh == 1;
    if (check->fresh) {
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

        tell(check, &fault);
    }
}

/* A root slot that is neither a root nor zeros: the other one served. */
static int check_slots(struct check *check)
{
    struct bale_io *io = check->container->io;
    struct bale_fault fault = {.what = "root slot (the other one serves)"};
    uint8_t head[BALE_DATA_START];
    struct bale_roots roots;
    size_t length;
    int err = io->ops->read(io, head, sizeof head, 0, &length);

    if (err != BALE_OK)
        return err;
    if (bale_roots_read(head, length, &roots) != BALE_OK || roots.damaged) {
        fault.position = roots.newest == 0 ? BALE_ROOT_SIZE : 0;
        tell(check, &fault);
    }
    return BALE_OK;
}

static int check_root(struct check *check)
{
    struct bale_container *c = check->container;
    const struct bale_index_visitor visitor = {
        .arg = check, .page = check_page, .segment = check_segment, .bad = check_bad};
    const struct bale_fault fault = {.length = c->root.size, .what = "stored bytes in the root"};
    struct bale_index index;
    int err;

    bale_frame_set_init(&check->frames, c->root.extent);
    bale_index_init(&index, c->io, &c->root, c->root.extent);
    err = bale_index_visit(&index, &visitor);
    bale_index_clear(&index);
    if (err == BALE_OK && !check->incomplete) {
        check_overlaps(check);
        if (check->stored != c->root.stored) {
            struct bale_fault sum = fault;

            sum.expected = c->root.stored;
            sum.found = check->stored;
            tell(check, &sum);
        }
    }
    bale_claims_clear(&check->claims);
    bale_frame_set_clear(&check->frames);
    return err;
}

int bale_container_check(struct bale_container *c, struct bale_scratch *scratch, bool data,
                         void (*report)(void *arg, const struct bale_fault *fault), void *arg)
{
    struct check check = {
        .container = c, .scratch = data ? scratch : NULL, .report = report, .arg = arg};
    int err = BALE_OK;

    bale_container_lock_writer(c);
    if (c->root.generation > 0)
        err = check_slots(&check);
    if (c->root.generation > 0 && err == BALE_OK)
        err = check_root(&check);
    bale_container_unlock_writer(c);
    return err == BALE_OK ? check.result : err;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

struct count {
    struct bale_container_usage *usage;
    struct bale_frame_set frames;
    uint64_t stored;
};

static int count_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct count *count = arg;

    (void)page;
    count->usage->pages++;
    count->usage->page_bytes += ref->length;
    return BALE_OK;
}

static int count_segment(void *arg, const struct bale_segment *segment)
{
    struct count *count = arg;
    struct bale_container_usage *usage = count->usage;
    int fresh;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0) {
        usage->unwritten += segment->length;
        return BALE_OK;
    }
    usage->logical[segment->codec] += segment->length;
    fresh = bale_frame_set_add(&count->frames, segment);
    if (fresh != 1)
        return fresh;
    usage->extents[segment->codec]++;
    usage->stored[segment->codec] += segment->frame_length;
    count->stored += segment->frame_length;
    return BALE_OK;
}

static int count_root(struct bale_container *c, struct count *count)
{
    const struct bale_index_visitor visitor = {
        .arg = count, .page = count_page, .segment = count_segment};
    struct bale_index index;
    int err;

    bale_frame_set_init(&count->frames, c->root.extent);
    bale_index_init(&index, c->io, &c->root, c->root.extent);
    err = bale_index_visit(&index, &visitor);
    bale_index_clear(&index);
    bale_frame_set_clear(&count->frames);
    return err;
}

int bale_container_usage(struct bale_container *c, struct bale_container_usage *usage)
{
    struct count count = {.usage = usage};
    uint64_t used;
    int err = BALE_OK;

    memset(usage, 0, sizeof *usage);
    bale_container_lock_writer(c);
    if (c->root.generation > 0) {
        err = count_root(c, &count);
        usage->height = c->root.height;
        usage->deferred = bale_container_deferred_bytes(c);
        used = count.stored + usage->page_bytes + usage->deferred;
        if (used < c->root.end - BALE_DATA_START)
            usage->free = c->root.end - BALE_DATA_START - used;
    }
    bale_container_unlock_writer(c);
    return err;
}
