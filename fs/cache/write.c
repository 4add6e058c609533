/* Writing into the cache. A write that cannot go on at once (it needs old contents, or an extent
 * that is being filled) continues as a job; one that needs memory is parked until some becomes
 * free. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/change.h"
#include "fs/cache/evict.h"
#include "fs/cache/fill.h"
#include "fs/cache/reserve.h"
#include "fs/cache/rounds.h"
#include "kernels/base/container_of.h"

/* Copies this small are cheaper under the lock than without it. */
#define COPY_LOCKED ((size_t)16 << 10)
#define OTHERS_PART 8u /* of dirty data: for users that have little */

struct write_op {
    struct bale_parked_write parked;
    struct bale_file *file; /* counted once the write waits */
    uint64_t offset;
    const uint8_t *data; /* what is left of it */
    uint8_t *copy;       /* of that, on the heap, once the write waits */
    size_t length, done_length;
    bool exact;           /* rounds nothing */
    uint64_t lack_ms;     /* when it first found no space; 0: not yet */
    bool other_quota;     /* does not count in the quota that the reserve was given up for */
    bale_file_done *done; /* called with parked.arg */
};

/* The part of a write in one extent: bytes [from, to) of extent number. */
struct span {
    uint64_t number, from, to;
    const uint8_t *data;
    bool exact;
};

enum progress {
    DONE, /* or *err says why not */
    RETRY,
    NEED_THREAD, /* that may wait */
    NEED_MEMORY,
    RESIZED /* the extent size has changed */
};

/* Whether so much more exceeds a limit for a user who has `own` of the `used` bytes. The last part
 * is for users that have less than what is left then: one user's flood leaves room for the writes
 * of others, which need not wait until it is stored. */
static bool exceeds(uint64_t used, uint64_t own, uint64_t length, uint64_t limit)
{
    uint64_t left = limit > used ? limit - used : 0;

    return length > left || (left - length < limit / OTHERS_PART && own >= left);
}

/* Whether a write of that length would exceed the limits of dirty data. */
static bool must_wait(struct bale_volume *volume, uint32_t user, size_t length)
{
    uint64_t dirty = atomic_load(&volume->dirty);
    uint64_t own = atomic_load(&volume->unevictable_of[user % BALE_TURNS]);

    return dirty > 0 &&
           (exceeds(dirty, own, length, atomic_load(&volume->dirty_limit)) ||
            exceeds(atomic_load(&volume->unevictable), own, length, volume->unevictable_limit));
}

/* The blocks at the ends of [from, to) that the write covers only in part, whose other bytes lie in
 * the file (beyond its end they are zeros) and are not valid yet. */
static uint64_t missing_edges(struct bale_extent *extent, uint64_t from, uint64_t to)
{
    struct bale_file *file = extent->file;
    uint64_t start = extent->number * file->extent;
    uint64_t edges = 0;

    if (from % file->block)
        edges |= bale_blocks(file, from, from + 1);
    if (to % file->block && start + to < file->size)
        edges |= bale_blocks(file, to - 1, to);
    edges &= ~extent->valid;
    uint64_t inside =
        file->size > start
            ? bale_blocks(file, 0,
                          file->size - start < file->extent ? file->size - start : file->extent)
            : 0;
    return edges & inside;
}

/* Blocks beyond the committed size are zeros: makes them valid without reading. Returns the
 * others. */
static uint64_t zero_uncommitted(struct bale_extent *extent, uint64_t missing)
{
    const struct bale_file *file = extent->file;
    uint64_t start = extent->number * file->extent;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    for (uint64_t left = missing; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (start + (uint64_t)i * file->block >= attr.size) {
            memset(extent->buffer->data + (size_t)i * file->block, 0, file->block);
            extent->valid |= (uint64_t)1 << i;
        }
    }
    return missing & ~extent->valid;
}

/* Clears the bytes around the written ones in blocks that are not valid. */
static void clear_edges(struct bale_extent *extent, uint64_t from, uint64_t to)
{
    size_t block = extent->file->block;
    uint64_t first = from - from % block, last = (to + block - 1) / block * block;
    uint8_t *data = extent->buffer->data;

    if (from > first && !(extent->valid & bale_blocks(extent->file, first, first + 1)))
        memset(data + first, 0, from - first);
    if (last > to && !(extent->valid & bale_blocks(extent->file, last - 1, last)))
        memset(data + to, 0, last - to);
}

/* Under file->lock. */
static void note_change(struct bale_file *file, uint64_t end)
{
    if (end > file->size)
        file->size = end;
    file->mtime = file->ctime = bale_file_now_locked(file);
    file->attr_dirty = true;
}

/* Logs it once, as programs try again. Under file->lock, for the label. */
static void warn_too_wide(const struct bale_file *file)
{
    uint64_t cap = bale_memory_cap(file->volume->memory);

    if (!atomic_exchange(&file->volume->warned_too_wide, true)) {
        bale_log(BALE_LOG_ERROR,
                 "%s: its extents of %u KiB do not fit into half of the memory of %llu MiB: "
                 "writing fails: mount with -o memory=%lluM",
                 file->label, file->extent >> 10, (unsigned long long)cap >> 20,
                 (2ull * file->extent + (1u << 20) - 1) >> 20);
    }
}

/* Makes the blocks at the ends valid if the write needs that. Under file->lock. */
static enum progress fill_edges(struct bale_extent *extent, uint64_t from, uint64_t to,
                                struct bale_scratch *scratch, int *err)
{
    uint64_t missing = missing_edges(extent, from, to);

    missing = missing ? zero_uncommitted(extent, missing) : 0;
    if (!missing)
        return DONE;
    if (!scratch) {
        bale_lru_add_idle(extent);
        return NEED_THREAD;
    }
    *err = bale_extent_fill(extent, missing, scratch);
    if (*err != BALE_OK && *err != BALE_E_STALE)
        return DONE;
    *err = BALE_OK;
    return RETRY;
}

/* False: the extent was detached meanwhile. Under file->lock, which a long copy drops. */
static bool copy_in(struct bale_extent *extent, const struct span *span)
{
    struct bale_file *file = extent->file;
    const uint64_t blocks = bale_blocks(file, span->from, span->to);
    const uint64_t at = span->number * file->extent + span->from;
    const size_t length = span->to - span->from;
    uint8_t *out = extent->buffer->data + span->from;
    struct bale_field rounded = {0};

    if (!span->exact)
        rounded = bale_rounds_field(file);
    clear_edges(extent, span->from, span->to);
    if (length <= COPY_LOCKED) {
        bale_rounds_copy(&rounded, at, out, span->data, length);
        return true;
    }
    bale_fill_begin(extent, blocks);
    pthread_mutex_unlock(&file->lock);
    bale_rounds_copy(&rounded, at, out, span->data, length);
    pthread_mutex_lock(&file->lock);
    return bale_fill_end(extent, blocks, BALE_OK) == BALE_OK;
}

/* Reads the file's first bytes if they decide what is rounded. */
static enum progress load_begin(struct bale_file *file, struct bale_scratch *scratch, int *err)
{
    if (bale_rounds_is_pending(file) && !scratch)
        return NEED_THREAD;
    *err = bale_rounds_load(file, scratch);
    return DONE;
}

/* Under file->lock. RETRY: it was dropped, and the extent is to be found again. */
static enum progress try_span(struct bale_file *file, const struct span *span,
                              struct bale_scratch *scratch, int *err)
{
    const uint64_t number = span->number, from = span->from, to = span->to;
    uint64_t blocks = bale_blocks(file, from, to);
    struct bale_extent *extent = bale_extent_find(&file->table, number);

    if (extent && extent->filling &&
        ((extent->filling & blocks) || extent->shared || !bale_extent_has_room(extent, to))) {
        if (!scratch)
            return NEED_THREAD;
        bale_fill_await(file, extent);
        return RETRY;
    }
    extent = bale_extent_get(file, number, to);
    if (!extent && to > bale_memory_cap(file->volume->memory) / 2) {
        warn_too_wide(file);
        *err = BALE_E_NOMEM; /* waiting does not help: growing needs the old buffer and the new */
        return DONE;
    }
    if (!extent || bale_extent_own(extent) != BALE_OK)
        return NEED_MEMORY;
    enum progress progress = fill_edges(extent, from, to, scratch, err);
    if (progress != DONE || *err != BALE_OK)
        return progress;
    *err = bale_rounds_note(file, number * file->extent + from, span->data, to - from);
    if (*err != BALE_OK)
        return DONE;
    if (!copy_in(extent, span))
        return RETRY;
    bale_extent_mark_dirty(extent, blocks);
    note_change(file, number * file->extent + to);
    return DONE;
}

/* scratch is NULL on a thread that must not wait. Under file->lock; may drop it. */
static enum progress write_span(struct bale_file *file, const struct span *span,
                                struct bale_scratch *scratch, int *err)
{
    uint32_t unit = file->extent;
    enum progress progress = RETRY;

    while (progress == RETRY) {
        progress = load_begin(file, scratch, err);
        if (progress == DONE && *err == BALE_OK)
            progress = file->extent == unit ? try_span(file, span, scratch, err) : RESIZED;
    }
    return progress;
}

/* lack: why there is no space. The first write after something was freed is to find it, so a thread
 * looks (write_job) before the write fails, and the write waits for what is on its way: not for
 * ever, as somebody may go on removing files that give back nothing. */
static enum progress without_space(struct write_op *op, int lack, struct bale_scratch *scratch,
                                   int *err)
{
    if (!scratch)
        return NEED_THREAD;
    if (!op->lack_ms)
        op->lack_ms = bale_now_ms();
    op->parked.for_space = bale_reserve_may_come(op->file->volume, op->lack_ms);
    if (op->parked.for_space)
        return NEED_MEMORY;
    *err = lack;
    return DONE;
}

/* Writes what is left of op, as far as that goes now. */
static enum progress write_more(struct write_op *op, struct bale_scratch *scratch, int *err)
{
    struct bale_file *file = op->file;
    enum progress progress = DONE;

    op->parked.for_space = false;
    atomic_fetch_add(&file->volume->changing, 1);
    atomic_store_explicit(&file->user, op->parked.job.turn.user, memory_order_relaxed);
    pthread_mutex_lock(&file->lock);
    while (op->done_length < op->length && *err == BALE_OK && progress == DONE) {
        uint64_t at = op->offset + op->done_length;
        uint64_t from = at % file->extent;
        size_t left = op->length - op->done_length;
        uint64_t to = left < file->extent - from ? from + left : file->extent;
        const struct span span = {.number = at / file->extent,
                                  .from = from,
                                  .to = to,
                                  .data = op->data,
                                  .exact = op->exact};
        int full = atomic_load(&file->volume->full);
        full = full == BALE_E_DQUOT && op->other_quota ? BALE_OK : full;
        bool frozen = atomic_load(&file->volume->frozen);
        if (!frozen && (full || file->refused)) {
            progress = without_space(op, full ? full : file->refused, scratch, err);
        } else if (frozen || must_wait(file->volume, op->parked.job.turn.user, to - from)) {
            progress = NEED_MEMORY;
        } else {
            progress = write_span(file, &span, scratch, err);
            size_t done = progress == DONE && *err == BALE_OK ? to - from : 0;
            op->data += done;
            op->done_length += done;
            progress = progress == RESIZED ? DONE : progress;
        }
    }
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_sub(&file->volume->changing, 1);
    return progress;
}

/* Starts writing out what is worth it already, or has the flush that is under way take it too. */
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
    if (bale_volume_pressed(volume))
        bale_volume_kick(volume);
}

static void write_finish(struct write_op *op, int err)
{
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

static void write_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct write_op *op = BALE_CONTAINER_OF(job, struct write_op, parked.job);
    int err = op->parked.cancelled ? BALE_E_CANCELLED : scratch ? BALE_OK : BALE_E_NOMEM;

    int full = atomic_load(&op->file->volume->full);
    if (full)
        bale_reserve_restore(op->file->volume);
    op->other_quota =
        full == BALE_E_DQUOT && !bale_reserve_concerns(op->file->volume, op->file->fd);
    if (err == BALE_OK && write_more(op, scratch, &err) == NEED_MEMORY) {
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
        .exact = writer->exact,
        .offset = offset,
        .data = data,
        .length = length,
        .done = done};
    int err = BALE_OK;
    enum progress progress = write_more(&op, NULL, &err);
    if (progress == DONE) {
        write_finish(&op, err);
        return;
    }
    struct write_op *waiting = detach_op(&op);
    if (!waiting) {
        write_finish(&op, BALE_E_NOMEM);
    } else if (progress == NEED_THREAD) {
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
