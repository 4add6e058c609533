/* Frames and pages that lie in a container, found by their bytes and not by the index: those that
 * the root refers to, and older ones in free space. */
#ifndef BALE_FS_CONTAINER_CANDIDATES_H
#define BALE_FS_CONTAINER_CANDIDATES_H

#include <stddef.h>
#include <stdint.h>

#include "format/page.h"
#include "fs/container/io.h"

struct bale_candidate_page {
    struct bale_ref ref;
    uint64_t generation;
    uint64_t container_id;
    uint64_t first; /* of the offsets below */
    uint64_t last;
    uint8_t height;
};

struct bale_candidates {
    /* Each whole, as far as it lies within the file's size; by position. */
    struct bale_segment *frames;
    size_t frame_count, frame_room;
    struct bale_candidate_page *pages;
    size_t page_count, page_room;
};

/* Finds every frame whose head is whole, and every page, that ctx allows; what a page refers to may
 * lie behind ctx's size and end, because it may have been cut off since. ctx's container id 0:
 * pages may have any. What lies inside a frame whose stored bytes are all right is data of that
 * frame, as in a container that is stored raw: it is left out. Errors of reading, BALE_E_NOMEM. */
int bale_candidates_find(struct bale_io *io, const struct bale_page_context *ctx,
                         struct bale_candidates *out);

/* Reads a page of any generation up to ctx's. Errors as bale_page_decode and of reading. */
int bale_candidates_read_page(struct bale_io *io, const struct bale_page_context *ctx,
                              const struct bale_ref *ref, struct bale_page *page);

/* The frame at position; NULL: there is none. */
const struct bale_segment *bale_candidates_at(const struct bale_candidates *candidates,
                                              uint64_t position);

/* Frees the lists. */
void bale_candidates_clear(struct bale_candidates *candidates);

#endif
