#include "fs/container/frame_set.h"

#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/array.h"

void bale_frame_set_init(struct bale_frame_set *set, uint32_t extent)
{
    *set = (struct bale_frame_set){.extent = extent};
}

void bale_frame_set_clear(struct bale_frame_set *set)
{
    free(set->frames);
    bale_frame_set_init(set, set->extent);
}

int bale_frame_set_add(struct bale_frame_set *set, const struct bale_segment *segment)
{
    uint64_t number = segment->offset / set->extent;

    if (number != set->number) {
        set->number = number;
        set->count = 0;
    }
    /* From the end: most often it is the frame of the segment before. */
    for (size_t i = set->count; i-- > 0;) {
        if (set->frames[i].segment.position == segment->position) {
            set->last = i;
            return bale_segment_same_frame(&set->frames[i].segment, segment) ? 0 : BALE_E_CORRUPT;
        }
    }
    struct bale_frame_entry *grown =
        bale_array_grow(set->frames, set->count, &set->capacity, sizeof *grown);
    if (!grown)
        return BALE_E_NOMEM;
    set->frames = grown;
    set->last = set->count++;
    set->frames[set->last] = (struct bale_frame_entry){.segment = *segment};
    return 1;
}
