/* Reading: at once what is in the cache, else by a job that fills the cache first. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/admission.h"
#include "fs/cache/committed.h"
#include "fs/cache/fill.h"
#include "fs/cache/readahead.h"
#include "kernels/base/container_of.h"

#define ONE_COMMIT_TRIES 100

struct read_op {
    struct bale_job job;
    struct bale_file *file; /* counted */
    uint64_t offset;
    size_t length;
    bool touches;
    struct bale_read *read;
    bale_file_done *done;
    void *arg;
};

/* The memory behind struct bale_read's pieces. */
struct pieces {
    /* One for each piece, counted. NULL: a bounce buffer of the read's own, on the heap. */
    struct bale_extent_buffer **buffers;
    struct iovec iov[];
};

static void add_piece(struct bale_read *read, struct bale_extent_buffer *buffer, uint8_t *data,
                      size_t length)
{
    struct pieces *pieces = BALE_CONTAINER_OF(read->pieces, struct pieces, iov);

    pieces->buffers[read->count] = buffer;
    read->pieces[read->count++] = (struct iovec){data, length};
    read->length += length;
}

static int begin_read(struct bale_read *read, size_t extents)
{
    *read = (struct bale_read){0};
    struct pieces *pieces = malloc(
        sizeof *pieces + extents * (sizeof(struct iovec) + sizeof(struct bale_extent_buffer *)));
    if (!pieces)
        return BALE_E_NOMEM;
    pieces->buffers = (struct bale_extent_buffer **)(void *)&pieces->iov[extents];
    read->pieces = pieces->iov;
    return BALE_OK;
}

static void drop_pieces(struct bale_read *read)
{
    struct pieces *pieces = BALE_CONTAINER_OF(read->pieces, struct pieces, iov);

    for (int i = 0; i < read->count; i++)
        if (pieces->buffers[i])
            bale_extent_buffer_unref(pieces->buffers[i]);
        else
            free(pieces->iov[i].iov_base);
    read->count = 0;
    read->length = 0;
}

void bale_read_release(struct bale_read *read)
{
    if (!read->pieces)
        return;
    drop_pieces(read);
    free(BALE_CONTAINER_OF(read->pieces, struct pieces, iov));
    read->pieces = NULL;
}

/* One extent's share of a read. */
struct span {
    uint64_t number;
    uint64_t from, to; /* bytes inside the extent */
    uint64_t blocks;
};

static bool next_span(const struct bale_file *file, uint64_t at, uint64_t end, struct span *span)
{
    span->number = at / file->extent;
    span->from = at - span->number * file->extent;
    uint64_t left = end - at;
    span->to = left < file->extent - span->from ? span->from + left : file->extent;
    span->blocks = bale_blocks(file, span->from, span->to);
    return at < end;
}

/* The end of the read, inside the file. Under file->lock. */
static uint64_t clip(const struct bale_file *file, uint64_t offset, size_t length)
{
    return offset >= file->size           ? offset
           : length < file->size - offset ? offset + length
                                          : file->size;
}

/* Under file->lock. */
static bool take_cached(struct bale_file *file, const struct span *span, struct bale_read *read)
{
    struct bale_extent *extent = bale_extent_find(&file->table, span->number);

    if (!extent || (span->blocks & ~extent->valid) || (span->blocks & extent->filling))
        return false;
    atomic_store_explicit(&extent->hot, true, memory_order_relaxed);
    bale_extent_buffer_ref(extent->buffer);
    add_piece(read, extent->buffer, extent->buffer->data + span->from, span->to - span->from);
    return true;
}

/* Drops an extent that was read whole, where the caller keeps a copy of its own. Under
 * file->lock. */
static void leave_to_caller(struct bale_file *file, const struct span *span)
{
    uint64_t rest = file->size - span->number * file->extent;
    struct bale_extent *extent;

    if (!file->volume->options.caller_caches || span->from > 0 ||
        (span->to < file->extent && span->to < rest))
        return;
    extent = bale_extent_find(&file->table, span->number);
    if (extent && !extent->dirty && !extent->flushing && !extent->filling)
        bale_extent_detach(extent);
}

/* Takes the whole read from the cache, or nothing: also if the file is still to be touched, which
 * may have to wait. Under file->lock. */
static bool read_cached(struct bale_file *file, uint64_t offset, uint64_t end,
                        struct bale_read *read)
{
    struct pieces *pieces = BALE_CONTAINER_OF(read->pieces, struct pieces, iov);
    struct span span;

    for (uint64_t at = offset; next_span(file, at, end, &span); at += span.to - span.from) {
        if (file->untouched || !take_cached(file, &span, read)) {
            while (read->count > 0)
                bale_extent_buffer_unref(pieces->buffers[--read->count]);
            read->length = 0;
            return false;
        }
    }
    for (uint64_t at = offset; next_span(file, at, end, &span); at += span.to - span.from)
        leave_to_caller(file, &span);
    return true;
}

/* Reads past the cache, into a bounce buffer: what is committed first, then over it the valid
 * blocks of the extent (NULL: there are none). Under file->lock, which it drops. */
static int read_bounce(struct bale_file *file, struct bale_extent *extent, const struct span *span,
                       struct bale_read *read, struct bale_scratch *scratch)
{
    uint64_t start = span->number * file->extent;
    uint32_t block = file->block; /* may change while the lock is dropped */
    uint8_t *data = malloc(span->to - span->from);
    struct bale_extent_buffer *cached = extent ? extent->buffer : NULL;
    uint64_t valid = extent ? extent->valid : 0;

    if (!data)
        return BALE_E_NOMEM;
    if (cached)
        bale_extent_buffer_ref(cached);
    pthread_mutex_unlock(&file->lock);
    int err = bale_file_read_committed(file, scratch, start + span->from, start + span->to, data);
    for (uint64_t at = span->from; at < span->to && valid;) {
        uint64_t end = (at / block + 1) * block;
        end = end < span->to ? end : span->to;
        if (valid >> at / block & 1)
            memcpy(data + (at - span->from), cached->data + at, end - at);
        at = end;
    }
    pthread_mutex_lock(&file->lock);
    bale_extent_buffer_unref(cached);
    if (err == BALE_OK && bale_file_is_behind(file))
        err = BALE_E_STALE;
    if (err != BALE_OK) {
        free(data);
        return err;
    }
    add_piece(read, NULL, data, span->to - span->from);
    return BALE_OK;
}

/* Whether this is a small read, outside of a stream, of a chunk that was not requested lately. */
static bool requested_once(struct bale_file *file, const struct span *span)
{
    uint64_t start = span->number * file->extent + span->from;

    return span->to - span->from < (1u << BALE_CHUNK_LOG2_DEFAULT) / 2 && !file->stream_window &&
           !bale_admission_admits(file->volume->admission, file, start);
}

/* Takes one span, reading it into the cache first if it is not there. Under file->lock; may drop
 * it. BALE_E_STALE: the extent size has changed, or the container has moved. */
static int read_span(struct bale_file *file, const struct span *span, struct bale_read *read,
                     struct bale_scratch *scratch)
{
    uint32_t unit = file->extent;
    uint64_t epoch = file->epoch;
    bool narrow = false;

    while (!take_cached(file, span, read)) {
        struct bale_extent *extent = bale_extent_find(&file->table, span->number);
        if (extent && (extent->filling & span->blocks)) {
            bale_fill_await(file, extent);
            goto next;
        }
        if (!extent && requested_once(file, span)) {
            atomic_fetch_add_explicit(&file->volume->stats.read_misses, 1, memory_order_relaxed);
            return read_bounce(file, NULL, span, read, scratch);
        }
        if (!extent || !bale_extent_has_room(extent, span->to)) {
            /* While other blocks are filled the buffer cannot be replaced. */
            if (extent && extent->filling) {
                bale_fill_await(file, extent);
                goto next;
            }
            struct bale_extent *roomy = bale_extent_get(
                file, span->number, bale_extent_chunk_end(file, span->number, span->to));
            if (!roomy)
                return read_bounce(file, extent, span, read, scratch);
            extent = roomy;
        }
        atomic_fetch_add_explicit(&file->volume->stats.read_misses, 1, memory_order_relaxed);
        /* Decoding yields whole chunks: keep the rest of them too, unless that is what is
         * damaged. */
        uint64_t wide = bale_extent_widen(extent, span->blocks);
        uint64_t wanted = wide & span->blocks;
        narrow = narrow || wide == wanted;
        int err = bale_extent_fill(extent, narrow ? wanted : wide, scratch);
        if (err != BALE_OK && err != BALE_E_STALE) {
            if (narrow)
                return err;
            narrow = true;
        }
    next:
        if (file->extent != unit || bale_file_is_behind(file) || file->epoch != epoch)
            return BALE_E_STALE;
    }
    return BALE_OK;
}

/* Read-ahead fills extents in the order of the file: a read that waits for the last one first is
 * woken once. Under file->lock, which it drops. */
static void await_last(struct bale_file *file, uint64_t offset, uint64_t end)
{
    for (uint64_t number = (end - 1) / file->extent; number > offset / file->extent; number--) {
        struct bale_extent *extent = bale_extent_find(&file->table, number);
        if (extent && extent->filling) {
            bale_fill_await(file, extent);
            return;
        }
    }
}

/* A read that meets damage yields nothing: the kernel would take a short read for the end of the
 * file and show zeros there. It requests smaller pieces next. */
static void read_finish(struct bale_file *file, struct read_op *op, int err)
{
    int64_t result = err == BALE_OK ? (int64_t)op->read->length : err;

    if (err != BALE_OK)
        bale_read_release(op->read);
    else
        atomic_fetch_add_explicit(&file->volume->stats.read, op->read->length,
                                  memory_order_relaxed);
    bale_pool_job_blocks_no_more();
    op->done(op->arg, result);
    bale_file_unref(file);
    free(op);
}

/* Reads from *at on, until the end or until the container has moved: BALE_E_STALE. Under
 * file->lock, which it drops. */
static int read_from(struct bale_file *file, struct read_op *op, uint64_t *at,
                     struct bale_scratch *scratch)
{
    uint64_t epoch = file->epoch;
    uint64_t end = clip(file, op->offset, op->length);
    struct span span;
    int err = BALE_OK;

    if (end > *at)
        await_last(file, *at, end);
    while (err == BALE_OK && file->epoch == epoch && next_span(file, *at, end, &span)) {
        err = read_span(file, &span, op->read, scratch);
        if (err == BALE_OK) {
            leave_to_caller(file, &span);
            *at += span.to - span.from;
        }
        bale_file_catch_up(file);
        err = err == BALE_E_STALE ? BALE_OK : err;
    }
    return err == BALE_OK && file->epoch != epoch ? BALE_E_STALE : err;
}

/* Reading ahead is no access, so the descriptor may have had O_NOATIME. The first read sets the
 * access time, as reading the container would. */
static void touch(struct bale_file *file)
{
    struct bale_io *io = bale_container_io(file->container);
    uint8_t byte;
    size_t got;

    (void)io->ops->read(io, &byte, sizeof byte, 0, &got);
}

static void read_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct read_op *op = (struct read_op *)job;
    struct bale_file *file = op->file;
    int err = scratch ? BALE_E_STALE : BALE_E_NOMEM;
    uint64_t at = op->offset;

    if (op->touches)
        touch(file);
    pthread_mutex_lock(&file->lock);
    bale_file_catch_up(file);
    uint32_t unit = file->extent; /* the pieces have room for spans of this extent size */
    /* All that is read belongs to one commit. If a writer commits faster than all of it can be
     * read, only each extent does. */
    for (unsigned tries = 1; err == BALE_E_STALE; tries++) {
        err = tries < BALE_MOVED_TRIES ? read_from(file, op, &at, scratch) : BALE_E_IO;
        if (err == BALE_E_STALE && (tries < ONE_COMMIT_TRIES || file->extent != unit)) {
            unit = file->extent;
            drop_pieces(op->read);
            at = op->offset;
        }
    }
    pthread_mutex_unlock(&file->lock);
    read_finish(file, op, err);
}

/* Everything was in the cache. The program gets it first: starting to read ahead wakes threads,
 * which takes as long as a request. */
static void read_hit(struct bale_file *file, uint64_t offset, uint64_t end, struct bale_read *read,
                     bale_file_done *done, void *arg)
{
    struct bale_volume *volume = file->volume;

    atomic_fetch_add_explicit(&volume->stats.read_hits, (uint64_t)read->count,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&volume->stats.read, read->length, memory_order_relaxed);
    bale_file_ref(file);
    done(arg, (int64_t)read->length);
    pthread_mutex_lock(&file->lock);
    struct bale_fetch *ahead = bale_readahead_note(file, offset, end);
    pthread_mutex_unlock(&file->lock);
    bale_readahead_submit(volume, ahead);
    bale_file_unref(file);
}

void bale_file_read(struct bale_file *file, uint64_t offset, size_t length, struct bale_read *read,
                    bale_file_done *done, void *arg)
{
    int err = begin_read(read, length / BALE_EXTENT_MIN + 2); /* the extent size may change */

    if (err != BALE_OK) {
        done(arg, err);
        return;
    }
    pthread_mutex_lock(&file->lock);
    bale_file_catch_up(file);
    uint64_t end = clip(file, offset, length);
    bool hit = read_cached(file, offset, end, read);
    bool touches = !hit && file->untouched;
    file->untouched = file->untouched && !touches;
    struct bale_fetch *ahead = hit ? NULL : bale_readahead_note(file, offset, end);
    pthread_mutex_unlock(&file->lock);
    bale_readahead_submit(file->volume, ahead);
    if (hit) {
        read_hit(file, offset, end, read, done, arg);
        return;
    }
    struct read_op *op = malloc(sizeof *op);
    if (!op) {
        bale_read_release(read);
        done(arg, BALE_E_NOMEM);
        return;
    }
    *op = (struct read_op){
        .job = {.run = read_job, .turn.user = bale_working_for, .writes_nothing = true},
        .file = bale_file_ref(file),
        .offset = offset,
        .length = length,
        .touches = touches,
        .read = read,
        .done = done,
        .arg = arg};
    bale_pool_run(file->volume->pool, file->volume->readers, &op->job);
}
