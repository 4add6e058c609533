/* Small flushes are encoded in place by the thread that runs them. Large ones go through the queue
 * to the engine, and a thread of the pool writes the frames as they come back: the engine's threads
 * must not wait for the store. */
#include "fs/cache/flush.h"

#include "format/err.h"
#include "fs/cache/evict.h"
#include "fs/cache/flush_plan.h"
#include "fs/cache/reserve.h"
#include "kernels/base/container_of.h"
#include "kernels/frame/frame.h"

/* Flushes of at most this many raw bytes that somebody waits for overtake others in the engine. */
#define URGENT_BYTES ((uint64_t)4 << 20)

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
        bale_flush_fail(flush, err);
    atomic_fetch_add(&file->volume->stats.items, 1);
    atomic_fetch_add(&file->volume->stats.raw_bytes, item->frame.raw_length);
    atomic_fetch_add(&file->volume->stats.stored_bytes, item->stored_length);
}

/* After the last frame. May free flush. */
static void flush_end(struct bale_flush *flush, struct bale_scratch *scratch)
{
    struct bale_change *change = flush->change;
    bale_flush_then *then = flush->then;

    if (bale_flush_commit(flush))
        then(change, scratch);
    else
        bale_flush_run(change, scratch, then);
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

/* Closes the flush if no piece is left. False if one is, or if more_job is under way, which then
 * closes it. Under file->lock. */
static bool close_if_written(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;

    pthread_mutex_lock(&flush->ready_lock);
    bool written = flush->left == 0;
    pthread_mutex_unlock(&flush->ready_lock);
    if (!written || (flush->open && !file->more))
        return false;
    flush->open = false;
    file->more = NULL;
    return true;
}

enum written {
    SOME_LEFT,
    ALL_WRITTEN, /* the caller ends the flush */
    NOT_OURS     /* more_job goes on with it */
};

/* Counts a piece that was written, as the thread that is writing. As long as one is left the flush
 * stays; the last one is counted under file->lock, so that either this thread or more_job ends
 * it. */
static enum written count_written(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;

    pthread_mutex_lock(&flush->ready_lock);
    bool last = flush->left == 1;
    flush->left -= !last;
    pthread_mutex_unlock(&flush->ready_lock);
    if (!last)
        return SOME_LEFT;
    pthread_mutex_lock(&file->lock);
    pthread_mutex_lock(&flush->ready_lock);
    bool some = --flush->left > 0;
    flush->writing = some;
    pthread_mutex_unlock(&flush->ready_lock);
    enum written written = some ? SOME_LEFT : close_if_written(flush) ? ALL_WRITTEN : NOT_OURS;
    pthread_mutex_unlock(&file->lock);
    return written;
}

/* Writes the frames that are there, and those that come meanwhile. */
static void write_ready_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_flush *flush = (struct bale_flush *)job;
    struct bale_piece *piece;

    pthread_mutex_lock(&flush->ready_lock);
    while ((piece = take_ready(flush))) {
        pthread_mutex_unlock(&flush->ready_lock);
        struct bale_queue_item *item = &piece->item;
        if (item->item.status != BALE_OK)
            bale_flush_fail(flush, item->item.status);
        else if (atomic_load(&flush->error) == BALE_OK)
            write_frame(piece, item->item.stored);
        bale_queue_release(item);
        enum written written = count_written(flush);
        if (written == ALL_WRITTEN)
            flush_end(flush, scratch);
        if (written != SOME_LEFT)
            return;
        pthread_mutex_lock(&flush->ready_lock);
    }
    flush->writing = false;
    pthread_mutex_unlock(&flush->ready_lock);
}

static void piece_encoded(struct bale_queue_item *item)
{
    struct bale_piece *piece = item->owner;
    struct bale_flush *flush = piece->flush;

    pthread_mutex_lock(&flush->ready_lock);
    put_ready(flush, piece);
    bool begins = !flush->writing;
    flush->writing = true;
    pthread_mutex_unlock(&flush->ready_lock);
    if (!begins)
        return;
    flush->job.run = write_ready_job;
    flush->job.turn.user = flush->change->job.turn.user;
    bale_pool_submit(flush->change->file->volume->pool, &flush->job);
}

/* The take's pieces are counted in left. */
static void encode_queued(struct bale_flush *flush, struct bale_take *take)
{
    bool urgent = flush->awaited && take->bytes <= URGENT_BYTES;

    for (size_t i = 0; i < take->piece_count; i++) {
        struct bale_queue_item *item = &take->pieces[i].item;
        item->item.kind = BALE_ITEM_ENCODE;
        item->item.priority = urgent ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL;
        item->item.background = !flush->awaited;
        item->item.turn.user = flush->change->job.turn.user;
        item->item.setting = take->setting;
        item->done = piece_encoded;
        item->owner = &take->pieces[i];
        item->next = i + 1 < take->piece_count ? &take->pieces[i + 1].item : NULL;
    }
    /* May free flush. */
    bale_queue_encode(flush->change->file->volume->queue, &take->pieces[0].item);
}

/* ---- Taking more, as a stream goes on ---- */

/* Under file->lock. */
static void add_take(struct bale_flush *flush, struct bale_take *take)
{
    *flush->takes_end = take;
    flush->takes_end = &take->next;
    flush->taken += take->bytes;
    pthread_mutex_lock(&flush->ready_lock);
    flush->left += take->piece_count;
    pthread_mutex_unlock(&flush->ready_lock);
}

/* Whether a stream's flush may take more. Under file->lock. */
static bool may_take(const struct bale_flush *flush)
{
    const struct bale_file *file = flush->change->file;
    const struct bale_volume *volume = file->volume;

    return !file->discarded && atomic_load(&flush->error) == BALE_OK &&
           flush->taken < flush->taken_most &&
           bale_now_ms() < flush->begun_ms + volume->stream_ms &&
           atomic_load(&volume->dirty) < bale_reserve_dirty_limit(volume) / 2;
}

/* Takes and plans what is dirty now. *taken: NULL if there is nothing, or no memory: then what the
 * commit shows stays as it was. */
static int take_and_plan(struct bale_flush *flush, struct bale_scratch *scratch,
                         struct bale_take **taken)
{
    struct bale_file *file = flush->change->file;
    uint64_t size = flush->size;

    *taken = NULL;
    pthread_mutex_lock(&file->lock);
    int err = may_take(flush) ? bale_flush_take(flush, taken) : BALE_OK;
    pthread_mutex_unlock(&file->lock);
    if (err == BALE_OK && *taken)
        err = bale_flush_plan(flush, *taken, scratch);
    if (err == BALE_OK)
        return BALE_OK;
    pthread_mutex_lock(&file->lock);
    if (*taken)
        bale_take_release(file, *taken, false);
    *taken = NULL;
    flush->size = size;
    pthread_mutex_unlock(&file->lock);
    return err;
}

/* Takes once more what is there if a change waits for the end of the flush, and then no more. */
static void take_more_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_flush *flush = BALE_CONTAINER_OF(job, struct bale_flush, more_job);
    struct bale_file *file = flush->change->file;
    struct bale_take *take = NULL;

    pthread_mutex_lock(&file->lock);
    bool ends = file->changes;
    pthread_mutex_unlock(&file->lock);
    if (!scratch || take_and_plan(flush, scratch, &take) != BALE_OK)
        ends = true;
    pthread_mutex_lock(&file->lock);
    if (take)
        add_take(flush, take);
    flush->open = !ends && may_take(flush);
    file->more = flush->open ? &flush->more_job : NULL;
    bool over = close_if_written(flush);
    pthread_mutex_unlock(&file->lock);
    if (over)
        flush_end(flush, scratch);
    else if (take)
        encode_queued(flush, take);
}

/* ---- In place ---- */

static int encode_piece(struct bale_piece *piece, const struct bale_take *take,
                        struct bale_scratch *scratch)
{
    struct bale_volume *volume = piece->flush->change->file->volume;
    struct bale_item *item = &piece->item.item;
    size_t bound = bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2);
    bool heap;
    uint8_t *stored = bale_cache_allocate_or_heap(volume, bound, &heap);

    if (!stored)
        return BALE_E_NOMEM;
    int err = bale_frame_encode(scratch, take->setting, item->raw, &item->frame, stored,
                                &item->stored_length);
    if (err == BALE_OK) {
        bale_work_add(&volume->in_place, item);
        write_frame(piece, stored);
    }
    bale_cache_free(volume, stored, bound, heap);
    return err;
}

/* ---- The call ---- */

/* Takes what is dirty and opens the transaction. *taken: NULL if there is nothing to commit. */
static int flush_begin(struct bale_flush *flush, struct bale_take **taken)
{
    struct bale_file *file = flush->change->file;
    int err = BALE_OK;

    *taken = NULL;
    pthread_mutex_lock(&file->lock);
    if (!file->discarded && (file->dirty_first || file->attr_dirty))
        err = bale_flush_take(flush, taken);
    flush->awaited = flush->change->waiters;
    pthread_mutex_unlock(&file->lock);
    if (err != BALE_OK || !*taken)
        return err;
    err = bale_container_begin(file->container, &flush->generation);
    if (err == BALE_OK)
        return BALE_OK;
    pthread_mutex_lock(&file->lock);
    bale_take_release(file, *taken, false);
    pthread_mutex_unlock(&file->lock);
    return err;
}

/* From here on a stream's flush may take more. */
static void flush_open(struct bale_flush *flush, struct bale_take *take)
{
    struct bale_file *file = flush->change->file;

    flush->more_job.run = take_more_job;
    flush->more_job.turn.user = flush->change->job.turn.user;
    flush->taken_most = bale_reserve_dirty_limit(file->volume) / 4;
    flush->begun_ms = bale_now_ms();
    pthread_mutex_lock(&file->lock);
    add_take(flush, take);
    flush->open = flush->change->kind == BALE_CHANGE_FLUSH_STREAM && !file->changes;
    file->more = flush->open ? &flush->more_job : NULL;
    pthread_mutex_unlock(&file->lock);
}

void bale_flush_run(struct bale_change *change, struct bale_scratch *scratch, bale_flush_then *then)
{
    struct bale_flush *flush = scratch ? bale_flush_create(change, then) : NULL;
    struct bale_take *take = NULL;
    int err = flush ? flush_begin(flush, &take) : BALE_E_NOMEM;

    if (err != BALE_OK || !take) {
        if (flush)
            bale_flush_free(flush);
        change->error = err;
        then(change, scratch);
        return;
    }
    err = bale_flush_plan(flush, take, scratch);
    if (err == BALE_OK && take->piece_count > 0 &&
        (take->bytes > BALE_INLINE_BYTES || !(flush->awaited || change->in_place))) {
        flush_open(flush, take);
        encode_queued(flush, take);
        return;
    }
    *flush->takes_end = take;
    flush->takes_end = &take->next;
    for (size_t i = 0; i < take->piece_count && err == BALE_OK; i++)
        err = encode_piece(&take->pieces[i], take, scratch);
    if (err != BALE_OK)
        bale_flush_fail(flush, err);
    flush_end(flush, scratch);
}
