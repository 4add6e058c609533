/* Verifying that everything a root refers to is on disk (FORMAT.md section 8, rule 4). */
#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"

struct verify {
    struct bale_io *io;
    struct bale_frame_set frames;
    uint64_t above; /* segments of this generation or less are skipped */
};

static int verify_segment(void *arg, const struct bale_segment *segment)
{
    struct verify *v = arg;
    int added;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0 || segment->generation <= v->above)
        return BALE_OK;
    added = bale_frame_set_add(&v->frames, segment);
    return added == 1 ? bale_frame_verify(v->io, segment, NULL, NULL) : added;
}

int bale_root_verify(struct bale_io *io, const struct bale_root *root, uint64_t above)
{
    struct verify v = {.io = io, .above = above};
    const struct bale_index_visitor visitor = {
        .arg = &v, .above = above, .segment = verify_segment};
    int err;

    bale_frame_set_init(&v.frames, root->extent);
    err = bale_index_visit_root(io, root, &visitor);
    bale_frame_set_clear(&v.frames);
    return err;
}
