/* Is what a root refers to on disk? (FORMAT.md section 8, rule 4) */
#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"

struct verify {
    struct bale_io *io;
    struct bale_frame_set frames;
    uint64_t above;
};

static int verify_segment(void *arg, const struct bale_segment *segment)
{
    struct verify *v = arg;
    int fresh;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0 || segment->generation <= v->above)
        return BALE_OK;
    fresh = bale_frame_set_add(&v->frames, segment);
    return fresh == 1 ? bale_frame_verify(v->io, segment, NULL, NULL) : fresh;
}

int bale_root_verify(struct bale_io *io, const struct bale_root *root, uint64_t above)
{
    struct verify v = {.io = io, .above = above};
    const struct bale_index_visitor visitor = {
        .arg = &v, .above = above, .segment = verify_segment};
    struct bale_index index;
    int err;

    bale_frame_set_init(&v.frames, root->extent);
    bale_index_init(&index, io, root, root->extent);
    err = bale_index_visit(&index, &visitor);
    bale_index_clear(&index);
    bale_frame_set_clear(&v.frames);
    return err;
}
