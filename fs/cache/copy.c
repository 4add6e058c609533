/* bale_file_copy. The source is only read, beside its changes: a frame that moves meanwhile fails
 * its check and is looked up again. The target has a change of its own for the whole copy. */
#include "fs/cache/copy.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/cache/change.h"
#include "fs/cache/copy_frames.h"
#include "fs/cache/extent.h"
#include "fs/cache/reserve.h"
#include "fs/cache/rounds.h"

/* ---- Whether it can be done ---- */

static bool same_setting(const struct bale_setting *a, const struct bale_setting *b)
{
    return a->codec == b->codec && a->parameter == b->parameter &&
           bale_field_equal(&a->field, &b->field);
}

/* Whether the files have the same setting and extent size, which are then set in frames. */
static bool files_agree(struct bale_copy_frames *frames)
{
    struct bale_file *from = frames->from, *to = frames->to;

    pthread_mutex_lock(&from->lock);
    frames->setting = from->setting;
    frames->extent = from->extent;
    pthread_mutex_unlock(&from->lock);
    pthread_mutex_lock(&to->lock);
    bool agree = same_setting(&frames->setting, &to->setting) && frames->extent == to->extent &&
                 !bale_codec_is_lossy(to->setting.codec) && !to->discarded &&
                 to->refused == BALE_OK;
    pthread_mutex_unlock(&to->lock);
    return agree;
}

/* With which steps what the file has may have been rounded. */
static uint64_t step_of(struct bale_file *file)
{
    pthread_mutex_lock(&file->lock);
    uint64_t step = file->greatest_step;
    pthread_mutex_unlock(&file->lock);
    return step;
}

void bale_file_copy_otherwise(struct bale_file *from, struct bale_file *to)
{
    uint64_t step = step_of(from);

    pthread_mutex_lock(&to->lock);
    bale_rounds_raise(to, step);
    pthread_mutex_unlock(&to->lock);
}

static bool is_dirty_in(struct bale_file *file, uint64_t offset, uint64_t end)
{
    bool dirty = false;

    pthread_mutex_lock(&file->lock);
    for (struct bale_extent *e = file->dirty_first; e && !dirty; e = e->dirty_next)
        dirty = e->number * file->extent < end && (e->number + 1) * file->extent > offset;
    pthread_mutex_unlock(&file->lock);
    return dirty;
}

/* 1: the container has data in the range; or a negative bale_err. */
static int has_data(struct bale_file *file, uint64_t offset, uint64_t end)
{
    struct bale_segment s = {.offset = offset};
    int err;

    do
        err = bale_container_map(file->container, s.offset + s.length, &s);
    while (err == BALE_OK && s.offset < end && s.flags & BALE_SEGMENT_UNWRITTEN);
    if (err == BALE_E_NOENT)
        return 0;
    return err == BALE_OK ? s.offset < end : err;
}

/* Where the copy ends: extents are copied whole, or as far as they have data. offset: nothing can
 * be copied. */
static uint64_t end_of(struct bale_file *from, const struct bale_copy *copy, uint32_t extent)
{
    struct bale_container_attr attr;

    bale_container_attr(from->container, &attr);
    uint64_t start = copy->offset - copy->offset % extent;
    if (copy->offset >= attr.size || has_data(from, start, copy->offset) != 0)
        return copy->offset;
    if (copy->length >= attr.size - copy->offset)
        return attr.size;
    uint64_t end = copy->offset + copy->length, last = end - end % extent;
    if (end == last || has_data(from, end, last + extent) == 0)
        return end;
    return last > copy->offset ? last : copy->offset;
}

/* ---- The target ---- */

/* Takes back what the copy has changed of the container in memory. Nothing of it is on disk. */
static void undo_copy(struct bale_file *file, const struct bale_copy_frames *frames,
                      const struct bale_container_attr *before)
{
    (void)bale_container_cut(file->container, frames->offset, frames->at - frames->offset);
    (void)bale_container_set_attr(file->container, before);
}

static int put_all(struct bale_file *file, const struct bale_copy_frames *frames,
                   const struct bale_container_attr *before, struct timespec mtime)
{
    struct bale_container_attr attr = *before;

    attr.mtime = bale_nanoseconds_of(mtime);
    attr.size = frames->at > attr.size ? frames->at : attr.size;
    if (frames->greatest_step > attr.greatest_step)
        attr.greatest_step = frames->greatest_step;
    int err = bale_container_set_attr(file->container, &attr);
    for (size_t i = 0; i < frames->count && err == BALE_OK; i++)
        err = bale_container_put(file->container, &frames->made[i]);
    return err;
}

/* Ends the transaction: commits what was copied, or leaves everything as it was. */
static int commit_frames(struct bale_file *file, const struct bale_copy_frames *frames,
                         struct timespec mtime)
{
    struct bale_container_attr before;
    uint64_t generation;

    bale_container_attr(file->container, &before);
    int err = put_all(file, frames, &before, mtime);
    if (err == BALE_OK) {
        err = bale_reserve_commit(file);
        if (err == BALE_OK || bale_container_begin(file->container, &generation) != BALE_OK)
            return err;
    }
    undo_copy(file, frames, &before);
    bale_container_abandon(file->container);
    return err;
}

/* Drops what the cache has of the range, which are zeros, but keeps what is dirty. Under
 * file->lock, which waiting drops. */
static void drop_clean(struct bale_file *file, uint64_t offset, uint64_t end)
{
    struct bale_extent *extent, *next;

again:
    for (extent = bale_extent_next(&file->table, NULL); extent; extent = next) {
        uint64_t start = extent->number * file->extent, stop = start + file->extent;
        next = bale_extent_next(&file->table, extent);
        if (start >= end || stop <= offset)
            continue;
        if (extent->filling) {
            bale_fill_await(file, extent);
            goto again;
        }
        uint64_t blocks = bale_blocks(file, offset > start ? offset - start : 0,
                                      (end < stop ? end : stop) - start);
        extent->valid &= ~blocks | extent->dirty | extent->flushing;
        if (!extent->valid)
            bale_extent_detach(extent);
    }
}

/* Shows the copied bytes. */
static void show_copy(struct bale_file *file, const struct bale_copy_frames *frames,
                      struct timespec mtime)
{
    pthread_mutex_lock(&file->lock);
    drop_clean(file, frames->offset, frames->at);
    bale_rounds_raise(file, frames->greatest_step);
    if (frames->at > file->size)
        file->size = frames->at;
    if (!file->attr_dirty)
        file->mtime = mtime;
    file->ctime = bale_file_now_locked(file);
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_add(&file->volume->stats.written, frames->at - frames->offset);
}

/* ---- The call ---- */

struct bale_copying {
    struct bale_file *from, *to; /* counted */
    struct bale_copy *copy;
    int64_t result;
    bale_file_done *done;
    void *arg;
};

static void copy_finish(void *arg, int64_t result)
{
    struct bale_copying *copying = arg;

    result = result < 0 ? result : copying->result;
    if (result == BALE_E_UNSUPPORTED)
        bale_file_copy_otherwise(copying->from, copying->to);
    copying->done(copying->arg, result);
    bale_file_unref(copying->from);
    bale_file_unref(copying->to);
    free(copying);
}

static bool is_given_up(const struct bale_copying *copying)
{
    return copying->copy->given_up && copying->copy->given_up(copying->arg);
}

/* The bytes copied, or a negative bale_err. */
static int64_t copy_some(struct bale_copying *copying, struct bale_scratch *scratch)
{
    struct bale_file *from = copying->from, *to = copying->to;
    struct bale_copy *copy = copying->copy;
    struct bale_copy_frames frames = {
        .from = from, .to = to, .offset = copy->offset, .at = copy->offset};

    if (is_given_up(copying))
        return BALE_E_CANCELLED;
    if (!files_agree(&frames))
        return BALE_E_UNSUPPORTED;
    frames.end = end_of(from, copy, frames.extent);
    if (frames.end == copy->offset || is_dirty_in(to, copy->offset, frames.end) ||
        has_data(to, copy->offset, frames.end) != 0)
        return BALE_E_UNSUPPORTED;
    int err = bale_container_begin(to->container, &frames.generation);
    if (err != BALE_OK)
        return err;
    struct timespec mtime = bale_file_now(to);
    /* Meanwhile the source may be emptied, and written with another setting. */
    uint64_t step = step_of(from);
    err = bale_copy_frames_write(&frames, scratch);
    frames.greatest_step = step_of(from);
    if (step > frames.greatest_step)
        frames.greatest_step = step;
    bool given_up = is_given_up(copying);
    if (given_up)
        err = BALE_E_CANCELLED;
    /* After an error, what came before it is a short copy. */
    if (!given_up && frames.at > frames.offset) {
        copy->untrusted = !atomic_load(&from->trusted);
        if (copy->untrusted)
            atomic_store(&to->trusted, false);
        err = commit_frames(to, &frames, mtime);
    } else {
        bale_container_abandon(to->container);
    }
    if (err == BALE_OK)
        show_copy(to, &frames, mtime);
    bale_copy_frames_clear(&frames);
    return err == BALE_OK ? (int64_t)(frames.at - frames.offset) : err;
}

void bale_copy_run(struct bale_change *change, struct bale_scratch *scratch)
{
    struct bale_copying *copying = change->copying;

    if (change->error == BALE_OK) {
        int64_t result = scratch ? copy_some(copying, scratch) : BALE_E_NOMEM;
        copying->result = result == BALE_E_CORRUPT ? BALE_E_UNSUPPORTED : result;
        /* These errors are not failures of the target. */
        bool refused = copying->result == BALE_E_UNSUPPORTED || copying->result == BALE_E_CANCELLED;
        change->error = result < 0 && !refused ? (int)result : BALE_OK;
    }
    bale_change_end(change);
}

/* Goes on with the copy: the source's dirty data is committed. */
static void copy_source_flushed(void *arg, int64_t result)
{
    struct bale_copying *copying = arg;
    struct bale_file *from = copying->from;

    if (result < 0) {
        /* Keep the error for those who wrote to the source; this caller did not. */
        pthread_mutex_lock(&from->lock);
        if (from->error == BALE_OK)
            from->error = (int)result;
        pthread_mutex_unlock(&from->lock);
        copy_finish(copying, BALE_E_UNSUPPORTED);
        return;
    }
    if (is_given_up(copying)) {
        copy_finish(copying, BALE_E_CANCELLED);
        return;
    }
    struct bale_change *change =
        bale_change_create(copying->to, BALE_CHANGE_COPY, copy_finish, copying);
    if (change) {
        change->copying = copying;
        bale_change_offer(change);
    } else {
        copy_finish(copying, BALE_E_NOMEM);
    }
}

void bale_file_copy(struct bale_file *from, struct bale_file *to, struct bale_copy *copy,
                    bale_file_done *done, void *arg)
{
    copy->untrusted = false;
    if (from == to || copy->length == 0 || copy->offset > BALE_SIZE_MAX - copy->length) {
        done(arg, BALE_E_UNSUPPORTED);
        return;
    }
    struct bale_copying *copying = calloc(1, sizeof *copying);
    if (!copying) {
        done(arg, BALE_E_NOMEM);
        return;
    }
    *copying = (struct bale_copying){.from = bale_file_ref(from),
                                     .to = bale_file_ref(to),
                                     .copy = copy,
                                     .done = done,
                                     .arg = arg};
    pthread_mutex_lock(&from->lock);
    bool dirty = from->dirty > 0;
    pthread_mutex_unlock(&from->lock);
    if (dirty)
        bale_file_flush(from, false, copy_source_flushed, copying);
    else
        copy_source_flushed(copying, BALE_OK);
}
