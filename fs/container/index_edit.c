#include <assert.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/index_node.h"

static bool is_unwritten(const struct bale_segment *segment)
{
    return (segment->flags & BALE_SEGMENT_UNWRITTEN) != 0;
}

/* Whether a segment still refers to the frame of this one. All segments of a frame lie between its
 * first byte and the end of its extent. */
static bool is_in_use(struct bale_index *index, const struct bale_segment *segment)
{
    uint64_t first = segment->offset - segment->skip;
    uint64_t end = (first / index->ctx.extent + 1) * index->ctx.extent;
    struct bale_cursor cursor;
    int err = bale_cursor_seek(index, first, false, &cursor);

    while (err == BALE_OK && bale_cursor_segment(&cursor)->offset < end) {
        if (bale_cursor_segment(&cursor)->position == segment->position)
            return true;
        err = bale_cursor_next(index, false, &cursor);
    }
    return false;
}

/* A segment was removed: releases its frame unless another segment uses it. keep: the position of a
 * frame that the next segment will use, or 0. */
static void release_frame(struct bale_index *index, const struct bale_segment *segment,
                          uint64_t keep)
{
    if (is_unwritten(segment)) {
        index->unwritten -= segment->length;
        return;
    }
    index->gave_up = true;
    if (segment->position == keep || is_in_use(index, segment))
        return;
    index->stored -= segment->frame_length;
    bale_index_note_release(index, segment->position, segment->frame_length, segment->generation);
}

/* The part of a segment from offset on. */
static struct bale_segment tail_of(const struct bale_segment *segment, uint64_t offset)
{
    struct bale_segment tail = *segment;
    uint32_t cut = (uint32_t)(offset - segment->offset);

    tail.offset = offset;
    tail.length -= cut;
    if (!is_unwritten(segment))
        tail.skip += cut;
    return tail;
}

/* Whether one of the segments refers to the frame at position. */
static bool has_frame(const struct bale_segment *segments, unsigned count, uint64_t position)
{
    for (unsigned i = 0; i < count; i++)
        if (segments[i].position == position)
            return true;
    return false;
}

/* Removes the segments of the cursor's leaf, from the cursor's on, that end at or below end. */
static void cut_whole(struct bale_index *index, struct bale_cursor *cursor, uint64_t end,
                      uint64_t keep)
{
    const struct bale_page *leaf = &cursor->at[cursor->depth - 1].node->page;
    unsigned slot = cursor->at[cursor->depth - 1].slot;
    struct bale_segment removed[BALE_PAGE_LEAF_RECORDS];
    unsigned count = 0;

    while (slot + count < leaf->count && bale_segment_end(&leaf->segments[slot + count]) <= end) {
        removed[count] = leaf->segments[slot + count];
        count++;
    }
    bale_cursor_remove(index, cursor, count);
    /* The last removed segment of a frame releases it. */
    for (unsigned i = 0; i < count; i++)
        if (is_unwritten(&removed[i]) ||
            !has_frame(removed + i + 1, count - i - 1, removed[i].position))
            release_frame(index, &removed[i], keep);
}

static void cut_range(struct bale_index *index, uint64_t offset, uint64_t end, uint64_t keep)
{
    struct bale_cursor cursor;

    while (bale_cursor_seek(index, offset, false, &cursor) == BALE_OK) {
        struct bale_segment *segment = bale_cursor_segment(&cursor);
        uint64_t segment_end = bale_segment_end(segment);
        uint64_t from = segment->offset > offset ? segment->offset : offset;
        uint64_t to = segment_end < end ? segment_end : end;
        struct bale_segment tail;

        if (segment->offset >= end)
            break;
        if (segment->offset >= offset && segment_end <= end) {
            cut_whole(index, &cursor, end, keep);
            continue;
        }
        if (is_unwritten(segment))
            index->unwritten -= to - from;
        else
            index->gave_up = true;
        bale_cursor_dirty(index, &cursor);
        tail = tail_of(segment, to);
        if (segment->offset < offset)
            segment->length = (uint32_t)(offset - segment->offset);
        if (segment_end <= end)
            continue;
        if (segment->offset < offset) {
            cursor.at[cursor.depth - 1].slot++;
            bale_cursor_insert(index, &cursor, &tail);
        } else {
            *segment = tail;
            if (cursor.at[cursor.depth - 1].slot == 0)
                bale_cursor_fix_first(&cursor, cursor.depth - 1);
        }
        break;
    }
}

int bale_index_cut(struct bale_index *index, uint64_t offset, uint64_t end)
{
    int err = bale_index_reserve(index);

    assert(index->loaded);
    if (err == BALE_OK)
        cut_range(index, offset, end, 0);
    return err;
}

/* Whether [offset, end) covers all segments. */
static bool covers_all(const struct bale_index *index, uint64_t offset, uint64_t end)
{
    return !index->top ||
           (bale_index_key(index->top, 0) >= offset && bale_index_covered(index) <= end);
}

/* Makes leaf the only page of an empty index. */
static void make_first_leaf(struct bale_index *index, struct bale_index_node *leaf,
                            const struct bale_segment *segment)
{
    leaf->page.segments[0] = *segment;
    leaf->page.count = 1;
    leaf->dirty = true;
    index->top = leaf;
    index->changed = true;
}

int bale_index_put(struct bale_index *index, const struct bale_segment *segment, bool new_frame)
{
    uint64_t end = bale_segment_end(segment);
    struct bale_index_node *leaf = NULL;
    struct bale_cursor cursor;
    int err = bale_index_reserve(index);

    assert(index->loaded);
    if (err != BALE_OK)
        return err;
    if (covers_all(index, segment->offset, end)) {
        leaf = bale_index_node_create(index, 1);
        if (!leaf)
            return BALE_E_NOMEM;
    }
    cut_range(index, segment->offset, end, segment->position);
    if (leaf) {
        make_first_leaf(index, leaf, segment);
    } else {
        bale_cursor_seek_insert(index, segment->offset, &cursor);
        bale_cursor_insert(index, &cursor, segment);
    }
    if (is_unwritten(segment))
        index->unwritten += segment->length;
    else if (new_frame)
        index->stored += segment->frame_length;
    return BALE_OK;
}
