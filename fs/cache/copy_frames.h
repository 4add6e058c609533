/* Writing the frames of a copy into the target's container. */
#ifndef BALE_FS_CACHE_COPY_FRAMES_H
#define BALE_FS_CACHE_COPY_FRAMES_H

#include "fs/cache/file_state.h"

struct bale_scratch;

/* The caller sets the members before `made`, and sets `at` to `offset`. */
struct bale_copy_frames {
    struct bale_file *from, *to;
    struct bale_setting setting; /* of both files, like extent */
    uint32_t extent;
    uint64_t generation; /* of the target's open transaction */
    uint64_t offset, end;
    uint64_t at;               /* how far the copy has come: the end of an extent, or end */
    struct bale_segment *made; /* the frames that were written, to be put */
    size_t count, room;
    uint64_t stored;        /* their bytes */
    uint64_t greatest_step; /* of the source, for copy.c */
};

/* Copies until end, or until much has been done. Errors of reading the source, of which
 * BALE_E_CORRUPT and BALE_E_UNSUPPORTED are of the source alone; BALE_E_NOMEM; those of writing. On
 * a thread that may block, no lock held. */
int bale_copy_frames_write(struct bale_copy_frames *frames, struct bale_scratch *scratch);
void bale_copy_frames_clear(struct bale_copy_frames *frames);

#endif
