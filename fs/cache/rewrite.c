#include "fs/cache/rewrite.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"

/* ---- Memory ---- */

/* Nothing waits for this work: it takes from the heap what the cache cannot spare only if it must
 * go on. */
static void *take(struct bale_renewals *all, size_t size, bool *heap)
{
    struct bale_volume *volume = all->file->volume;
    void *block = bale_volume_take(volume, size, NULL);

    *heap = !block && all->what->insist;
    if (*heap && (block = malloc(size)))
        bale_memory_count(volume->memory, (int64_t)size);
    return block;
}

static void give(struct bale_renewals *all, void *block, size_t size, bool heap)
{
    struct bale_memory *memory = all->file->volume->memory;

    if (block && heap) {
        free(block);
        bale_memory_count(memory, -(int64_t)size);
    } else {
        bale_memory_free(memory, block, size);
    }
}

void bale_renewal_free(struct bale_renewals *all, struct bale_renewal *renewal)
{
    for (size_t i = 0; i < renewal->frame_count; i++) {
        struct bale_renewed *frame = &renewal->frames[i];
        give(all, frame->stored, frame->room, frame->heap);
    }
    free(renewal->frames);
    free(renewal->segments);
    free(renewal);
}

/* ---- What there is ---- */

static int add_segment(struct bale_renewal *renewal, const struct bale_segment *segment)
{
    if ((renewal->count & (renewal->count - 1)) == 0) {
        size_t room = renewal->count ? renewal->count * 2 : 1;
        struct bale_segment *more = realloc(renewal->segments, room * sizeof *more);
        if (!more)
            return BALE_E_NOMEM;
        renewal->segments = more;
    }
    renewal->segments[renewal->count++] = *segment;
    return BALE_OK;
}

/* The segments with data of the extent at renewal->start. */
static int collect(struct bale_file *file, uint32_t extent, struct bale_renewal *renewal)
{
    uint64_t end = renewal->start + extent;
    struct bale_segment s;
    int err = BALE_OK;

    for (uint64_t at = renewal->start; at < end && err == BALE_OK; at = s.offset + s.length) {
        err = bale_container_map(file->container, at, &s);
        if (err == BALE_OK && s.offset >= end)
            break;
        if (err == BALE_OK && !(s.flags & BALE_SEGMENT_UNWRITTEN))
            err = add_segment(renewal, &s);
    }
    return err == BALE_E_NOENT ? BALE_OK : err;
}

static int sum_frames(uint32_t extent, struct bale_renewal *renewal)
{
    struct bale_frame_set frames;
    int is_new = 0;

    bale_frame_set_init(&frames, extent);
    for (size_t i = 0; i < renewal->count && is_new >= 0; i++) {
        is_new = bale_frame_set_add(&frames, &renewal->segments[i]);
        renewal->before += is_new > 0 ? renewal->segments[i].frame_length : 0;
        renewal->logical += renewal->segments[i].length;
    }
    bale_frame_set_clear(&frames);
    return is_new < 0 ? is_new : BALE_OK;
}

/* Whether the extent is one frame and no more; old gets its head. */
static bool one_frame(struct bale_file *file, const struct bale_renewal *renewal,
                      struct bale_frame *old)
{
    const struct bale_segment *segment = renewal->segments;
    struct bale_frame_head head;

    if (renewal->count != 1)
        return false;
    int err = bale_frame_head_read(bale_container_io(file->container), segment->position,
                                   segment->frame_length, 0, &head, NULL);
    bool one = err == BALE_OK && bale_frame_head_match(&head.frame, segment, NULL) == BALE_OK &&
               head.frame.raw_length == segment->length;
    *old = head.frame;
    free(head.data);
    return one;
}

static bool is_stored_as(const struct bale_frame *old, struct bale_setting setting)
{
    return old->codec == BALE_CODEC_ZERO ||
           (old->codec == setting.codec && (int16_t)old->parameter == setting.parameter);
}

/* ---- Encoding ---- */

/* A stretch without holes, from segment i on. Returns its length. */
static uint32_t stretch(const struct bale_renewal *renewal, size_t i)
{
    uint64_t from = renewal->segments[i].offset, to = from;

    for (; i < renewal->count && renewal->segments[i].offset == to; i++)
        to += renewal->segments[i].length;
    return (uint32_t)(to - from);
}

static int encode(struct bale_renewals *all, struct bale_renewal *renewal, uint64_t offset,
                  const uint8_t *raw, uint32_t length, struct bale_scratch *scratch)
{
    struct bale_renewed *new = &renewal->frames[renewal->frame_count++];

    *new = (struct bale_renewed){
        .frame = {.offset = offset, .raw_length = length, .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT}};
    new->room = bale_frame_bound(length, BALE_CHUNK_LOG2_DEFAULT);
    new->stored = take(all, new->room, &new->heap);
    if (!new->stored)
        return BALE_E_NOMEM;
    int err = bale_frame_encode(scratch, all->setting, raw, &new->frame, new->stored, &new->length);
    renewal->after += new->length;
    if (err == BALE_OK)
        bale_work_add_bytes(&all->file->volume->in_place, BALE_ITEM_ENCODE, length);
    return err;
}

static int encode_all(struct bale_renewals *all, struct bale_renewal *renewal, uint8_t *raw,
                      const struct bale_frame *old, struct bale_scratch *scratch)
{
    uint32_t length;
    int err = BALE_OK;

    renewal->frames = calloc(renewal->count, sizeof *renewal->frames);
    if (!renewal->frames)
        return BALE_E_NOMEM;
    for (size_t i = 0; i < renewal->count && err == BALE_OK;) {
        uint64_t from = renewal->segments[i].offset;
        length = stretch(renewal, i);
        err = bale_file_read_committed(all->file, scratch, from, from + length, raw);
        if (err == BALE_OK && old &&
            is_stored_as(old, bale_auto_choose(scratch, all->setting, raw, length)))
            return BALE_OK;
        if (err == BALE_OK)
            err = encode(all, renewal, from, raw, length, scratch);
        while (i < renewal->count && renewal->segments[i].offset < from + length)
            i++;
    }
    all->encoded += renewal->logical;
    return err;
}

/* Whether the new frames are better than the old. old: the only one, or NULL. */
static bool is_better(const struct bale_renewals *all, const struct bale_renewal *renewal,
                      const struct bale_frame *old)
{
    if (renewal->frame_count == 0)
        return false;
    if (renewal->after < renewal->before || !all->explicit)
        return renewal->after < renewal->before;
    const struct bale_frame *first = &renewal->frames[0].frame;
    bool same = !old || old->parameter == first->parameter;
    for (size_t i = 0; i < renewal->count && same; i++)
        same = renewal->segments[i].codec == first->codec;
    return !same;
}

int bale_renewal_make(struct bale_renewals *all, struct bale_renewal *renewal, bool *keep,
                      struct bale_scratch *scratch)
{
    struct bale_file *file = all->file;
    struct bale_frame head, *old = NULL;
    bool heap;

    *keep = false;
    int err = collect(file, all->attr.extent, renewal);
    if (err == BALE_OK)
        err = sum_frames(all->attr.extent, renewal);
    if (err != BALE_OK || renewal->count == 0)
        return err;
    all->what->extents++;
    old = one_frame(file, renewal, &head) ? &head : NULL;
    if (old && is_stored_as(old, all->setting))
        return BALE_OK;
    uint8_t *raw = take(all, all->attr.extent, &heap);
    err = raw ? encode_all(all, renewal, raw, old, scratch) : BALE_E_NOMEM;
    give(all, raw, all->attr.extent, heap);
    *keep = err == BALE_OK && is_better(all, renewal, old);
    return err;
}

bool bale_renewal_is_unchanged(struct bale_file *file, uint32_t extent,
                               const struct bale_renewal *renewal)
{
    struct bale_renewal now = {.start = renewal->start};
    bool same = collect(file, extent, &now) == BALE_OK && now.count == renewal->count;

    for (size_t i = 0; i < now.count && same; i++) {
        const struct bale_segment *a = &now.segments[i], *b = &renewal->segments[i];
        same = a->offset == b->offset && a->length == b->length && a->skip == b->skip &&
               a->position == b->position && a->generation == b->generation &&
               a->checksum == b->checksum;
    }
    free(now.segments);
    return same;
}
