/* Verifying that everything a root refers to is on disk (FORMAT.md section 8, rules 4 and 5). */
#include "format/err.h"
#include "fs/container/evidence.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"

/* Ends a visit of the index: a write is missing, and nothing else matters then. */
#define MISSING 1

struct verify {
    struct bale_io *io;
    const struct bale_root *root;
    struct bale_frame_set frames;
    uint64_t above; /* segments of this generation or less are skipped */
    bool evidence;  /* go on after a fault until a missing write is found */
    bool damaged;
};

/* The result for a structure that is corrupt. */
static int fault(struct verify *v, int err, bool missing)
{
    if (err != BALE_OK)
        return err;
    v->damaged = true;
    return missing ? MISSING : BALE_OK;
}

static int frame_fault(struct verify *v, const struct bale_segment *segment)
{
    const struct bale_evidence_frame frame = {
        .ref = {.position = segment->position,
                .checksum = segment->checksum,
                .length = segment->frame_length},
        .offset = segment->offset - segment->skip,
        .generation_least = segment->generation,
        .generation_most = segment->generation,
    };
    bool missing = false;
    int err;

    if (!v->evidence)
        return BALE_E_CORRUPT;
    err = bale_evidence_frame(v->io, &frame, &missing);
    return fault(v, err, missing);
}

static int verify_segment(void *arg, const struct bale_segment *segment)
{
    struct verify *v = arg;
    int result;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0 || segment->generation <= v->above)
        return BALE_OK;
    result = bale_frame_set_add(&v->frames, segment);
    if (result == BALE_E_CORRUPT && v->evidence) /* the page is wrong, and whole */
        return fault(v, BALE_OK, false);
    if (result == 1)
        result = bale_frame_verify(v->io, segment, v->root->extent, NULL, NULL);
    return result == BALE_E_CORRUPT ? frame_fault(v, segment) : result;
}

/* A page is corrupt, or the head of a direct root's frame. */
static int verify_bad(void *arg, int err, const struct bale_bad_ref *bad, uint64_t first,
                      uint64_t upper)
{
    struct verify *v = arg;
    const struct bale_evidence_frame frame = {
        .ref = bad->ref, .generation_least = 1, .generation_most = v->root->generation};
    bool missing = false;

    (void)first;
    (void)upper;
    if (err != BALE_E_CORRUPT || !v->evidence)
        return err;
    if (bad->what == BALE_BAD_HEAD)
        err = bale_evidence_frame(v->io, &frame, &missing);
    else
        err = bale_evidence_page(v->io, &bad->ref, v->root->container_id, &missing);
    return fault(v, err, missing);
}

int bale_root_verify(struct bale_io *io, const struct bale_root *root, uint64_t above,
                     bool *missing)
{
    struct verify v = {.io = io, .root = root, .above = above, .evidence = missing};
    const struct bale_index_visitor visitor = {
        .arg = &v, .above = above, .segment = verify_segment, .bad = verify_bad};
    int result;

    bale_frame_set_init(&v.frames, root->extent);
    result = bale_index_visit_root(io, root, &visitor);
    bale_frame_set_clear(&v.frames);
    if (missing)
        *missing = result == MISSING;
    if (result < 0)
        return result;
    return v.damaged ? BALE_E_CORRUPT : BALE_OK;
}
