/* Running the changes of a file: sizes, holes, times, attributes. Each kind flushes what is dirty
 * first, goes on in its _after_flush function (bale_flush_then) and ends with bale_change_end. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/sync.h"
#include "fs/base/timespec.h"
#include "fs/cache/change.h"
#include "fs/cache/copy.h"
#include "fs/cache/extent.h"
#include "fs/cache/flush.h"
#include "fs/cache/lost.h"
#include "fs/cache/reserve.h"
#include "fs/cache/rewrite.h"
#include "fs/cache/rounds.h"

/* Begins a transaction, calls edit, which changes the attributes and the container, and commits. If
 * edit fails, abandons the transaction. */
static int transact(struct bale_change *change,
                    int (*edit)(struct bale_change *change, struct bale_container_attr *attr))
{
    struct bale_file *file = change->file;
    struct bale_container_attr attr;
    uint64_t generation;
    int err = bale_container_begin(file->container, &generation);

    if (err != BALE_OK)
        return err;
    bale_container_attr(file->container, &attr);
    err = edit(change, &attr);
    if (err == BALE_OK)
        err = bale_container_set_attr(file->container, &attr);
    if (err != BALE_OK) {
        bale_container_abandon(file->container);
        return err;
    }
    change->changed = true;
    return bale_reserve_commit(file);
}

static int edit_size(struct bale_change *change, struct bale_container_attr *attr)
{
    attr->size = change->offset;
    if (change->offset == 0) {
        attr->rounds = BALE_ROUNDS_UNDECIDED;
        attr->greatest_step = 0;
    }
    attr->mtime = bale_nanoseconds_of(change->mtime);
    return BALE_OK;
}

/* Makes the change's time the file's, unless a write has set a later one meanwhile. Under
 * file->lock. */
static void show_time(struct bale_change *change)
{
    struct bale_file *file = change->file;

    if (!file->attr_dirty || file->mtime.tv_sec < change->mtime.tv_sec ||
        (file->mtime.tv_sec == change->mtime.tv_sec && file->mtime.tv_nsec < change->mtime.tv_nsec))
        file->mtime = change->mtime;
    file->ctime = bale_file_now_locked(file);
}

static int set_size(struct bale_change *change)
{
    struct bale_file *file = change->file;

    change->mtime = bale_file_now(file);
    int err = transact(change, edit_size);
    if (err == BALE_OK) {
        bale_container_give_back(file->container);
        bale_reserve_note_freed(file->volume);
        if (change->offset == 0)
            bale_lost_forget(&file->volume->lost, file->ino);
    }
    if (change->changed) {
        pthread_mutex_lock(&file->lock);
        /* Cut after the container, so that a read of the container cannot bring back what is cut
         * off. */
        bale_extents_cut(file, change->offset);
        if (change->offset == 0) {
            file->greatest_step = 0;
            bale_rounds_set(file, BALE_ROUNDS_UNDECIDED);
        }
        bale_rounds_forget(file, change->offset < file->size ? change->offset : file->size,
                           UINT64_MAX);
        show_time(change);
        /* If the commit failed, the next one stores the size. */
        file->attr_dirty = file->attr_dirty || err != BALE_OK;
        file->size = change->offset;
        bale_volume_add_dirty(file, 0);
        pthread_mutex_unlock(&file->lock);
    }
    return err;
}

static int edit_allocation(struct bale_change *change, struct bale_container_attr *attr)
{
    const struct bale_file *file = change->file;
    uint64_t end = change->offset + change->length;
    bool grows = change->how == BALE_ALLOCATE || change->how == BALE_ALLOCATE_ZERO;
    bool cuts = change->how != BALE_ALLOCATE && change->how != BALE_ALLOCATE_KEEP_SIZE;

    if (grows && end > attr->size)
        attr->size = end;
    end = end < attr->size ? end : attr->size;
    if (cuts && change->offset < end) {
        int err = bale_container_cut(file->container, change->offset, end - change->offset);
        if (err != BALE_OK)
            return err;
    }
    change->changed = cuts;
    if (change->how != BALE_ALLOCATE_PUNCH && change->offset < end) {
        /* Set the new size first: no segment may reach beyond it. */
        int err = bale_container_set_attr(file->container, attr);
        if (err == BALE_OK)
            err = bale_container_preallocate(file->container, change->offset, end - change->offset);
        if (err != BALE_OK)
            return err;
    }
    if (change->how != BALE_ALLOCATE_KEEP_SIZE)
        attr->mtime = bale_nanoseconds_of(change->mtime);
    return BALE_OK;
}

static int allocate_range(struct bale_change *change)
{
    struct bale_file *file = change->file;
    uint64_t end = change->offset + change->length;
    bool grows = change->how == BALE_ALLOCATE || change->how == BALE_ALLOCATE_ZERO;

    change->mtime = bale_file_now(file);
    int err = transact(change, edit_allocation);
    if (err == BALE_OK && change->how == BALE_ALLOCATE_PUNCH) {
        bale_container_give_back(file->container);
        bale_reserve_note_freed(file->volume);
    }
    pthread_mutex_lock(&file->lock);
    if (change->changed) {
        if (change->how != BALE_ALLOCATE && change->how != BALE_ALLOCATE_KEEP_SIZE)
            bale_extents_clear(file, change->offset, end);
        if (change->how != BALE_ALLOCATE && change->how != BALE_ALLOCATE_KEEP_SIZE)
            bale_rounds_forget(file, change->offset, end);
        if (grows && end > file->size)
            bale_rounds_forget(file, file->size, end);
        file->size = grows && err == BALE_OK && end > file->size ? end : file->size;
        if (change->how == BALE_ALLOCATE_KEEP_SIZE)
            file->ctime = bale_file_now_locked(file);
        else
            show_time(change);
        file->attr_dirty = file->attr_dirty || err != BALE_OK;
        bale_volume_add_dirty(file, 0);
    }
    pthread_mutex_unlock(&file->lock);
    return err;
}

static int edit_mtime(struct bale_change *change, struct bale_container_attr *attr)
{
    attr->mtime = bale_nanoseconds_of(change->mtime);
    return BALE_OK;
}

static int set_times(struct bale_change *change)
{
    struct bale_file *file = change->file;
    struct timespec times[2] = {change->atime, change->mtime};
    bool modified = change->mtime.tv_nsec != UTIME_OMIT;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    if (attr.generation > 0) {
        /* A flush that had something to store has stored the time, too (changed). */
        int err = modified && !change->changed ? transact(change, edit_mtime) : BALE_OK;
        if (err != BALE_OK)
            return err;
        times[1].tv_nsec = UTIME_OMIT;
    }
    bool inode = times[0].tv_nsec != UTIME_OMIT || times[1].tv_nsec != UTIME_OMIT;
    if (inode && futimens(file->fd, times) != 0)
        return bale_err_from_errno(errno);
    if (modified) {
        pthread_mutex_lock(&file->lock);
        file->mtime = change->mtime;
        file->ctime = bale_file_now_locked(file);
        pthread_mutex_unlock(&file->lock);
    }
    return BALE_OK;
}

static int edit_attr(struct bale_change *change, struct bale_container_attr *attr)
{
    if (change->fields & BALE_ATTR_SETTING) {
        attr->setting = change->attr.setting;
        attr->rounds = (uint8_t)bale_rounds_first(&change->attr.setting, attr->size);
        attr->setting_explicit = change->attr.setting_explicit;
    }
    if (change->fields & BALE_ATTR_EXTENT) {
        attr->extent = change->attr.extent;
        attr->extent_explicit = change->attr.extent_explicit;
    }
    if (change->fields & BALE_ATTR_MODE)
        attr->mode = change->attr.mode;
    attr->mtime = bale_nanoseconds_of(change->mtime);
    return BALE_OK;
}

/* Gives the file's extents their new size. False: what was written meanwhile lies in extents of the
 * old size. Under file->lock, which it drops. */
static bool resize_extents(struct bale_file *file, uint32_t extent)
{
    /* A thread that fills an extent counts in blocks of the old size, even if the extent has been
     * detached meanwhile. */
    while (!file->dirty && file->filling)
        bale_fill_await(file, NULL);
    if (file->dirty)
        return false;
    bale_extents_detach(file, 0, UINT64_MAX); /* there is no data: they hold zeros */
    bale_file_set_extent(file, extent);
    return true;
}

/* Gives the backing inode the permissions with which its owner can still use the container. Call it
 * before the commit: a set-id bit then counts when the root has it too, and an old one stops
 * counting at once. */
static int set_inode_mode(struct bale_file *file, uint16_t mode)
{
    if (mode & (S_ISUID | S_ISGID))
        bale_io_keep_set_id(bale_container_io(file->container));
    return fchmod(file->fd, bale_root_backing_mode(mode)) == 0 ? BALE_OK
                                                               : bale_err_from_errno(errno);
}

/* Call it after the commit, which loses the inode's set-id bits and puts them back if it can. */
static int check_set_id(struct bale_file *file, uint16_t mode)
{
    mode_t wanted = mode & (S_ISUID | S_ISGID);
    struct stat st;

    if (!wanted)
        return BALE_OK;
    if (fstat(file->fd, &st) != 0)
        return bale_err_from_errno(errno);
    return wanted & ~st.st_mode ? BALE_E_PERM : BALE_OK;
}

static int commit_attr(struct bale_change *change)
{
    struct bale_file *file = change->file;
    bool mode = change->fields & BALE_ATTR_INODE_MODE;
    int err = mode ? set_inode_mode(file, change->attr.mode) : BALE_OK;

    if (err == BALE_OK)
        err = transact(change, edit_attr);
    if (err == BALE_OK && mode)
        err = check_set_id(file, change->attr.mode);
    return err;
}

static int set_attr(struct bale_change *change)
{
    struct bale_file *file = change->file;

    pthread_mutex_lock(&file->lock);
    change->mtime = file->mtime;
    pthread_mutex_unlock(&file->lock);
    int err = commit_attr(change);
    if (err != BALE_OK)
        return err;
    pthread_mutex_lock(&file->lock);
    file->ctime = bale_file_now_locked(file);
    if (change->fields & BALE_ATTR_SETTING) {
        file->setting = change->attr.setting;
        bale_rounds_set(file, bale_rounds_first(&file->setting, file->size));
    }
    bool resize = (change->fields & BALE_ATTR_EXTENT) && change->attr.extent != file->extent;
    bool revert = resize && !resize_extents(file, change->attr.extent);
    if (revert)
        change->attr.extent = file->extent;
    pthread_mutex_unlock(&file->lock);
    if (!revert)
        return BALE_OK;
    err = transact(change, edit_attr);
    return err == BALE_OK ? BALE_E_INVALID : err;
}

static void change_after_flush(struct bale_change *change, struct bale_scratch *scratch)
{
    static int (*const steps[])(struct bale_change * change) = {
        [BALE_CHANGE_TRUNCATE] = set_size,
        [BALE_CHANGE_ALLOCATE] = allocate_range,
        [BALE_CHANGE_TIMES] = set_times,
        [BALE_CHANGE_ATTR] = set_attr,
    };

    (void)scratch;
    if (change->error == BALE_OK)
        change->error = steps[change->kind](change);
    bale_change_end(change);
}

static void scrub_after_flush(struct bale_change *change, struct bale_scratch *scratch)
{
    struct bale_file *file = change->file;

    if (change->error == BALE_OK) {
        change->error = scratch ? bale_container_scrub(file->container, scratch) : BALE_E_NOMEM;
        if (change->error == BALE_E_IO)
            bale_volume_taint(file->volume);
    }
    bale_change_end(change);
}

static int sync_container(struct bale_file *file, bool durable)
{
    /* Even if the container has nothing to sync, the inode may: its mode, its owner, or its
     * creation. */
    bool inode = durable && bale_container_is_durable(file->container);

    atomic_fetch_add(&file->volume->stats.syncs, 1);
    int err = bale_container_sync(file->container);
    if (err == BALE_OK && inode && bale_sync_file(file->fd) != 0)
        err = bale_err_from_errno(errno);
    if (err != BALE_OK) {
        bale_volume_taint(file->volume);
        return err;
    }
    (void)bale_container_trim(file->container);
    bale_volume_tell_space(file->volume);
    return BALE_OK;
}

static void sync_after_flush(struct bale_change *change, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = change->file;
    struct bale_container_attr attr;
    bale_container_attr(file->container, &attr);
    /* A sync frees the space that commits have given up, which must not grow without bound. */
    bool due =
        bale_container_deferred_bytes(file->container) > attr.stored / 8 + ((uint64_t)16 << 20);
    if (change->error == BALE_OK && (change->durable || due))
        change->error = sync_container(file, change->durable);
    bale_change_end(change);
}

void bale_change_run(struct bale_job *job, struct bale_scratch *scratch)
{
    static bale_flush_then *const then[] = {
        [BALE_CHANGE_FLUSH] = sync_after_flush,      [BALE_CHANGE_FLUSH_STREAM] = sync_after_flush,
        [BALE_CHANGE_TRUNCATE] = change_after_flush, [BALE_CHANGE_ALLOCATE] = change_after_flush,
        [BALE_CHANGE_TIMES] = change_after_flush,    [BALE_CHANGE_ATTR] = change_after_flush,
        [BALE_CHANGE_SCRUB] = scrub_after_flush,     [BALE_CHANGE_COPY] = bale_copy_run,
        [BALE_CHANGE_CLOSE] = bale_file_close_run,
    };
    struct bale_change *change = (struct bale_change *)job;

    if (change->kind == BALE_CHANGE_TRUNCATE && change->offset == 0) {
        /* This needs no flush: nothing of the old contents survives. */
        change_after_flush(change, scratch);
    } else if (change->kind == BALE_CHANGE_RECOMPRESS) {
        bale_recompress_store(change);
        sync_after_flush(change, scratch);
    } else {
        bale_flush_run(change, scratch, then[change->kind]);
    }
}
