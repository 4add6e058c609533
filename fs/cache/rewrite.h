/* Inside of bale_file_recompress: one extent, and what shall become of it. Shared by recompress.c and
 * rewrite.c. */
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

/* One extent, as it was read and as it shall be. */
struct bale_rewrite {
    struct bale_rewrite *next;
    uint64_t start;
    struct bale_segment *segments; /* with data */
    size_t count;
    struct bale_rewrite_frame *frames; /* one for each stretch without a hole */
    size_t frame_count;
    uint64_t logical, before, after;
};

/* A call of bale_file_recompress. */
struct bale_rewrite_pass {
    struct bale_job job;
    struct bale_file *file; /* counted */
    struct bale_recompress *request;
    struct bale_container_attr attr;
    struct bale_setting setting;
    bool explicit;
    struct bale_rewrite *first, **last;
    uint64_t encoded; /* raw bytes */
    bale_file_done *done;
    void *arg;
};

/* Looks at the extent at rewrite->start (else zeroed) and encodes it, if that may be of use. *keep:
 * it is to be stored anew. On a thread that may block, without a lock; the file may change
 * meanwhile. Errors: BALE_E_NOMEM, or of reading. */
int bale_rewrite_encode(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite, bool *keep,
                        struct bale_scratch *scratch);

/* Whether the container has the same segments there as when it was looked at. */
bool bale_rewrite_is_unchanged(struct bale_file *file, uint32_t extent,
                               const struct bale_rewrite *rewrite);

void bale_rewrite_free(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite);

/* ---- recompress.c ---------------------------------------------------------------------------- */

/* Commits, as the running change, what was encoded for it. Sets change->error. On a pool thread, no
 * lock held. */
void bale_recompress_store(struct bale_change *change);

#endif
