/* Small flushes are encoded in place by the thread that runs them. Large ones go through the queue
 * to the engine, and each frame is written as it comes back. */
#include "fs/cache/flush.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/cache/evict.h"
#include "fs/cache/extent.h"
#include "fs/cache/flush_plan.h"
#include "fs/cache/reserve.h"
#include "fs/cache/rounds.h"
#include "kernels/frame/frame.h"

/* Flushes of at most this many raw bytes that somebody waits for overtake others in the engine. */
#define URGENT_BYTES ((uint64_t)4 << 20)

/* ---- Taking dirty extents ---- */

static bool wholly_dirty(const struct bale_file *file, const struct bale_extent *extent)
{
    return extent->dirty == bale_blocks(file, 0, file->extent);
}

/* For a stream: the committed size ends where the first extent that stays dirty begins, so that a
 * commit never shows zeros where data was written. Under file->lock. */
static uint64_t stream_size(struct bale_file *file, uint64_t committed)
{
    uint64_t size = file->size;

    for (struct bale_extent *extent = file->dirty_first; extent; extent = extent->dirty_next) {
        uint64_t start = extent->number * file->extent;
        uint64_t end = start + file->extent;
        if (!wholly_dirty(file, extent) && end > committed && start < size)
            size = start > committed ? start : committed;
    }
    return size;
}

static bool is_selected(const struct bale_flush *flush, const struct bale_extent *extent)
{
    const struct bale_file *file = flush->change->file;

    return flush->change->kind != BALE_CHANGE_FLUSH_STREAM ||
           (wholly_dirty(file, extent) && (extent->number + 1) * file->extent <= flush->size);
}

/* Waits until no selected extent is filling, and counts those. Under file->lock, which waiting
 * drops. */
static size_t await_selected(struct bale_flush *flush, uint64_t committed)
{
    struct bale_file *file = flush->change->file;
    bool stream = flush->change->kind == BALE_CHANGE_FLUSH_STREAM;
    size_t count;
    struct bale_extent *extent;

again:
    count = 0;
    flush->size = stream ? stream_size(file, committed) : file->size;
    for (extent = file->dirty_first; extent; extent = extent->dirty_next) {
        if (extent->filling && is_selected(flush, extent)) {
            bale_fill_await(file, extent);
            goto again;
        }
        count += is_selected(flush, extent);
    }
    return count;
}

/* Under file->lock, which waiting for copies in progress drops. */
static int take_dirty(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    size_t count = await_selected(flush, attr.size);
    flush->parts = calloc(count ? count : 1, sizeof *flush->parts);
    if (!flush->parts)
        return BALE_E_NOMEM;
    file->passed_over = file->dirty;
    for (struct bale_extent *extent = file->dirty_first, *next; extent; extent = next) {
        next = extent->dirty_next;
        if (is_selected(flush, extent)) {
            file->passed_over -= (uint64_t)bale_blocks_bytes(file, extent->dirty);
            flush->parts[flush->part_count++] = (struct bale_part){
                extent, extent->buffer, extent->number, extent->valid, extent->dirty};
            bale_extent_buffer_ref(extent->buffer);
            bale_extent_start_flush(extent);
        }
    }
    flush->mtime = file->mtime;
    flush->setting = bale_rounds_setting(file);
    flush->rounds = bale_rounds_record(file);
    return BALE_OK;
}

/* Under file->lock. */
static void release_parts(struct bale_flush *flush, bool stored)
{
    for (size_t i = 0; i < flush->part_count; i++) {
        bale_extent_end_flush(flush->parts[i].extent, stored);
        bale_extent_buffer_unref(flush->parts[i].buffer);
    }
}

static struct bale_flush *create_flush(struct bale_change *change, bale_flush_then *then)
{
    struct bale_flush *flush = calloc(1, sizeof *flush);

    if (!flush)
        return NULL;
    flush->change = change;
    flush->then = then;
    flush->ready_end = &flush->ready;
    pthread_mutex_init(&flush->ready_lock, NULL);
    return flush;
}

static void free_flush(struct bale_flush *flush)
{
    pthread_mutex_destroy(&flush->ready_lock);
    free(flush->parts);
    free(flush->pieces);
    free(flush);
}

/* ---- Commit ---- */

static bool sets_mtime(const struct bale_change *change)
{
    return change->kind == BALE_CHANGE_TIMES && change->mtime.tv_nsec != UTIME_OMIT;
}

static int put_segments(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    attr.size = flush->size;
    attr.mtime =
        bale_nanoseconds_of(sets_mtime(flush->change) ? flush->change->mtime : flush->mtime);
    attr.rounds = (uint8_t)flush->rounds;
    int err = bale_container_set_attr(file->container, &attr);
    for (size_t i = 0; i < flush->piece_count && err == BALE_OK; i++) {
        const struct bale_piece *piece = &flush->pieces[i];
        const struct bale_frame *frame = &piece->item.item.frame;
        struct bale_segment segment =
            bale_segment_of_frame(frame, piece->position, (uint32_t)piece->item.item.stored_length);
        err = bale_container_put(file->container, &segment);
    }
    return err;
}

/* After the last frame: ends the transaction and the flush. */
static void flush_commit(struct bale_flush *flush, struct bale_scratch *scratch)
{
    struct bale_change *change = flush->change;
    struct bale_file *file = change->file;
    int err = atomic_load(&flush->error);

    if (err == BALE_OK)
        err = put_segments(flush);
    if (err == BALE_OK)
        err = bale_reserve_commit(file);
    else
        bale_container_abandon(file->container);
    for (size_t i = 0; i < flush->piece_count; i++) {
        bale_memory_free(file->volume->memory, flush->pieces[i].assembled,
                         flush->pieces[i].item.item.frame.raw_length);
    }
    pthread_mutex_lock(&file->lock);
    release_parts(flush, err == BALE_OK);
    if (err == BALE_OK && file->size == flush->size && file->mtime.tv_sec == flush->mtime.tv_sec &&
        file->mtime.tv_nsec == flush->mtime.tv_nsec)
        file->attr_dirty = false;
    bool refused = err == BALE_E_NOSPACE || err == BALE_E_DQUOT;
    file->refused = refused ? err : BALE_OK;
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    change->error = err;
    change->changed = err == BALE_OK && sets_mtime(change);
    bale_flush_then *then = flush->then;
    free_flush(flush);
    bale_volume_wake(file->volume);
    then(change, scratch);
}

static void flush_fail(struct bale_flush *flush, int err)
{
    int none = BALE_OK;

    atomic_compare_exchange_strong(&flush->error, &none, err);
}

static void write_frame(struct bale_piece *piece, const uint8_t *stored)
{
    struct bale_flush *flush = piece->flush;
    struct bale_file *file = flush->change->file;
    struct bale_item *item = &piece->item.item;
    int err =
        bale_container_write_frame(file->container, stored, item->stored_length, &piece->position);

    if (bale_reserve_serves(file->volume, err, file->fd)) {
        err = bale_container_write_frame(file->container, stored, item->stored_length,
                                         &piece->position);
    }
    if (err != BALE_OK)
        flush_fail(flush, err);
    atomic_fetch_add(&file->volume->stats.items, 1);
    atomic_fetch_add(&file->volume->stats.raw_bytes, item->frame.raw_length);
    atomic_fetch_add(&file->volume->stats.stored_bytes, item->stored_length);
}

/* ---- Through the queue ---- */

static void put_ready(struct bale_flush *flush, struct bale_piece *piece)
{
    piece->next = NULL;
    *flush->ready_end = piece;
    flush->ready_end = &piece->next;
}

static struct bale_piece *take_ready(struct bale_flush *flush)
{
    struct bale_piece *piece = flush->ready;

    if (piece) {
        flush->ready = piece->next;
        flush->ready_end = flush->ready ? flush->ready_end : &flush->ready;
    }
    return piece;
}

static void flush_commit_job(struct bale_job *job, struct bale_scratch *scratch)
{
    flush_commit((struct bale_flush *)job, scratch);
}

/* The writer's last piece. scratch is NULL on a thread of the engine's, which must not wait for the
 * commit. */
static void pieces_written(struct bale_flush *flush, struct bale_scratch *scratch)
{
    if (scratch) {
        flush_commit(flush, scratch);
    } else {
        flush->job.run = flush_commit_job;
        flush->job.turn.user = flush->change->job.turn.user;
        bale_pool_submit(flush->change->file->volume->pool, &flush->job);
    }
}

static void piece_encoded(struct bale_queue_item *item, struct bale_scratch *scratch)
{
    struct bale_piece *piece = item->owner;
    struct bale_flush *flush = piece->flush;

    pthread_mutex_lock(&flush->ready_lock);
    put_ready(flush, piece);
    if (flush->writing) {
        pthread_mutex_unlock(&flush->ready_lock);
        return;
    }
    flush->writing = true;
    while ((piece = take_ready(flush))) {
        pthread_mutex_unlock(&flush->ready_lock);
        item = &piece->item;
        if (item->item.status != BALE_OK)
            flush_fail(flush, item->item.status);
        else if (atomic_load(&flush->error) == BALE_OK)
            write_frame(piece, item->item.stored);
        bale_queue_release(item);
        if (--flush->left == 0) {
            pieces_written(flush, scratch);
            return;
        }
        pthread_mutex_lock(&flush->ready_lock);
    }
    flush->writing = false;
    pthread_mutex_unlock(&flush->ready_lock);
}

static void encode_queued(struct bale_flush *flush, uint64_t bytes)
{
    bool urgent = flush->change->waiters && bytes <= URGENT_BYTES;

    flush->left = flush->piece_count;
    for (size_t i = 0; i < flush->piece_count; i++) {
        struct bale_queue_item *item = &flush->pieces[i].item;
        item->item.kind = BALE_ITEM_ENCODE;
        item->item.priority = urgent ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL;
        item->item.turn.user = flush->change->job.turn.user;
        item->item.setting = flush->setting;
        item->done = piece_encoded;
        item->owner = &flush->pieces[i];
        item->next = i + 1 < flush->piece_count ? &flush->pieces[i + 1].item : NULL;
    }
    /* May free flush. */
    bale_queue_encode(flush->change->file->volume->queue, &flush->pieces[0].item);
}

/* ---- In place ---- */

static int encode_piece(struct bale_piece *piece, struct bale_scratch *scratch)
{
    struct bale_volume *volume = piece->flush->change->file->volume;
    struct bale_item *item = &piece->item.item;
    size_t bound = bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2);
    bool heap;
    uint8_t *stored = bale_cache_allocate_or_heap(volume, bound, &heap);

    if (!stored)
        return BALE_E_NOMEM;
    int err = bale_frame_encode(scratch, piece->flush->setting, item->raw, &item->frame, stored,
                                &item->stored_length);
    if (err == BALE_OK) {
        bale_work_add(&volume->in_place, item);
        write_frame(piece, stored);
    }
    bale_cache_free(volume, stored, bound, heap);
    return err;
}

/* ---- The call ---- */

/* Takes what is dirty and opens the transaction. *nothing: there is nothing to commit. */
static int flush_begin(struct bale_flush *flush, bool *nothing)
{
    struct bale_file *file = flush->change->file;

    pthread_mutex_lock(&file->lock);
    *nothing = file->discarded || (!file->dirty_first && !file->attr_dirty);
    int err = *nothing ? BALE_OK : take_dirty(flush);
    *nothing =
        *nothing || (flush->change->kind == BALE_CHANGE_FLUSH_STREAM && flush->part_count == 0);
    pthread_mutex_unlock(&file->lock);
    if (err == BALE_OK && !*nothing)
        err = bale_container_begin(file->container, &flush->generation);
    if (err == BALE_OK)
        return BALE_OK;
    pthread_mutex_lock(&file->lock);
    release_parts(flush, false);
    pthread_mutex_unlock(&file->lock);
    return err;
}

void bale_flush_run(struct bale_change *change, struct bale_scratch *scratch, bale_flush_then *then)
{
    struct bale_flush *flush = scratch ? create_flush(change, then) : NULL;
    bool nothing = false;
    int err = flush ? flush_begin(flush, &nothing) : BALE_E_NOMEM;

    if (err != BALE_OK || nothing) {
        if (flush)
            free_flush(flush);
        change->error = err;
        then(change, scratch);
        return;
    }
    uint64_t bytes = 0;
    for (size_t i = 0; i < flush->part_count && err == BALE_OK; i++)
        err = bale_flush_plan(flush, &flush->parts[i], scratch);
    for (size_t i = 0; i < flush->piece_count; i++)
        bytes += flush->pieces[i].item.item.frame.raw_length;
    if (err == BALE_OK && flush->piece_count > 0 &&
        (bytes > BALE_INLINE_BYTES || !change->waiters)) {
        encode_queued(flush, bytes);
        return;
    }
    for (size_t i = 0; i < flush->piece_count && err == BALE_OK; i++)
        err = encode_piece(&flush->pieces[i], scratch);
    if (err != BALE_OK)
        flush_fail(flush, err);
    flush_commit(flush, scratch);
}
