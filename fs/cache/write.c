/* Writing into the cache. A write that cannot go on at once continues as a job: it needs old
 * contents, an extent that is being filled, or memory that another file has. A write is parked when
 * too much is dirty, when no memory can be evicted, and while it waits for space of the store. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/change.h"
#include "fs/cache/evict.h"
#include "fs/cache/reserve.h"
#include "fs/cache/write_span.h"
#include "kernels/base/container_of.h"

#define OTHERS_PART 8u /* of what may be dirty: for users that have little */

struct write_op {
    struct bale_parked_write parked;
    struct bale_file *file; /* counted once the write waits */
    uint64_t offset;
    const uint8_t *data; /* what is left of it */
    uint8_t *copy;       /* of that, on the heap, once the write waits */
    size_t length, done_length;
    const atomic_bool *given_up; /* or NULL */
    bool exact;                  /* rounds nothing */
    uint64_t lack_ms;            /* when it first found no space; 0: not yet */
    bool lacks_space;            /* counted in volume->lacking_space */
    bool other_quota;            /* does not count in the quota that the reserve was given up for */
    bale_file_done *done;        /* called with parked.arg */
};

/* Whether `length` more bytes exceed the limit for a user who has `own` of the `used` bytes. The
 * last part of the limit is only for users who have less than what is left of it. So one user's
 * flood leaves room for the writes of others, which need not wait until it is stored. */
static bool exceeds(uint64_t used, uint64_t own, uint64_t length, uint64_t limit)
{
    uint64_t left = limit > used ? limit - used : 0;

    return length > left || (left - length < limit / OTHERS_PART && own >= left);
}

/* The limit of dirty data for a user who has `own` of it. When a GPU opens, the limit may fall below
 * what is dirty; then nothing of it is left for others. So users who have less than the part that is
 * kept for others are bound by what the reserve backs. */
static uint64_t dirty_limit_for(const struct bale_volume *volume, uint64_t own)
{
    uint64_t limit = bale_reserve_dirty_limit(volume);

    return own < limit / OTHERS_PART ? atomic_load(&volume->dirty_limit) : limit;
}

/* Whether a write of this length would exceed the limits of dirty data. */
static bool must_wait(struct bale_volume *volume, uint32_t user, size_t length)
{
    uint64_t dirty = atomic_load(&volume->dirty);
    uint64_t own = atomic_load(&volume->unevictable_of[user % BALE_TURNS]);

    return dirty > 0 &&
           (exceeds(dirty, own, length, dirty_limit_for(volume, own)) ||
            exceeds(atomic_load(&volume->unevictable), own, length, volume->unevictable_limit));
}

/* Handles a write that found no space; lack: why. The first write after something was freed must
 * find the space. So a thread looks again (write_job) before the write fails, and the write waits
 * for space that is about to be freed; not for ever, because somebody may go on removing files that
 * free nothing. */
static enum bale_write_progress without_space(struct write_op *op, int lack,
                                              struct bale_scratch *scratch, int *err)
{
    if (!scratch)
        return BALE_WRITE_NEEDS_THREAD;
    if (!op->lack_ms)
        op->lack_ms = bale_now_ms();
    if (!bale_reserve_may_come(op->file->volume, op->lack_ms)) {
        *err = lack;
        return BALE_WRITE_DONE;
    }
    if (!op->lacks_space) {
        /* From here on a thread that frees space tells of it. What was freed before was not told:
         * the flusher looks for it now. */
        op->lacks_space = true;
        atomic_fetch_add(&op->file->volume->lacking_space, 1);
        bale_volume_tell_space(op->file->volume);
    }
    op->parked.lack = BALE_LACKS_SPACE;
    return BALE_WRITE_MUST_WAIT;
}

/* Writes the span. What lacks memory looks once more after it has said so: then it cannot miss what
 * becomes free before it is parked. */
static enum bale_write_progress write_span(struct write_op *op, const struct bale_write_span *span,
                                           struct bale_scratch *scratch, int *err)
{
    enum bale_write_progress progress = bale_write_span(op->file, span, scratch, err);

    if (progress != BALE_WRITE_MUST_WAIT)
        return progress;
    op->parked.lack = BALE_LACKS_MEMORY;
    bale_memory_lack(op->file->volume->memory);
    return bale_write_span(op->file, span, scratch, err);
}

/* Evicts something of a file whose lock others have: waits for that, without the lock of `file`,
 * which is held before and after. This may also run the other file's close. False: there is nothing
 * to evict. */
static bool evict_from_locked(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;

    pthread_mutex_unlock(&file->lock);
    struct bale_file *other = bale_lru_cold_file(volume);
    bool evicted = false;
    if (other) {
        pthread_mutex_lock(&other->lock);
        evicted = bale_cache_evict(volume, other);
        pthread_mutex_unlock(&other->lock);
        bale_file_unref(other);
    }
    pthread_mutex_lock(&file->lock);
    return evicted;
}

/* Writes a span. BALE_WRITE_DONE without an error: it may have to be written once more; see
 * done_length. */
static enum bale_write_progress write_or_evict(struct write_op *op,
                                               const struct bale_write_span *span,
                                               struct bale_scratch *scratch, int *err)
{
    enum bale_write_progress progress = write_span(op, span, scratch, err);

    if (progress == BALE_WRITE_DONE && *err == BALE_OK) {
        op->data += span->to - span->from;
        op->done_length += span->to - span->from;
    }
    if (progress == BALE_WRITE_MUST_WAIT && !scratch)
        return bale_lru_is_empty(op->file->volume) ? progress : BALE_WRITE_NEEDS_THREAD;
    if (progress == BALE_WRITE_RESIZED ||
        (progress == BALE_WRITE_MUST_WAIT && evict_from_locked(op->file)))
        return BALE_WRITE_DONE;
    return progress;
}

/* Writes what is left of op, as far as that goes now. */
static enum bale_write_progress write_more(struct write_op *op, struct bale_scratch *scratch,
                                           int *err)
{
    struct bale_file *file = op->file;
    enum bale_write_progress progress = BALE_WRITE_DONE;

    op->parked.wakes = bale_volume_wakes(file->volume);
    atomic_fetch_add(&file->volume->changing, 1);
    atomic_store_explicit(&file->user, op->parked.job.turn.user, memory_order_relaxed);
    pthread_mutex_lock(&file->lock);
    while (op->done_length < op->length && *err == BALE_OK && progress == BALE_WRITE_DONE) {
        uint64_t at = op->offset + op->done_length;
        uint64_t from = at % file->extent;
        size_t left = op->length - op->done_length;
        uint64_t to = left < file->extent - from ? from + left : file->extent;
        const struct bale_write_span span = {.number = at / file->extent,
                                             .from = from,
                                             .to = to,
                                             .data = op->data,
                                             .given_up = op->given_up,
                                             .exact = op->exact};
        int full = atomic_load(&file->volume->full);
        full = full == BALE_E_DQUOT && op->other_quota ? BALE_OK : full;
        bool frozen = atomic_load(&file->volume->frozen);
        if (!frozen && (full || file->refused)) {
            progress = without_space(op, full ? full : file->refused, scratch, err);
        } else if (frozen || must_wait(file->volume, op->parked.job.turn.user, to - from)) {
            op->parked.lack = BALE_LACKS_FLUSH;
            progress = BALE_WRITE_MUST_WAIT;
        } else {
            progress = write_or_evict(op, &span, scratch, err);
        }
    }
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_sub(&file->volume->changing, 1);
    return progress;
}

/* Begins to store a stream's whole extents if there are enough of them, or has the flush that is
 * under way take them too. */
static void flush_behind(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;
    struct bale_job *more = NULL;

    pthread_mutex_lock(&file->lock);
    uint64_t seen = file->flushing + file->passed_over;
    bool stream = file->dirty >= seen + volume->stream_bytes && !file->change && !file->changes;
    if (file->dirty >= seen + volume->stream_bytes / 2)
        more = bale_file_take_more(file);
    pthread_mutex_unlock(&file->lock);
    if (more)
        bale_pool_submit(volume->pool, more);
    if (stream) {
        struct bale_change *change = bale_change_create(file, BALE_CHANGE_FLUSH_STREAM, NULL, NULL);
        if (change)
            bale_change_submit(change);
    }
    if (bale_reserve_is_pressed(volume))
        bale_volume_kick(volume);
}

static void write_finish(struct write_op *op, int err)
{
    if (op->lacks_space)
        atomic_fetch_sub(&op->file->volume->lacking_space, 1);
    flush_behind(op->file);
    atomic_fetch_add_explicit(&op->file->volume->stats.written, op->done_length,
                              memory_order_relaxed);
    if (err != BALE_OK && err != BALE_E_CANCELLED)
        atomic_fetch_add(&op->file->volume->stats.errors, 1);
    op->done(op->parked.arg, op->done_length > 0 ? (int64_t)op->done_length : err);
}

static void free_op(struct write_op *op)
{
    bale_file_unref(op->file);
    free(op->copy);
    free(op);
}

/* As write_more. What was woken because something of the memory is free has the next one woken. */
static enum bale_write_progress write_woken(struct write_op *op, struct bale_scratch *scratch,
                                            int *err)
{
    bool woken = op->parked.lack == BALE_LACKS_MEMORY;
    enum bale_write_progress progress =
        *err == BALE_OK ? write_more(op, scratch, err) : BALE_WRITE_DONE;
    bool lacks = progress == BALE_WRITE_MUST_WAIT && op->parked.lack == BALE_LACKS_MEMORY;

    if (woken && !lacks)
        bale_volume_wake_next(op->file->volume, op->parked.job.turn.user);
    return progress;
}

static void write_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct write_op *op = BALE_CONTAINER_OF(job, struct write_op, parked.job);
    int err = op->parked.cancelled ? BALE_E_CANCELLED : scratch ? BALE_OK : BALE_E_NOMEM;

    int full = atomic_load(&op->file->volume->full);
    if (full)
        bale_reserve_restore(op->file->volume);
    op->other_quota =
        full == BALE_E_DQUOT && !bale_reserve_concerns(op->file->volume, op->file->fd);
    if (write_woken(op, scratch, &err) == BALE_WRITE_MUST_WAIT) {
        bale_volume_park(op->file->volume, &op->parked);
        return;
    }
    write_finish(op, err);
    free_op(op);
}

/* A copy of op with a copy of the data that is left, on the heap. NULL: no memory. */
static struct write_op *detach_op(const struct write_op *op)
{
    struct write_op *copy = malloc(sizeof *copy);
    size_t left = op->length - op->done_length;
    uint8_t *data = malloc(left);

    if (!copy || !data) {
        free(copy);
        free(data);
        return NULL;
    }
    *copy = *op;
    memcpy(data, op->data, left);
    copy->data = copy->copy = data;
    copy->parked.job.run = write_job;
    bale_file_ref(op->file);
    return copy;
}

void bale_file_write(struct bale_file *file, uint64_t offset, const void *data, size_t length,
                     bale_file_done *done, void *arg)
{
    bale_file_write_by(file, offset, data, length, &(struct bale_writer){0}, done, arg);
}

void bale_file_write_by(struct bale_file *file, uint64_t offset, const void *data, size_t length,
                        const struct bale_writer *writer, bale_file_done *done, void *arg)
{
    if (offset > BALE_SIZE_MAX - length) {
        done(arg, BALE_E_TOOBIG);
        return;
    }
    struct write_op op = {
        .parked = {.job.turn.user = bale_working_for, .arg = arg, .cancel = writer->cancel},
        .file = file,
        .given_up = writer->given_up,
        .exact = writer->exact,
        .offset = offset,
        .data = data,
        .length = length,
        .done = done};
    int err = BALE_OK;
    enum bale_write_progress progress = write_more(&op, NULL, &err);
    if (progress == BALE_WRITE_DONE) {
        write_finish(&op, err);
        return;
    }
    struct write_op *waiting = detach_op(&op);
    if (!waiting) {
        write_finish(&op, BALE_E_NOMEM);
    } else if (progress == BALE_WRITE_NEEDS_THREAD) {
        waiting->parked.lack = BALE_LACKS_FLUSH; /* nobody wakes it */
        bale_pool_submit(file->volume->readers, &waiting->parked.job);
    } else {
        atomic_fetch_add(&file->volume->stats.throttled, 1);
        bale_volume_park(file->volume, &waiting->parked);
    }
}

void bale_file_cancel(struct bale_file *file, void *arg)
{
    struct bale_volume *volume = file->volume;
    struct bale_parked_write *found = bale_volume_unpark(volume, arg);

    if (found) {
        found->cancelled = true;
        bale_pool_submit(volume->readers, &found->job);
    }
}
