/* What the turns of a file do: sizes, holes, times, attributes. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/internal.h"

/* ---- What the kinds do. Each ends with bale_turn_end. ---- */

static void end_with(struct bale_turn *turn, int err)
{
    turn->error = err;
    bale_turn_end(turn);
}

/* Begins a transaction, lets change work on the attributes and the container, and commits. */
static int transact(struct bale_turn *turn,
                    int (*change)(struct bale_turn *turn, struct bale_container_attr *attr))
{
    struct bale_file *file = turn->file;
    struct bale_container_attr attr;
    uint64_t generation;
    int err = bale_container_begin(file->container, &generation);

    if (err != BALE_OK)
        return err;
    bale_container_attr(file->container, &attr);
    err = change(turn, &attr);
    if (err == BALE_OK)
        err = bale_container_set_attr(file->container, &attr);
    if (err != BALE_OK) {
        bale_container_abandon(file->container);
        return err;
    }
    turn->changed = true;
    return bale_file_commit(file);
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int change_size(struct bale_turn *turn, struct bale_container_attr *attr)
{
    attr->size = turn->offset;
    attr->mtime = nanoseconds(turn->mtime);
    return BALE_OK;
}

/* After the container, so that nothing read from it meanwhile brings back what is cut off. Under
 * file->lock. */
static void cut_cache(struct bale_file *file, uint64_t size)
{
    bale_extents_detach(file, (size + file->extent - 1) / file->extent, UINT64_MAX);
    struct bale_extent *edge;
    while (size % file->extent && (edge = bale_extent_find(file, size / file->extent))) {
        if (!edge->filling) {
            bale_extent_cut(edge, size % file->extent);
            break;
        }
        bale_extent_wait(file, edge);
    }
}

/* A write that came meanwhile may have set a later time. Under file->lock. */
static void note_changed(struct bale_turn *turn)
{
    struct bale_file *file = turn->file;

    if (!file->attr_dirty || file->mtime.tv_sec < turn->mtime.tv_sec ||
        (file->mtime.tv_sec == turn->mtime.tv_sec && file->mtime.tv_nsec < turn->mtime.tv_nsec))
        file->mtime = turn->mtime;
    file->ctime = bale_file_now_locked(file);
}

static void after_flush_truncate(struct bale_turn *turn, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = turn->file;
    if (turn->error != BALE_OK) {
        bale_turn_end(turn);
        return;
    }
    turn->mtime = bale_file_now(file);
    int err = transact(turn, change_size);
    if (turn->changed) {
        pthread_mutex_lock(&file->lock);
        cut_cache(file, turn->offset);
        note_changed(turn);
        /* Also if the commit failed: it goes out with the next. */
        file->attr_dirty = file->attr_dirty || err != BALE_OK;
        file->size = turn->offset;
        bale_volume_add_dirty(file, 0);
        pthread_mutex_unlock(&file->lock);
    }
    end_with(turn, err);
}

/* Nothing of the old contents survives: no need to write it out first. */
static void truncate_turn(struct bale_turn *turn, struct bale_scratch *scratch)
{
    if (turn->offset == 0)
        after_flush_truncate(turn, scratch);
    else
        bale_flush_run(turn, scratch, after_flush_truncate);
}

static int change_allocation(struct bale_turn *turn, struct bale_container_attr *attr)
{
    const struct bale_file *file = turn->file;
    uint64_t end = turn->offset + turn->length;
    bool keep = turn->how != BALE_ALLOCATE && turn->how != BALE_ALLOCATE_ZERO;
    int err = BALE_OK;

    if (!keep && end > attr->size)
        attr->size = end;
    end = end < attr->size ? end : attr->size;
    if (turn->how == BALE_ALLOCATE_PUNCH || turn->how == BALE_ALLOCATE_ZERO ||
        turn->how == BALE_ALLOCATE_ZERO_KEEP_SIZE) {
        err = turn->offset < end
                  ? bale_container_cut(file->container, turn->offset, end - turn->offset)
                  : BALE_OK;
        turn->changed = err == BALE_OK;
    }
    if (err == BALE_OK && turn->how != BALE_ALLOCATE_PUNCH && turn->offset < end) {
        /* The new size first: no segment reaches beyond it. */
        err = bale_container_set_attr(file->container, attr);
        if (err == BALE_OK)
            err = bale_container_preallocate(file->container, turn->offset, end - turn->offset);
    }
    if (turn->how != BALE_ALLOCATE_KEEP_SIZE)
        attr->mtime = nanoseconds(turn->mtime);
    return err;
}

/* Bytes [offset, end) of what is cached become zeros; what was written beside them meanwhile stays.
 * After the container, as for a truncation. Under file->lock. */
static void clear_cache(struct bale_file *file, uint64_t offset, uint64_t end)
{
again:
    for (size_t i = 0; i < file->buckets; i++) {
        for (struct bale_extent *e = file->table[i]; e; e = e->hash_next) {
            uint64_t start = e->number * file->extent, stop = start + e->buffer->capacity;
            uint64_t from = offset > start ? offset : start, to = end < stop ? end : stop;
            if (from >= to)
                continue;
            if (e->filling) {
                bale_extent_wait(file, e);
                goto again;
            }
            memset(e->buffer->data + (from - start), 0, to - from);
        }
    }
}

static void after_flush_allocate(struct bale_turn *turn, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = turn->file;
    if (turn->error != BALE_OK) {
        bale_turn_end(turn);
        return;
    }
    turn->mtime = bale_file_now(file);
    uint64_t end = turn->offset + turn->length;
    bool grows = turn->how == BALE_ALLOCATE || turn->how == BALE_ALLOCATE_ZERO;
    int err = transact(turn, change_allocation);
    pthread_mutex_lock(&file->lock);
    if (turn->changed) {
        if (turn->how != BALE_ALLOCATE && turn->how != BALE_ALLOCATE_KEEP_SIZE)
            clear_cache(file, turn->offset, end);
        file->size = grows && err == BALE_OK && end > file->size ? end : file->size;
        if (turn->how == BALE_ALLOCATE_KEEP_SIZE)
            file->ctime = bale_file_now_locked(file);
        else
            note_changed(turn);
        file->attr_dirty = file->attr_dirty || err != BALE_OK;
        bale_volume_add_dirty(file, 0);
    }
    pthread_mutex_unlock(&file->lock);
    end_with(turn, err);
}

static int change_mtime(struct bale_turn *turn, struct bale_container_attr *attr)
{
    attr->mtime = nanoseconds(turn->mtime);
    return BALE_OK;
}

static void after_flush_times(struct bale_turn *turn, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = turn->file;
    struct bale_container_attr attr;
    int err = turn->error;
    bale_container_attr(file->container, &attr);
    bool modified = turn->mtime.tv_nsec != UTIME_OMIT;
    if (err == BALE_OK && modified && attr.generation > 0)
        err = transact(turn, change_mtime);
    struct timespec times[2] = {turn->atime, turn->mtime};
    if (attr.generation > 0)
        times[1].tv_nsec = UTIME_OMIT;
    if (err == BALE_OK && futimens(file->fd, times) != 0)
        err = bale_err_from_errno(errno);
    if (err == BALE_OK && modified) {
        pthread_mutex_lock(&file->lock);
        file->mtime = turn->mtime;
        file->ctime = bale_file_now_locked(file);
        pthread_mutex_unlock(&file->lock);
    }
    end_with(turn, err);
}

static int change_attr(struct bale_turn *turn, struct bale_container_attr *attr)
{
    if (turn->what & BALE_ATTR_SETTING) {
        attr->setting = turn->attr.setting;
        attr->setting_explicit = turn->attr.setting_explicit;
    }
    if (turn->what & BALE_ATTR_EXTENT) {
        attr->extent = turn->attr.extent;
        attr->extent_explicit = turn->attr.extent_explicit;
    }
    if (turn->what & BALE_ATTR_MODE)
        attr->mode = turn->attr.mode;
    attr->mtime = nanoseconds(turn->mtime);
    return BALE_OK;
}

static void after_flush_attr(struct bale_turn *turn, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = turn->file;
    int err = turn->error;
    pthread_mutex_lock(&file->lock);
    turn->mtime = file->mtime;
    pthread_mutex_unlock(&file->lock);
    if (err == BALE_OK)
        err = transact(turn, change_attr);
    pthread_mutex_lock(&file->lock);
    if (err == BALE_OK)
        file->ctime = bale_file_now_locked(file);
    bool resize =
        err == BALE_OK && (turn->what & BALE_ATTR_EXTENT) && turn->attr.extent != file->extent;
    /* Who fills an extent counts in blocks of the old size, even if it was cut away meanwhile. */
    while (resize && !file->dirty && file->filling)
        bale_extent_wait(file, NULL);
    /* What was written meanwhile lies in extents of the old size. */
    bool back = resize && file->dirty;
    if (back) {
        turn->attr.extent = file->extent;
    } else if (resize) {
        bale_extents_detach(file, 0, UINT64_MAX); /* holes, if anything */
        bale_file_set_extent(file, turn->attr.extent);
    }
    pthread_mutex_unlock(&file->lock);
    if (back) {
        err = transact(turn, change_attr);
        err = err == BALE_OK ? BALE_E_INVALID : err;
    }
    end_with(turn, err);
}

static void after_flush(struct bale_turn *turn, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = turn->file;
    struct bale_container_attr attr;
    bale_container_attr(file->container, &attr);
    /* Space that waits for a sync must not add up. */
    bool due =
        bale_container_deferred_bytes(file->container) > attr.stored / 8 + ((uint64_t)16 << 20);
    if (turn->error == BALE_OK && (turn->durable || due)) {
        bool names = turn->durable && bale_container_is_durable(file->container);
        atomic_fetch_add(&file->volume->stats.syncs, 1);
        turn->error = bale_container_sync(file->container);
        /* Nothing to sync in the container: its mode, its owner or that it is there may be new. */
        if (turn->error == BALE_OK && names && fsync(file->fd) != 0)
            turn->error = bale_err_from_errno(errno);
        if (turn->error == BALE_OK)
            (void)bale_container_trim(file->container);
        else
            bale_volume_taint(file->volume);
    }
    bale_turn_end(turn);
}

void bale_turn_run(struct bale_job *job, struct bale_scratch *scratch)
{
    static void (*const then[])(struct bale_turn *, struct bale_scratch *) = {
        [BALE_TURN_FLUSH] = after_flush,
        [BALE_TURN_FLUSH_STREAM] = after_flush,
        [BALE_TURN_ALLOCATE] = after_flush_allocate,
        [BALE_TURN_TIMES] = after_flush_times,
        [BALE_TURN_ATTR] = after_flush_attr,
        [BALE_TURN_CLOSE] = bale_file_finish_close,
    };
    struct bale_turn *turn = (struct bale_turn *)job;

    if (turn->kind == BALE_TURN_TRUNCATE) {
        truncate_turn(turn, scratch);
    } else if (turn->kind == BALE_TURN_RECOMPRESS) {
        bale_recompress_store(turn);
        after_flush(turn, scratch);
    } else {
        bale_flush_run(turn, scratch, then[turn->kind]);
    }
}
