/* The frames of the current extent, for walks that handle each frame once. Segments come in order
 * of offsets, and all segments of a frame lie in one extent, so that the set never has more than
 * the frames of one extent. */
#ifndef BALE_FS_CONTAINER_FRAME_SET_H
#define BALE_FS_CONTAINER_FRAME_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/page.h"

struct bale_frame_entry {
    struct bale_segment segment; /* the first that referred to the frame */
    bool marked;                 /* the caller's */
    uint32_t reach;              /* the caller's */
};

struct bale_frame_set {
    struct bale_frame_entry *frames;
    size_t last; /* index of the frame of the segment that was added last */
    size_t count;
    size_t capacity;
    uint64_t number; /* of the extent */
    uint32_t extent; /* its size */
};

/* extent: the extent size, bytes. clear frees the set, which is empty then. */
void bale_frame_set_init(struct bale_frame_set *set, uint32_t extent);
void bale_frame_set_clear(struct bale_frame_set *set);

/* Adds the frame of a segment, which is not an unwritten one. Returns 1 if the frame is new, 0 if
 * it is in the set already, BALE_E_CORRUPT if it is and the two segments do not agree about it, or
 * BALE_E_NOMEM. */
int bale_frame_set_add(struct bale_frame_set *set, const struct bale_segment *segment);

#endif
