/* Closing a file: the last reference is gone, so no other thread can reach it. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/change.h"
#include "fs/cache/extent.h"
#include "fs/cache/rounds.h"

/* Closes the container; the result is bale_container_close's. */
static int close_container(struct bale_file *file)
{
    struct bale_volume *volume = file->volume;
    bale_memory_count(volume->memory, -(int64_t)atomic_load(&file->counted));
    int left = bale_container_close(file->container);

    bale_volume_tell_space(volume);
    if (left >= BALE_OK || file->discarded)
        return left;
    bale_log(BALE_LOG_ERROR, "%s: the backing file system lost data when it was closed: %s: %s",
             file->label, bale_err_text(left), "write the file again");
    atomic_fetch_add(&volume->stats.errors, 1);
    bale_lost_add(&volume->lost, file->ino, file->label, left);
    bale_volume_taint(volume);
    return left;
}

/* Sets *last to the inode as the close leaves it. False: it is not known, as the close changes it,
 * or nobody needs it. */
static bool stat_last(const struct bale_file *file, struct stat *last)
{
    return !file->discarded && file->ctime.tv_sec != 0 &&
           bale_container_closes_silently(file->container) && fstat(file->fd, last) == 0;
}

void bale_file_close_run(struct bale_change *change, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;
    int err = change->error;
    if (err == BALE_E_NOMEM) {
        /* Do not drop data for lack of memory: wait until other work has ended and freed some. */
        usleep(10000);
        change->error = BALE_OK;
        bale_pool_submit(volume->pool, &change->job);
        return;
    }
    if (err != BALE_OK) {
        bale_log(BALE_LOG_ERROR, "%s: %llu bytes could not be stored: %s: %s", file->label,
                 (unsigned long long)file->dirty, bale_err_text(err),
                 err == BALE_E_CORRUPT ? "what was stored before is damaged: restore it from a copy"
                                       : "free space or check the disk");
        atomic_fetch_add(&volume->stats.errors, 1);
        bale_lost_add(&volume->lost, file->ino, file->label, err);
    }
    pthread_mutex_lock(&file->lock);
    bool drops = file->dirty > 0;
    bale_extents_detach(file, 0, UINT64_MAX);
    file->attr_dirty = false;
    bale_volume_add_dirty(file, 0);
    pthread_mutex_unlock(&file->lock);
    if (drops)
        bale_volume_wake(volume);
    struct stat last;
    bool is_last = stat_last(file, &last);
    int left = close_container(file);
    err = err != BALE_OK || left > 0 ? err : left;
    bale_file_closed *closed = file->closed;
    void *arg = file->closed_arg;
    free(change);
    if (closed)
        closed(arg, left != BALE_OK, is_last ? &last : NULL);
    pthread_mutex_destroy(&file->lock);
    free(file->table.slots);
    bale_rounds_free(file);
    free(file->label);
    bale_waiters_complete(bale_volume_remove_file(file), err);
    free(file);
}
