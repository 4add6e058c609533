#include "fs/cache/copy_frames.h"

#include <stdlib.h>

#include "format/err.h"
#include "format/hash.h"
#include "fs/cache/committed.h"
#include "fs/cache/evict.h"
#include "fs/container/frame_io.h"
#include "kernels/base/array.h"
#include "kernels/frame/frame.h"

/* The most that one call copies: the caller can be interrupted only between calls. */
#define STORED_MOST ((uint64_t)64 << 20)
#define LOGICAL_MOST ((uint64_t)1 << 30)
#define FRAMES_MOST 8192u

/* Fewer bytes are copied: sharing their blocks costs more time, and splits extents of the backing
 * file. */
#define RUN_LEAST ((uint64_t)64 << 10)

/* The part of the file whose frames are sorted by their position in the container at a time. */
#define WINDOW_MOST 256u
#define WINDOW_BYTES ((uint64_t)64 << 20)

static int add_made(struct bale_copy_frames *frames, const struct bale_segment *segment)
{
    struct bale_segment *made =
        bale_array_grow(frames->made, frames->count, &frames->room, sizeof *made);

    if (!made)
        return BALE_E_NOMEM;
    frames->made = made;
    frames->made[frames->count++] = *segment;
    return BALE_OK;
}

/* Writes a frame with the generation of the transaction. */
static int write_frame(struct bale_copy_frames *frames, uint8_t *stored, struct bale_frame *frame,
                       size_t length)
{
    uint64_t position;

    bale_frame_stamp(stored, frame, frames->generation);
    int err = bale_container_write_frame(frames->to->container, stored, length, &position);
    if (err != BALE_OK)
        return err;
    struct bale_segment made = bale_segment_of_frame(frame, position, (uint32_t)length);
    frames->stored += length;
    return add_made(frames, &made);
}

/* ---- Undecoded ---- */

/* Verifies all checksums of the stored bytes, so that damage is not copied. */
static int check_stored(const uint8_t *stored, const struct bale_frame *frame)
{
    const uint8_t *at = stored + bale_frame_chunks_at(frame);

    if (bale_codec_has_part(frame->codec) &&
        bale_frame_part_check(frame, stored + frame->head_length, NULL) != BALE_OK)
        return BALE_E_CORRUPT;
    for (uint32_t i = 0; i < frame->chunks; i++) {
        struct bale_chunk chunk = bale_frame_chunk(stored, frame, i);
        if (bale_chunk_checksum(frame->codec, at, chunk.stored) != chunk.checksum)
            return BALE_E_CORRUPT;
        at += chunk.stored;
    }
    return BALE_OK;
}

static bool has_moved(struct bale_file *file, const struct bale_segment *segment)
{
    struct bale_segment now;
    int err = bale_container_map(file->container, segment->offset, &now);

    return err == BALE_E_NOENT || (err == BALE_OK && (now.offset != segment->offset ||
                                                      !bale_segment_same_frame(&now, segment)));
}

/* Copies a segment that is a frame of its own. *part: nothing was copied, because the frame has
 * more than the segment shows. BALE_E_STALE: a commit has moved it. */
static int copy_frame(struct bale_copy_frames *frames, const struct bale_segment *segment,
                      bool *part)
{
    struct bale_volume *volume = frames->to->volume;
    struct bale_frame frame;
    bool heap;
    uint8_t *stored = bale_cache_allocate_or_heap(volume, segment->frame_length, &heap);
    int err =
        stored ? bale_container_read_frame(frames->from->container, segment, stored) : BALE_E_NOMEM;

    if (err == BALE_OK)
        err = bale_frame_head_decode(stored, segment->frame_length, &frame);
    *part = err == BALE_OK && frame.raw_length != segment->length;
    if (err == BALE_OK && !*part) {
        err = check_stored(stored, &frame);
        if (err == BALE_E_CORRUPT && has_moved(frames->from, segment))
            err = BALE_E_STALE;
        if (err == BALE_OK)
            err = write_frame(frames, stored, &frame, segment->frame_length);
    }
    bale_cache_free(volume, stored, segment->frame_length, heap);
    return err;
}

/* ---- Sharing blocks ---- */

/* Whether the segment is a whole extent. Then it is also a whole frame, as no frame is longer. */
static bool is_whole(const struct bale_copy_frames *frames, const struct bale_segment *segment)
{
    return !(segment->flags & BALE_SEGMENT_UNWRITTEN) && segment->skip == 0 &&
           segment->length == frames->extent && segment->offset % frames->extent == 0 &&
           segment->offset + segment->length <= frames->end;
}

/* Finds whole extents from the segment on, as many as are sorted at a time. */
static size_t find_window(struct bale_copy_frames *frames, struct bale_segment s,
                          struct bale_segment window[static WINDOW_MOST])
{
    const uint64_t end = s.offset + WINDOW_BYTES;
    size_t count = 0;
    int err = BALE_OK;

    while (err == BALE_OK && count < WINDOW_MOST && is_whole(frames, &s) && s.offset < end) {
        window[count++] = s;
        err = bale_container_map(frames->from->container, s.offset + s.length, &s);
    }
    return count;
}

static int compare_positions(const void *a, const void *b)
{
    const struct bale_segment *x = a, *y = b;

    return (x->position > y->position) - (x->position < y->position);
}

/* Clones frames of whole extents that lie one directly behind the other in the container.
 * BALE_E_NOENT: they must be copied. */
static int clone_run(struct bale_copy_frames *frames, struct bale_segment *run, size_t count)
{
    struct bale_volume *volume = frames->to->volume;
    const struct bale_segment *last = &run[count - 1];
    const uint64_t source = run[0].position;
    uint64_t position;

    if (atomic_load(&volume->cannot_clone) ||
        last->position + last->frame_length - source < RUN_LEAST)
        return BALE_E_NOENT;
    int err =
        bale_container_clone(frames->to->container, frames->from->container, run, count, &position);
    if (err == BALE_E_UNSUPPORTED)
        atomic_store(&volume->cannot_clone, true);
    for (size_t i = 0; i < count && err == BALE_OK; i++)
        err = has_moved(frames->from, &run[i]) ? BALE_E_NOENT : BALE_OK;
    for (size_t i = 0; i < count && err == BALE_OK; i++) {
        run[i].position = position + (run[i].position - source);
        err = add_made(frames, &run[i]);
    }
    return err == BALE_E_UNSUPPORTED ? BALE_E_NOENT : err;
}

/* ---- Encoded again ---- */

static int encode_copy(struct bale_copy_frames *frames, uint64_t from, uint64_t to, uint8_t *raw,
                       struct bale_scratch *scratch)
{
    struct bale_volume *volume = frames->to->volume;
    struct bale_frame frame = {.offset = from,
                               .generation = frames->generation,
                               .raw_length = (uint32_t)(to - from),
                               .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT};
    size_t room = bale_frame_bound(frame.raw_length, frame.chunk_log2), length;
    bool heap;
    uint8_t *stored = bale_cache_allocate_or_heap(volume, room, &heap);
    int err =
        stored ? bale_file_read_committed(frames->from, scratch, from, to, raw) : BALE_E_NOMEM;

    if (err == BALE_OK)
        err = bale_frame_encode(scratch, frames->setting, raw, &frame, stored, &length);
    if (err == BALE_OK) {
        bale_work_add_bytes(&volume->in_place, BALE_ITEM_ENCODE, frame.raw_length);
        err = write_frame(frames, stored, &frame, length);
    }
    bale_cache_free(volume, stored, room, heap);
    return err;
}

/* The first segment with data that ends after offset. BALE_E_NOENT: there is none before end. */
static int next_data(struct bale_file *file, uint64_t offset, uint64_t end,
                     struct bale_segment *segment)
{
    int err = bale_container_map(file->container, offset, segment);

    while (err == BALE_OK && segment->flags & BALE_SEGMENT_UNWRITTEN)
        err = bale_container_map(file->container, segment->offset + segment->length, segment);
    return err == BALE_OK && segment->offset >= end ? BALE_E_NOENT : err;
}

/* Encodes the data of [at, end), a part of one extent: one frame for each run between holes. */
static int encode_extent(struct bale_copy_frames *frames, uint64_t at, uint64_t end,
                         struct bale_scratch *scratch)
{
    struct bale_volume *volume = frames->to->volume;
    size_t room = (size_t)(end - at);
    struct bale_segment s;
    bool heap;
    uint8_t *raw = bale_cache_allocate_or_heap(volume, room, &heap);
    int err = raw ? next_data(frames->from, at, end, &s) : BALE_E_NOMEM;

    while (err == BALE_OK) {
        uint64_t from = s.offset > at ? s.offset : at, to = from;
        while (err == BALE_OK && s.offset <= to && to < end) {
            to = s.offset + s.length < end ? s.offset + s.length : end;
            err = to < end ? next_data(frames->from, to, end, &s) : BALE_E_NOENT;
        }
        int next = err;
        err = next == BALE_OK || next == BALE_E_NOENT ? encode_copy(frames, from, to, raw, scratch)
                                                      : next;
        at = to;
        if (err == BALE_OK)
            err = next;
    }
    bale_cache_free(volume, raw, room, heap);
    return err == BALE_E_NOENT ? BALE_OK : err;
}

/* ---- Extents ---- */

/* Copies [at, end), of one extent, which begins with data. An extent of one whole frame stays
 * encoded; one of several gets a single one. */
static int copy_extent(struct bale_copy_frames *frames, uint64_t at, uint64_t end,
                       struct bale_scratch *scratch)
{
    struct bale_segment first, second;
    bool part = true;
    unsigned moved = 0;
    int err;

    do {
        err = next_data(frames->from, at, end, &first);
        if (err != BALE_OK)
            return err == BALE_E_NOENT ? BALE_OK : err; /* the data that was there is a hole now */
        uint64_t to = first.offset + first.length;
        int more = next_data(frames->from, to, end, &second);
        part = more != BALE_E_NOENT || first.offset < at || to > end || first.skip > 0;
        err = part ? BALE_OK : copy_frame(frames, &first, &part);
    } while (err == BALE_E_STALE && ++moved < BALE_MOVED_TRIES);
    return err == BALE_OK && part ? encode_extent(frames, at, end, scratch) : err;
}

/* Clones or copies whole extents from the segment on, in the order of their frames in the
 * container, which is the order in which the engine has finished them. *end: where they end.
 * BALE_E_NOENT: there are none. */
static int copy_window(struct bale_copy_frames *frames, const struct bale_segment *first,
                       uint64_t *end, struct bale_scratch *scratch)
{
    struct bale_segment window[WINDOW_MOST];
    size_t count = find_window(frames, *first, window), run;
    int err = BALE_OK;

    if (count == 0 || atomic_load(&frames->to->volume->cannot_clone))
        return BALE_E_NOENT;
    *end = window[count - 1].offset + window[count - 1].length;
    qsort(window, count, sizeof *window, compare_positions);
    for (size_t i = 0; i < count && err == BALE_OK; i += run) {
        run = 1;
        while (i + run < count && bale_container_adjoins(&window[i + run - 1], &window[i + run]))
            run++;
        err = clone_run(frames, &window[i], run);
        if (err != BALE_E_NOENT)
            continue;
        err = BALE_OK;
        for (size_t j = i; j < i + run && err == BALE_OK; j++)
            err =
                copy_extent(frames, window[j].offset, window[j].offset + window[j].length, scratch);
    }
    return err;
}

int bale_copy_frames_write(struct bale_copy_frames *frames, struct bale_scratch *scratch)
{
    const uint64_t extent = frames->extent;
    struct bale_segment s;

    while (frames->at < frames->end) {
        int err = next_data(frames->from, frames->at, frames->end, &s);
        if (err == BALE_E_NOENT) {
            frames->at = frames->end;
            break;
        }
        if (err != BALE_OK)
            return err;
        uint64_t at = s.offset - s.offset % extent;
        at = at > frames->at ? at : frames->at;
        uint64_t end = at - at % extent + extent;
        end = end < frames->end ? end : frames->end;
        if (at - frames->offset >= LOGICAL_MOST || frames->stored >= STORED_MOST ||
            frames->count >= FRAMES_MOST) {
            frames->at = at;
            break;
        }
        size_t count = frames->count;
        err = copy_window(frames, &s, &end, scratch);
        if (err == BALE_E_NOENT)
            err = copy_extent(frames, at, end, scratch);
        if (err != BALE_OK) {
            frames->count = count;
            return err;
        }
        frames->at = end;
    }
    return BALE_OK;
}

void bale_copy_frames_clear(struct bale_copy_frames *frames)
{
    free(frames->made);
}
