#include "fs/cache/rewrite.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/committed.h"
#include "fs/cache/evict.h"
#include "fs/container/frame_io.h"
#include "fs/container/frame_set.h"
#include "kernels/base/array.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/setting.h"

/* ---- Memory ---- */

/* Nothing waits for this work: it uses the heap only if the caller insists. */
static void *allocate_rewrite(struct bale_rewrite_pass *pass, size_t size, bool *heap)
{
    struct bale_volume *volume = pass->file->volume;

    *heap = false;
    return pass->request->insist ? bale_cache_allocate_or_heap(volume, size, heap)
                                 : bale_cache_allocate(volume, size, NULL);
}

void bale_rewrite_free(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite)
{
    for (size_t i = 0; i < rewrite->frame_count; i++) {
        struct bale_rewrite_frame *frame = &rewrite->frames[i];
        bale_cache_free(pass->file->volume, frame->stored, frame->room, frame->heap);
    }
    free(rewrite->frames);
    free(rewrite->segments);
    free(rewrite);
}

/* ---- The old frames ---- */

static int add_segment(struct bale_rewrite *rewrite, const struct bale_segment *segment)
{
    struct bale_segment *segments =
        bale_array_grow(rewrite->segments, rewrite->count, &rewrite->room, sizeof *segments);

    if (!segments)
        return BALE_E_NOMEM;
    rewrite->segments = segments;
    rewrite->segments[rewrite->count++] = *segment;
    return BALE_OK;
}

/* Collects the segments with data of the extent at rewrite->start. */
static int collect_segments(struct bale_file *file, uint32_t extent, struct bale_rewrite *rewrite)
{
    uint64_t end = rewrite->start + extent;
    struct bale_segment s;
    int err = BALE_OK;

    for (uint64_t at = rewrite->start; at < end && err == BALE_OK; at = s.offset + s.length) {
        err = bale_container_map(file->container, at, &s);
        if (err == BALE_OK && s.offset >= end)
            break;
        if (err == BALE_OK && !(s.flags & BALE_SEGMENT_UNWRITTEN))
            err = add_segment(rewrite, &s);
    }
    return err == BALE_E_NOENT ? BALE_OK : err;
}

static int sum_frames(uint32_t extent, struct bale_rewrite *rewrite)
{
    struct bale_frame_set frames;
    int is_new = 0;

    bale_frame_set_init(&frames, extent);
    for (size_t i = 0; i < rewrite->count && is_new >= 0; i++) {
        is_new = bale_frame_set_add(&frames, &rewrite->segments[i]);
        rewrite->before += is_new > 0 ? rewrite->segments[i].frame_length : 0;
        rewrite->logical += rewrite->segments[i].length;
    }
    bale_frame_set_clear(&frames);
    return is_new < 0 ? is_new : BALE_OK;
}

/* Whether the extent is exactly one frame; *old gets its head. */
static bool one_frame(struct bale_file *file, const struct bale_rewrite *rewrite,
                      struct bale_frame *old)
{
    const struct bale_segment *segment = rewrite->segments;
    struct bale_frame_head head;

    if (rewrite->count != 1)
        return false;
    int err = bale_frame_head_read(bale_container_io(file->container), segment->position,
                                   segment->frame_length, 0, &head, NULL);
    bool one = err == BALE_OK &&
               bale_frame_head_match(&head.frame, segment, segment->length, NULL) == BALE_OK &&
               head.frame.raw_length == segment->length;
    *old = head.frame;
    free(head.data);
    return one;
}

static bool is_stored_as(const struct bale_frame *old, struct bale_setting setting)
{
    /* The head does not say whether a frame was made with this field. */
    return old->codec == BALE_CODEC_ZERO ||
           (old->codec == setting.codec && (int16_t)old->parameter == setting.parameter &&
            setting.field.type == BALE_FIELD_NONE);
}

/* ---- Encoding ---- */

/* The length of the run without holes that begins with segment i. */
static uint32_t contiguous_length(const struct bale_rewrite *rewrite, size_t i)
{
    uint64_t from = rewrite->segments[i].offset, to = from;

    for (; i < rewrite->count && rewrite->segments[i].offset == to; i++)
        to += rewrite->segments[i].length;
    return (uint32_t)(to - from);
}

static int encode_rewrite(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite,
                          uint64_t offset, const uint8_t *raw, uint32_t length,
                          struct bale_scratch *scratch)
{
    struct bale_rewrite_frame *made = &rewrite->frames[rewrite->frame_count++];

    *made = (struct bale_rewrite_frame){
        .frame = {.offset = offset, .raw_length = length, .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT}};
    made->room = bale_frame_bound(length, BALE_CHUNK_LOG2_DEFAULT);
    made->stored = allocate_rewrite(pass, made->room, &made->heap);
    if (!made->stored)
        return BALE_E_NOMEM;
    int err =
        bale_frame_encode(scratch, pass->setting, raw, &made->frame, made->stored, &made->length);
    rewrite->after += made->length;
    if (err == BALE_OK)
        bale_work_add_bytes(&pass->file->volume->in_place, BALE_ITEM_ENCODE, length);
    return err;
}

static int encode_all(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite, uint8_t *raw,
                      const struct bale_frame *old, struct bale_scratch *scratch)
{
    uint32_t length;
    int err = BALE_OK;

    rewrite->frames = calloc(rewrite->count, sizeof *rewrite->frames);
    if (!rewrite->frames)
        return BALE_E_NOMEM;
    for (size_t i = 0; i < rewrite->count && err == BALE_OK;) {
        uint64_t from = rewrite->segments[i].offset;
        length = contiguous_length(rewrite, i);
        err = bale_file_read_committed(pass->file, scratch, from, from + length, raw);
        if (err == BALE_OK && old &&
            is_stored_as(old, bale_setting_choose(scratch, pass->setting, raw, length,
                                                  BALE_CHUNK_LOG2_DEFAULT)))
            return BALE_OK;
        if (err == BALE_OK)
            err = encode_rewrite(pass, rewrite, from, raw, length, scratch);
        while (i < rewrite->count && rewrite->segments[i].offset < from + length)
            i++;
    }
    pass->encoded += rewrite->logical;
    return err;
}

/* Whether the new frames are better than the old ones. old: the old frame if there is only one, or
 * NULL. */
static bool is_better(const struct bale_rewrite_pass *pass, const struct bale_rewrite *rewrite,
                      const struct bale_frame *old)
{
    if (rewrite->frame_count == 0)
        return false;
    if (rewrite->after < rewrite->before || !pass->explicit)
        return rewrite->after < rewrite->before;
    const struct bale_frame *first = &rewrite->frames[0].frame;
    bool same = !old || old->parameter == first->parameter;
    for (size_t i = 0; i < rewrite->count && same; i++)
        same = rewrite->segments[i].codec == first->codec;
    return !same;
}

int bale_rewrite_encode(struct bale_rewrite_pass *pass, struct bale_rewrite *rewrite, bool *keep,
                        struct bale_scratch *scratch)
{
    struct bale_file *file = pass->file;
    struct bale_frame head, *old = NULL;
    bool heap;

    *keep = false;
    int err = collect_segments(file, pass->attr.extent, rewrite);
    if (err == BALE_OK)
        err = sum_frames(pass->attr.extent, rewrite);
    if (err != BALE_OK || rewrite->count == 0)
        return err;
    pass->request->extents++;
    old = one_frame(file, rewrite, &head) ? &head : NULL;
    if (old && is_stored_as(old, pass->setting))
        return BALE_OK;
    uint8_t *raw = allocate_rewrite(pass, pass->attr.extent, &heap);
    err = raw ? encode_all(pass, rewrite, raw, old, scratch) : BALE_E_NOMEM;
    bale_cache_free(pass->file->volume, raw, pass->attr.extent, heap);
    *keep = err == BALE_OK && is_better(pass, rewrite, old);
    return err;
}

bool bale_rewrite_is_unchanged(struct bale_file *file, uint32_t extent,
                               const struct bale_rewrite *rewrite)
{
    struct bale_rewrite now = {.start = rewrite->start};
    bool same = collect_segments(file, extent, &now) == BALE_OK && now.count == rewrite->count;

    for (size_t i = 0; i < now.count && same; i++) {
        const struct bale_segment *a = &now.segments[i], *b = &rewrite->segments[i];
        same = a->offset == b->offset && a->length == b->length && a->skip == b->skip &&
               bale_segment_same_frame(a, b);
    }
    free(now.segments);
    return same;
}
