/* Which frames of an extent have been met: segments come in order of offsets, and all segments of a
 * frame lie in one extent, so that no more than an extent's frames are ever kept. */
#ifndef BALE_FS_CONTAINER_FRAME_SET_H
#define BALE_FS_CONTAINER_FRAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/page.h"

struct bale_frame_entry {
    struct bale_segment segment; /* one of the frame's */
    bool marked;                 /* the caller's */
};

struct bale_frame_set {
    struct bale_frame_entry *frames;
    size_t last; /* index of the frame of the segment that was added last */
    size_t count;
    size_t capacity;
    uint64_t number; /* of the extent */
    uint32_t extent; /* its size */
};

void bale_frame_set_init(struct bale_frame_set *set, uint32_t extent);
void bale_frame_set_clear(struct bale_frame_set *set);

/* Returns 1 if the segment's frame is new, 0 if it was met before, BALE_E_CORRUPT if it was met and
 * the two segments do not agree on it, BALE_E_NOMEM. The segment is not unwritten. */
int bale_frame_set_add(struct bale_frame_set *set, const struct bale_segment *segment);

#endif
