/* Rewriting one extent for bale_file_recompress. */
#ifndef BALE_FS_CACHE_REWRITE_H
#define BALE_FS_CACHE_REWRITE_H

#include "fs/cache/change.h"

/* A new frame. */
struct bale_rewrite_frame {
    struct bale_frame frame;
    uint8_t *stored;
    size_t room, length;
    bool heap;
};

/* One extent as it was read, and its new frames. */
struct bale_rewrite {
    struct bale_rewrite *next;
    uint64_t start;
    struct bale_segment *segments; /* with data, as they were read */
    size_t count, room;
    struct bale_rewrite_frame *frames; /* one for each run without a hole */
    size_t frame_count;
    uint64_t logical, before, after; /* bytes: raw, of the old frames, of the new ones */
};

/* One call of bale_file_recompress. Owned by its job, then by the change; done is the caller's
 * (file.h). */
struct bale_rewrite_pass {
    struct bale_job job;
    struct bale_file *file; /* counted */
    struct bale_recompress *request;
    struct bale_container_attr attr;
    struct bale_setting setting;
    bool explicit;
    struct bale_rewrite *first, **last;
    uint64_t encoded; /* raw bytes, so far */
    bale_file_done *done;
    void *arg;
};

/* Reads the extent at rewrite->start (the rest of rewrite is zero) and encodes it if that may be of
 * use. *keep: the new frames are to be stored. On a thread that may block, no lock held; the file
 * may change meanwhile. Errors: BALE_E_NOMEM, or of reading. */
int bale_rewrite_encode(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite, bool *keep,
                        struct bale_scratch *scratch);

/* Whether the container still has the segments that were read. */
bool bale_rewrite_is_unchanged(struct bale_file *file, uint32_t extent,
                               const struct bale_rewrite *rewrite);

/* Frees rewrite with its segments and frames; pass: where their memory came from. */
void bale_rewrite_free(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite);

/* ---- recompress.c ---------------------------------------------------------------------------- */

/* Commits, as the running change, what was encoded for it. Sets change->error. On a pool thread, no
 * lock held. */
void bale_recompress_store(struct bale_change *change);

#endif
