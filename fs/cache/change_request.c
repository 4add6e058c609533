/* The calls of file.h that change a file's container: each queues a change. */
#include <sys/stat.h>

#include "format/err.h"
#include "fs/cache/change.h"

static void submit_change(struct bale_change *change, bale_file_done *done, void *arg)
{
    if (change)
        bale_change_offer(change);
    else
        done(arg, BALE_E_NOMEM);
}

void bale_file_truncate(struct bale_file *file, uint64_t size, bale_file_done *done, void *arg)
{
    if (size > BALE_SIZE_MAX) {
        done(arg, BALE_E_TOOBIG);
        return;
    }
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_TRUNCATE, done, arg);
    if (change)
        change->offset = size;
    submit_change(change, done, arg);
}

void bale_file_allocate(struct bale_file *file, enum bale_allocate how, uint64_t offset,
                        uint64_t length, bale_file_done *done, void *arg)
{
    if (length == 0 || offset > BALE_SIZE_MAX - length) {
        done(arg, length == 0 ? BALE_E_INVALID : BALE_E_TOOBIG);
        return;
    }
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_ALLOCATE, done, arg);
    if (change) {
        change->how = how;
        change->offset = offset;
        change->length = length;
    }
    submit_change(change, done, arg);
}

void bale_file_set_times(struct bale_file *file, const struct timespec *atime,
                         const struct timespec *mtime, bale_file_done *done, void *arg)
{
    static const struct timespec omit = {0, UTIME_OMIT};
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_TIMES, done, arg);

    if (change) {
        change->atime = atime ? *atime : omit;
        change->mtime = mtime ? *mtime : omit;
    }
    if (!change || !mtime || !bale_change_note_times(change))
        submit_change(change, done, arg);
}

void bale_file_set_attr(struct bale_file *file, unsigned fields,
                        const struct bale_container_attr *attr, bale_file_done *done, void *arg)
{
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_ATTR, done, arg);

    if (change) {
        change->fields = fields;
        change->attr = *attr;
    }
    submit_change(change, done, arg);
}

bool bale_file_is_scrubbed(struct bale_file *file)
{
    struct bale_container_attr attr;

    pthread_mutex_lock(&file->lock);
    bool busy = file->change;
    bool dirty = file->dirty || file->attr_dirty;
    pthread_mutex_unlock(&file->lock);
    bale_container_attr(file->container, &attr);
    /* A commit of dirty data gives up space only if the container has stored something before. */
    return !busy && !bale_container_has_slack(file->container) && (!dirty || attr.generation == 0);
}

void bale_file_scrub(struct bale_file *file, bale_file_done *done, void *arg)
{
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_SCRUB, done, arg);

    submit_change(change, done, arg);
}

/* idles: does nothing if the file is idle and, with durable, its last commit is durable. */
static void flush_file(struct bale_file *file, bool idles, bool durable, bale_file_done *done,
                       void *arg)
{
    pthread_mutex_lock(&file->lock);
    bool idle = idles && !file->dirty && !file->attr_dirty && !file->change &&
                (!durable || bale_container_is_durable(file->container));
    int err = idle ? file->error : BALE_OK;
    if (idle)
        file->error = BALE_OK;
    pthread_mutex_unlock(&file->lock);
    if (idle) {
        done(arg, err);
        return;
    }
    struct bale_change *change = bale_change_create(file, BALE_CHANGE_FLUSH, done, arg);
    if (change)
        change->durable = durable;
    submit_change(change, done, arg);
}

void bale_file_flush(struct bale_file *file, bool durable, bale_file_done *done, void *arg)
{
    flush_file(file, !durable, durable, done, arg);
}

void bale_file_sync(struct bale_file *file, bale_file_done *done, void *arg)
{
    flush_file(file, true, true, done, arg);
}
