#include "fs/container/frame_set.h"

#include <stdlib.h>

#include "format/err.h"

void bale_frame_set_init(struct bale_frame_set *set, uint32_t extent)
{
    *set = (struct bale_frame_set){.extent = extent};
}

void bale_frame_set_clear(struct bale_frame_set *set)
{
    free(set->frames);
    bale_frame_set_init(set, set->extent);
}

static bool agree(const struct bale_segment *a, const struct bale_segment *b)
{
    return a->frame_length == b->frame_length && a->generation == b->generation &&
           a->checksum == b->checksum && a->codec == b->codec && a->chunk_log2 == b->chunk_log2 &&
           a->offset - a->skip == b->offset - b->skip;
}

int bale_frame_set_add(struct bale_frame_set *set, const struct bale_segment *segment)
{
    uint64_t number = segment->offset / set->extent;

    if (number != set->number) {
        set->number = number;
        set->count = 0;
    }
    /* The frame of the segment before is the likeliest. */
    for (size_t i = set->count; i-- > 0;) {
        if (set->frames[i].segment.position == segment->position) {
            set->met = i;
            return agree(&set->frames[i].segment, segment) ? 0 : BALE_E_CORRUPT;
        }
    }
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 16;
        struct bale_frame_entry *frames = realloc(set->frames, capacity * sizeof *frames);

        if (!frames)
            return BALE_E_NOMEM;
        set->frames = frames;
        set->capacity = capacity;
    }
    set->met = set->count++;
    set->frames[set->met] = (struct bale_frame_entry){.segment = *segment};
    return 1;
}
