/* One flush of a file: dirty extents -> frames -> container -> commit. fs/README.md tells the life of a dirty extent.
 *
 * Small flushes are encoded in place by the thread that runs them; large ones go through the queue to the engine, and
 * each frame is written by the pool as it comes back. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/file_internal.h"
#include "fs/queue.h"

/* Flushes of at most this many raw bytes that somebody waits for do not go through the queue. */
#define INLINE_BYTES ((uint64_t)256 << 10)

/* A dirty extent as it was when the flush began. */
struct part {
    struct bale_extent *extent; /* stays in the table: it is flushing */
    struct bale_buffer *buffer; /* counted; unchanged while shared */
    uint64_t number;
    uint64_t valid, dirty;
};

/* One frame to be made. */
struct piece {
    struct bale_queue_item item;
    struct flush *flush;
    uint8_t *assembled; /* raw bytes of its own, or NULL: they lie in a part's buffer */
    uint64_t position;
};

struct flush {
    struct bale_turn *turn;
    void (*then)(struct bale_turn *turn, struct bale_scratch *scratch);
    struct part *parts;
    size_t part_count;
    struct piece *pieces;
    size_t piece_count, piece_room;
    uint64_t size; /* of the file as it will be committed */
    struct timespec mtime;
    uint64_t generation;
    atomic_size_t left;
    atomic_int error;
};

static bool wholly_dirty(const struct bale_file *file, const struct bale_extent *extent)
{
    return extent->dirty == bale_blocks(file, 0, file->extent);
}

/* For a stream: the committed size ends where the first extent that stays dirty begins, so that a commit never shows
 * zeros where data was written. Under file->lock. */
static uint64_t stream_size(struct bale_file *file, uint64_t committed)
{
    uint64_t size = file->size;
    for (struct bale_extent *e = file->dirty_first; e; e = e->dirty_next) {
        uint64_t start = e->number * file->extent;
        uint64_t end = start + file->extent;
        if (!wholly_dirty(file, e) && end > committed && start < size) {
            size = start > committed ? start : committed;
        }
    }
    return size;
}

static bool selected(struct flush *flush, const struct bale_extent *extent)
{
    struct bale_file *file = flush->turn->file;
    return flush->turn->kind != BALE_TURN_FLUSH_STREAM ||
           (wholly_dirty(file, extent) && (extent->number + 1) * file->extent <= flush->size);
}

/* Takes the dirty extents. Under file->lock, which waiting for copies in progress drops. */
static int snapshot(struct flush *flush)
{
    struct bale_file *file = flush->turn->file;
    struct bale_container_attr attr;
    bale_container_attr(file->container, &attr);
    size_t count;
    struct bale_extent *e;
again:
    count = 0;
    flush->size = flush->turn->kind == BALE_TURN_FLUSH_STREAM ? stream_size(file, attr.size)
                                                              : file->size;
    for (e = file->dirty_first; e; e = e->dirty_next) {
        if (e->filling && selected(flush, e)) {
            pthread_cond_wait(&file->filled, &file->lock);
            goto again;
        }
        count += selected(flush, e);
    }
    flush->parts = calloc(count ? count : 1, sizeof *flush->parts);
    if (!flush->parts) {
        return BALE_E_NOMEM;
    }
    struct bale_extent *next;
    for (e = file->dirty_first; e; e = next) {
        next = e->dirty_next;
        if (selected(flush, e)) {
            flush->parts[flush->part_count++] =
                (struct part){e, e->buffer, e->number, e->valid, e->dirty};
            bale_buffer_ref(e->buffer);
            bale_extent_start_flush(e);
        }
    }
    flush->mtime = file->mtime;
    return BALE_OK;
}

/* ---- Which frames ---- */

static struct piece *add_piece(struct flush *flush, uint64_t offset, uint32_t length, uint8_t *raw)
{
    if (flush->piece_count == flush->piece_room) {
        size_t room = flush->piece_room ? flush->piece_room * 2 : flush->part_count;
        struct piece *pieces = realloc(flush->pieces, room * sizeof *pieces);
        if (!pieces) {
            return NULL;
        }
        flush->pieces = pieces;
        flush->piece_room = room;
    }
    struct piece *piece = &flush->pieces[flush->piece_count++];
    *piece = (struct piece){.flush = flush};
    piece->item.item.raw = raw;
    piece->item.item.frame.offset = offset;
    piece->item.item.frame.raw_length = length;
    piece->item.item.frame.chunk_log2 = BALE_CHUNK_LOG2_DEFAULT;
    piece->item.item.frame.generation = flush->generation;
    return piece;
}

/* How many of the extent's blocks would still come from its largest frame if the dirty ones were stored beside it. */
static unsigned base_blocks(struct flush *flush, const struct part *part)
{
    struct bale_file *file = flush->turn->file;
    uint64_t start = part->number * file->extent, end = start + file->extent;
    struct { uint64_t position; uint64_t blocks; } frames[BALE_BLOCKS];
    unsigned count = 0, best = 0;
    struct bale_segment s;
    for (uint64_t at = start; at < end; at = s.offset + s.length) {
        if (bale_container_map(file->container, at, &s) != BALE_OK || s.offset >= end) {
            break;
        }
        if (s.flags & BALE_SEGMENT_UNWRITTEN) {
            continue;
        }
        uint64_t from = s.offset > start ? s.offset - start : 0;
        unsigned i = 0;
        while (i < count && frames[i].position != s.position) {
            i++;
        }
        if (i == BALE_BLOCKS) {
            return 0;
        }
        if (i == count) {
            frames[count].position = s.position;
            frames[count++].blocks = 0;
        }
        frames[i].blocks |= bale_blocks(file, from, s.offset + s.length - start);
        unsigned blocks = (unsigned)__builtin_popcountll(frames[i].blocks & ~part->dirty);
        best = blocks > best ? blocks : best;
    }
    return best;
}

/* Whether to store the extent anew or only what is dirty beside what is there. An fsync wants little written; a close
 * likewise, but appending again and again must not leave crumbs; in the background space counts. */
static bool rewrite(struct flush *flush, const struct part *part, uint64_t all)
{
    const struct bale_turn *turn = flush->turn;
    unsigned blocks = (unsigned)__builtin_popcountll(all);
    unsigned dirty = (unsigned)__builtin_popcountll(part->dirty & all);
    if (dirty == blocks) {
        return true;
    }
    if (turn->durable) {
        return dirty * 2 >= blocks && (part->valid & all) == all;
    }
    unsigned eighths = turn->waiters ? 4 : 7;
    return base_blocks(flush, part) * 8 < eighths * blocks;
}

/* The whole extent's raw bytes in one place: what is cached, and the rest from the container. NULL: as it is not to be
 * had (no memory, damage), only what is dirty is stored. */
static uint8_t *assemble(struct flush *flush, const struct part *part, uint32_t length,
                         struct bale_scratch *scratch)
{
    struct bale_file *file = flush->turn->file;
    uint64_t start = part->number * file->extent;
    uint8_t *raw = bale_volume_take(file->volume, length, NULL);
    if (!raw) {
        return NULL;
    }
    for (uint32_t at = 0; at < length;) {
        uint32_t end = at;
        bool valid = part->valid & bale_blocks(file, at, at + 1);
        while (end < length && valid == !!(part->valid & bale_blocks(file, end, end + 1))) {
            end += file->block;
        }
        end = end < length ? end : length;
        if (valid) {
            memcpy(raw + at, part->buffer->data + at, end - at);
        } else if (bale_file_read_committed(file, scratch, start + at, start + end, raw + at) !=
                   BALE_OK) {
            bale_memory_give(file->volume->memory, raw, length);
            return NULL;
        }
        at = end;
    }
    return raw;
}

static int plan_runs(struct flush *flush, const struct part *part, uint32_t length)
{
    const struct bale_file *file = flush->turn->file;
    uint64_t start = part->number * file->extent;
    for (unsigned i = 0; i < BALE_BLOCKS; i++) {
        unsigned first = i;
        while (i < BALE_BLOCKS && (part->dirty >> i & 1)) {
            i++;
        }
        uint64_t from = (uint64_t)first * file->block, to = (uint64_t)i * file->block;
        to = to < length ? to : length;
        if (from < to && !add_piece(flush, start + from, (uint32_t)(to - from),
                                    part->buffer->data + from)) {
            return BALE_E_NOMEM;
        }
    }
    return BALE_OK;
}

static int plan_part(struct flush *flush, const struct part *part, struct bale_scratch *scratch)
{
    const struct bale_file *file = flush->turn->file;
    uint64_t start = part->number * file->extent;
    if (start >= flush->size) {
        return BALE_OK;
    }
    uint64_t left = flush->size - start;
    uint32_t length = left < file->extent ? (uint32_t)left : file->extent;
    uint64_t all = bale_blocks(file, 0, length);
    if (!rewrite(flush, part, all)) {
        return plan_runs(flush, part, length);
    }
    if ((part->valid & all) == all) {
        return add_piece(flush, start, length, part->buffer->data) ? BALE_OK : BALE_E_NOMEM;
    }
    uint8_t *raw = assemble(flush, part, length, scratch);
    if (!raw) {
        return plan_runs(flush, part, length);
    }
    struct piece *piece = add_piece(flush, start, length, raw);
    if (!piece) {
        bale_memory_give(file->volume->memory, raw, length);
        return BALE_E_NOMEM;
    }
    piece->assembled = raw;
    return BALE_OK;
}

/* ---- Commit ---- */

int bale_file_commit(struct bale_file *file)
{
    int err = bale_container_commit(file->container, false);
    if ((err == BALE_E_NOSPACE || err == BALE_E_DQUOT) &&
        bale_volume_take_reserve(file->volume)) {
        uint64_t generation;
        err = bale_container_begin(file->container, &generation);
        if (err == BALE_OK) {
            err = bale_container_commit(file->container, false);
        }
    }
    if (err == BALE_OK) {
        atomic_fetch_add(&file->volume->stats.commits, 1);
    }
    return err;
}

static int put_all(struct flush *flush)
{
    struct bale_file *file = flush->turn->file;
    struct bale_container_attr attr;
    bale_container_attr(file->container, &attr);
    attr.size = flush->size;
    attr.mtime = (int64_t)flush->mtime.tv_sec * 1000000000 + flush->mtime.tv_nsec;
    int err = bale_container_set_attr(file->container, &attr);
    for (size_t i = 0; i < flush->piece_count && err == BALE_OK; i++) {
        const struct piece *piece = &flush->pieces[i];
        const struct bale_frame *frame = &piece->item.item.frame;
        struct bale_segment segment = {
            .offset = frame->offset,
            .position = piece->position,
            .generation = frame->generation,
            .length = frame->raw_length,
            .frame_length = (uint32_t)piece->item.item.stored_length,
            .codec = frame->codec,
            .chunk_log2 = frame->chunk_log2,
            .checksum = frame->head_checksum,
        };
        err = bale_container_put(file->container, &segment);
    }
    return err;
}

/* After the last frame. Ends the transaction and the flush. */
static void finish(struct flush *flush, struct bale_scratch *scratch)
{
    struct bale_turn *turn = flush->turn;
    struct bale_file *file = turn->file;
    int err = atomic_load(&flush->error);
    if (err == BALE_OK) {
        err = put_all(flush);
    }
    if (err == BALE_OK) {
        err = bale_file_commit(file);
    } else {
        bale_container_abandon(file->container);
    }
    for (size_t i = 0; i < flush->piece_count; i++) {
        bale_memory_give(file->volume->memory, flush->pieces[i].assembled,
                         flush->pieces[i].item.item.frame.raw_length);
    }
    pthread_mutex_lock(&file->lock);
    for (size_t i = 0; i < flush->part_count; i++) {
        bale_extent_end_flush(flush->parts[i].extent, err == BALE_OK);
        bale_buffer_unref(flush->parts[i].buffer);
    }
    if (err == BALE_OK && file->size == flush->size &&
        file->mtime.tv_sec == flush->mtime.tv_sec && file->mtime.tv_nsec == flush->mtime.tv_nsec) {
        file->attr_dirty = false;
    }
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    turn->error = err;
    void (*then)(struct bale_turn *, struct bale_scratch *) = flush->then;
    free(flush->parts);
    free(flush->pieces);
    free(flush);
    bale_volume_wake(file->volume);
    then(turn, scratch);
}

static void fail(struct flush *flush, int err)
{
    int none = BALE_OK;
    atomic_compare_exchange_strong(&flush->error, &none, err);
}

static void write_frame(struct piece *piece, const uint8_t *stored)
{
    struct flush *flush = piece->flush;
    struct bale_file *file = flush->turn->file;
    struct bale_item *item = &piece->item.item;
    int err = bale_container_write_frame(file->container, stored, item->stored_length,
                                         &piece->position);
    if ((err == BALE_E_NOSPACE || err == BALE_E_DQUOT) &&
        bale_volume_take_reserve(file->volume)) {
        err = bale_container_write_frame(file->container, stored, item->stored_length,
                                         &piece->position);
    }
    if (err != BALE_OK) {
        fail(flush, err);
    }
    atomic_fetch_add(&file->volume->stats.items, 1);
    atomic_fetch_add(&file->volume->stats.raw_bytes, item->frame.raw_length);
    atomic_fetch_add(&file->volume->stats.stored_bytes, item->stored_length);
}

/* ---- Through the queue ---- */

static void piece_encoded(struct bale_queue_item *item, struct bale_scratch *scratch)
{
    struct piece *piece = item->owner;
    struct flush *flush = piece->flush;
    if (item->item.status != BALE_OK) {
        fail(flush, item->item.status);
    } else if (atomic_load(&flush->error) == BALE_OK) {
        write_frame(piece, item->item.stored);
    }
    bale_queue_release(item);
    if (atomic_fetch_sub(&flush->left, 1) == 1) {
        finish(flush, scratch);
    }
}

static void submit_all(struct flush *flush, struct bale_setting setting)
{
    struct bale_file *file = flush->turn->file;
    struct bale_queue *queue = file->volume->queue;
    size_t count = flush->piece_count;
    struct piece *pieces = flush->pieces;
    atomic_store(&flush->left, count);
    for (size_t i = 0; i < count; i++) {
        struct bale_queue_item *item = &pieces[i].item;
        item->item.kind = BALE_ITEM_ENCODE;
        item->item.priority = flush->turn->waiters ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL;
        item->item.setting = setting;
        item->done = piece_encoded;
        item->owner = &pieces[i];
        bale_queue_submit(queue, item); /* the last one may free flush */
    }
}

/* ---- In place ---- */

static int encode_here(struct piece *piece, struct bale_setting setting,
                       struct bale_scratch *scratch)
{
    struct bale_volume *volume = piece->flush->turn->file->volume;
    struct bale_item *item = &piece->item.item;
    size_t bound = bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2);
    uint8_t *taken = bale_volume_take(volume, bound, NULL);
    uint8_t *stored = taken ? taken : malloc(bound);
    if (!stored) {
        return BALE_E_NOMEM;
    }
    int err = bale_frame_encode(scratch, setting, item->raw, &item->frame, stored,
                                &item->stored_length);
    if (err == BALE_OK) {
        write_frame(piece, stored);
    }
    if (taken) {
        bale_memory_give(volume->memory, taken, bound);
    } else {
        free(stored);
    }
    return err;
}

void bale_flush_run(struct bale_turn *turn, struct bale_scratch *scratch,
                    void (*then)(struct bale_turn *turn, struct bale_scratch *scratch))
{
    struct bale_file *file = turn->file;
    struct flush *flush = scratch ? calloc(1, sizeof *flush) : NULL;
    if (!flush) {
        turn->error = BALE_E_NOMEM;
        then(turn, scratch);
        return;
    }
    flush->turn = turn;
    flush->then = then;
    pthread_mutex_lock(&file->lock);
    bool nothing = file->discarded || (!file->dirty_first && !file->attr_dirty);
    int err = nothing ? BALE_OK : snapshot(flush);
    nothing = nothing || (turn->kind == BALE_TURN_FLUSH_STREAM && flush->part_count == 0);
    pthread_mutex_unlock(&file->lock);
    if (err == BALE_OK && !nothing) {
        err = bale_container_begin(file->container, &flush->generation);
    }
    if (err != BALE_OK || nothing) {
        pthread_mutex_lock(&file->lock);
        for (size_t i = 0; i < flush->part_count; i++) {
            bale_extent_end_flush(flush->parts[i].extent, false);
            bale_buffer_unref(flush->parts[i].buffer);
        }
        pthread_mutex_unlock(&file->lock);
        free(flush->parts);
        free(flush);
        turn->error = err;
        then(turn, scratch);
        return;
    }
    struct bale_container_attr attr;
    bale_container_attr(file->container, &attr);
    uint64_t bytes = 0;
    for (size_t i = 0; i < flush->part_count && err == BALE_OK; i++) {
        err = plan_part(flush, &flush->parts[i], scratch);
    }
    for (size_t i = 0; i < flush->piece_count; i++) {
        bytes += flush->pieces[i].item.item.frame.raw_length;
    }
    if (err == BALE_OK && flush->piece_count > 0 && (bytes > INLINE_BYTES || !turn->waiters)) {
        submit_all(flush, attr.setting);
        return;
    }
    for (size_t i = 0; i < flush->piece_count && err == BALE_OK; i++) {
        err = encode_here(&flush->pieces[i], attr.setting, scratch);
    }
    if (err != BALE_OK) {
        fail(flush, err);
    }
    finish(flush, scratch);
}
