#include "fs/cache/change.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"

struct bale_change *bale_change_create(struct bale_file *file, enum bale_change_kind kind,
                                       bale_file_done *done, void *arg)
{
    struct bale_change *change = calloc(1, sizeof *change);
    struct bale_waiter *waiter = done ? malloc(sizeof *waiter) : NULL;

    if (!change || (done && !waiter)) {
        free(change);
        free(waiter);
        return NULL;
    }
    if (waiter)
        *waiter = (struct bale_waiter){done, arg, NULL};
    change->file = bale_file_ref(file);
    change->job.turn.user = atomic_load(&file->user);
    change->kind = kind;
    change->waiters = waiter;
    return change;
}

void bale_waiters_complete(struct bale_waiter *waiter, int err)
{
    while (waiter) {
        struct bale_waiter *next = waiter->next;
        waiter->done(waiter->arg, err);
        free(waiter);
        waiter = next;
    }
}

/* ---- The queue of a file ---- */

/* The change that serves the given one, if both are flushes: the last one that waits, as it takes
 * what is dirty only when it begins. If none waits, the running one, unless something was written
 * since that began, or a sync is asked for. Under file->lock. */
static struct bale_change *last_to_join(const struct bale_file *file,
                                        const struct bale_change *change)
{
    struct bale_change *last = file->changes;

    while (last && last->next)
        last = last->next;
    return last || change->durable || file->dirty_first ? last : file->change;
}

/* Joins a flush to one that serves it. Under file->lock. */
static bool join_flush(struct bale_file *file, struct bale_change *change)
{
    struct bale_change *last = last_to_join(file, change);
    bool flush = change->kind == BALE_CHANGE_FLUSH || change->kind == BALE_CHANGE_FLUSH_STREAM;

    if (!flush || !last || last->kind != BALE_CHANGE_FLUSH)
        return false;
    if (change->durable)
        last->durable = true;
    struct bale_waiter **end = &last->waiters;
    while (*end)
        end = &(*end)->next;
    *end = change->waiters;
    return true;
}

/* Whether the change closes a file that has nothing left to store, and the file's `closed` callback
 * does not write to the store either. Under file->lock. */
static bool closes_silently(const struct bale_change *change)
{
    const struct bale_file *file = change->file;

    return change->kind == BALE_CHANGE_CLOSE && !file->close_writes && file->dirty == 0 &&
           !file->attr_dirty && bale_container_closes_silently(file->container);
}

/* The pool that runs the change. A close that writes nothing goes to the readers: the next open of
 * the file waits for it, and the other pool's threads may all stall in writes. If the file has no
 * name any more, closing it may free space, and that is a write. Under file->lock. */
static struct bale_pool *pool_for(struct bale_change *change)
{
    const struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;

    change->job.writes_nothing = closes_silently(change);
    return change->job.writes_nothing && !file->discarded ? volume->readers : volume->pool;
}

void bale_change_submit(struct bale_change *change)
{
    struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;
    bool joined = false, begins = false;
    struct bale_job *more = NULL;

    change->job.run = volume->change_run;
    pthread_mutex_lock(&file->lock);
    bool small = file->dirty <= BALE_INLINE_BYTES;
    struct bale_pool *pool = pool_for(change);
    if (!file->change) {
        file->change = change;
        begins = true;
    } else if ((joined = join_flush(file, change)) == false) {
        *file->changes_end = change;
        file->changes_end = &change->next;
        more = bale_file_take_more(file); /* else this change finds more to store */
    }
    pthread_mutex_unlock(&file->lock);
    if (more)
        bale_pool_submit(volume->pool, more);
    if (begins && small) {
        bale_pool_run(volume->pool, pool, &change->job);
    } else if (begins) {
        bale_pool_submit(pool, &change->job);
    } else if (joined) {
        free(change);
        bale_file_unref(file);
    }
}

/* Under file->lock. */
static bool may_note_times(const struct bale_file *file)
{
    return file->dirty > 0 && file->dirty <= BALE_INLINE_BYTES && !file->change &&
           file->error == BALE_OK && file->refused == BALE_OK &&
           !atomic_load(&file->volume->frozen);
}

/* Under file->lock. */
static void note_times(struct bale_change *change)
{
    struct bale_file *file = change->file;

    file->mtime = change->mtime;
    file->ctime = bale_file_now_locked(file);
    file->attr_dirty = true;
    change->kind = BALE_CHANGE_FLUSH;
    change->in_place = true;
    change->waiters = NULL;
    change->job.run = file->volume->change_run;
    file->change = change;
}

bool bale_change_note_times(struct bale_change *change)
{
    struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;
    struct bale_waiter *waiters = change->waiters;
    const struct timespec times[2] = {change->atime, {.tv_nsec = UTIME_OMIT}};
    int err = BALE_OK;

    if (!bale_pool_may_run(volume->pool))
        return false;
    atomic_fetch_add(&volume->changing, 1);
    pthread_mutex_lock(&file->lock);
    bool notes = may_note_times(file);
    if (notes)
        note_times(change);
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_sub(&volume->changing, 1);
    if (!notes)
        return false;
    if (change->atime.tv_nsec != UTIME_OMIT && futimens(file->fd, times) != 0)
        err = bale_err_from_errno(errno);
    bale_waiters_complete(waiters, err);
    bale_pool_run(volume->pool, volume->pool, &change->job);
    return true;
}

/* Whether the change may run while the volume is frozen. */
static bool may_pass(const struct bale_change *change)
{
    struct bale_container_attr attr;

    bale_container_attr(change->file->container, &attr);
    return change->kind == BALE_CHANGE_FLUSH ||
           (change->kind == BALE_CHANGE_ATTR && attr.generation == 0);
}

void bale_change_offer(struct bale_change *change)
{
    struct bale_volume *volume = change->file->volume;

    atomic_fetch_add(&volume->changing, 1);
    if (may_pass(change) || !bale_volume_defer_if_frozen(volume, &change->job))
        bale_change_submit(change);
    atomic_fetch_sub(&volume->changing, 1);
}

/* Whether the next flush tries again what failed with err, because it is still dirty. Under
 * file->lock. */
static bool is_temporary(const struct bale_file *file, int err)
{
    return (err == BALE_E_NOSPACE || err == BALE_E_DQUOT || err == BALE_E_NOMEM) &&
           (file->dirty > 0 || file->attr_dirty);
}

/* Returns the result for the waiters. If there are none, keeps an error for the next flush to
 * report, unless that one's own result counts. Under file->lock. */
static int take_result(struct bale_file *file, const struct bale_change *change)
{
    int err = change->error;

    if (change->kind == BALE_CHANGE_FLUSH && change->waiters && err == BALE_OK) {
        err = file->error;
        file->error = BALE_OK;
    } else if (!change->waiters && err != BALE_OK && !is_temporary(file, err)) {
        file->error = err;
    }
    return err;
}

/* Makes the next waiting change the running one. Under file->lock. */
static struct bale_change *advance_queue(struct bale_file *file)
{
    struct bale_change *next = file->changes;

    file->change = next;
    if (next) {
        file->changes = next->next;
        if (!file->changes)
            file->changes_end = &file->changes;
        next->next = NULL;
    }
    return next;
}

/* Gives up a reference unless it is the last one. */
static bool unref_shared(struct bale_file *file)
{
    unsigned refs = atomic_load(&file->refs);

    while (refs > 1)
        if (atomic_compare_exchange_weak(&file->refs, &refs, refs - 1))
            return true;
    return false;
}

void bale_change_end(struct bale_change *change)
{
    struct bale_file *file = change->file;
    struct bale_volume *volume = file->volume;

    bale_file_count_container(file);
    pthread_mutex_lock(&file->lock);
    int err = take_result(file, change);
    struct bale_change *next = advance_queue(file);
    if (change->error != BALE_OK && change->error != BALE_E_INVALID) {
        atomic_fetch_add(&volume->stats.errors, 1);
        bale_log(BALE_LOG_ERROR, "%s: writing its container failed: %s", file->label,
                 bale_err_text(change->error));
    }
    pthread_mutex_unlock(&file->lock);
    /* The next change is no close: that begins when no reference is left, so it never waits behind
     * another change. */
    if (next)
        bale_pool_submit(volume->pool, &next->job);
    bale_volume_wake(volume);
    /* Give up the reference before the reply. The close that follows the reply then gives up the
     * last reference, and its thread closes the file. This thread, which runs a job, would have to
     * hand that to another one. */
    bool last = !unref_shared(file);
    bale_waiters_complete(change->waiters, err);
    free(change);
    if (last)
        bale_file_unref(file);
}

/* ---- References ---- */

struct bale_file *bale_file_ref(struct bale_file *file)
{
    atomic_fetch_add(&file->refs, 1);
    return file;
}

void bale_file_unref(struct bale_file *file)
{
    if (atomic_fetch_sub(&file->refs, 1) > 1)
        return;
    struct bale_change *change = calloc(1, sizeof *change);
    while (!change) {
        /* A close must not fail: wait until other work has ended and freed memory. */
        usleep(1000);
        change = calloc(1, sizeof *change);
    }
    change->file = file;
    change->job.turn.user = atomic_load(&file->user);
    change->kind = BALE_CHANGE_CLOSE;
    bale_change_submit(change);
}
