/* What frames and old pages in a container say about a range of its file. They are put into an
 * index in the order of their generations, as the commits once did. A frame says that it was
 * written over its range. A leaf says more, because it knows what was cut: its range had these
 * segments and no others. What was cut off after the last page that is left is not known. */
#ifndef BALE_FS_CONTAINER_HISTORY_H
#define BALE_FS_CONTAINER_HISTORY_H

#include "fs/container/candidates.h"
#include "fs/container/index.h"

struct bale_history_event {
    uint64_t generation;
    const struct bale_segment *frame;
    const struct bale_candidate_page *page; /* NULL: it is a frame */
};

struct bale_history {
    struct bale_io *io;
    const struct bale_page_context *ctx;
    const struct bale_candidates *candidates; /* outlive the history */
    bool known;     /* of a page's segments, only those of frames among the candidates count */
    uint64_t first; /* the range */
    uint64_t end;
    struct bale_history_event *events; /* oldest first; a frame before a page that can have it */
    size_t count;
};

/* Takes the candidates up to this generation that concern [first, end). BALE_E_NOMEM. */
int bale_history_take(struct bale_history *history, struct bale_io *io,
                      const struct bale_page_context *ctx, const struct bale_candidates *candidates,
                      uint64_t first, uint64_t end, uint64_t generation);
void bale_history_clear(struct bale_history *history);

/* Which events a replay leaves out. */
struct bale_history_without {
    size_t a, b; /* SIZE_MAX: none */
    bool pages;  /* all pages */
};

/* Puts the events into an index that is loaded. Its sum of stored bytes, and the list of what it
 * released, mean nothing afterwards. BALE_E_NOMEM, an error of reading a page. */
int bale_history_replay(const struct bale_history *history, struct bale_index *index,
                        const struct bale_history_without *without);

#endif
