/* Changes: the changes of a file's container, one after the other. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/internal.h"

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

/* A flush that has not begun serves all who ask for one before it does. Under file->lock. */
static bool join(struct bale_file *file, struct bale_change *change)
{
    struct bale_change *last = file->changes;

    while (last && last->next)
        last = last->next;
    bool flush = change->kind == BALE_CHANGE_FLUSH || change->kind == BALE_CHANGE_FLUSH_STREAM;
    if (!flush || !last || last->kind != BALE_CHANGE_FLUSH)
        return false;
    last->durable = last->durable || change->durable;
    struct bale_waiter **end = &last->waiters;
    while (*end)
        end = &(*end)->next;
    *end = change->waiters;
    return true;
}

void bale_change_submit(struct bale_change *change)
{
    struct bale_file *file = change->file;
    struct bale_pool *pool = file->volume->pool;
    bool joined = false, begins = false;

    change->job.run = bale_change_run;
    pthread_mutex_lock(&file->lock);
    bool small = file->dirty <= BALE_INLINE_BYTES;
    if (!file->change) {
        file->change = change;
        begins = true;
    } else if ((joined = join(file, change)) == false) {
        *file->changes_end = change;
        file->changes_end = &change->next;
    }
    pthread_mutex_unlock(&file->lock);
    if (begins && small) {
        bale_pool_run(pool, &change->job);
    } else if (begins) {
        bale_pool_submit(pool, &change->job);
    } else if (joined) {
        free(change);
        bale_file_unref(file);
    }
}

void bale_change_end(struct bale_change *change)
{
    struct bale_file *file = change->file;
    int err = change->error;

    pthread_mutex_lock(&file->lock);
    if (change->kind == BALE_CHANGE_FLUSH && change->waiters && err == BALE_OK) {
        err = file->error;
        file->error = BALE_OK;
    } else if (!change->waiters && err != BALE_OK) {
        file->error = err;
    }
    struct bale_change *next = file->changes;
    file->change = next;
    if (next) {
        file->changes = next->next;
        if (!file->changes)
            file->changes_end = &file->changes;
        next->next = NULL;
    }
    if (change->error != BALE_OK && change->error != BALE_E_INVALID) {
        atomic_fetch_add(&file->volume->stats.errors, 1);
        bale_log(BALE_LOG_ERROR, "%s: writing its container failed: %s", file->label,
                 bale_err_text(change->error));
    }
    pthread_mutex_unlock(&file->lock);
    if (next)
        bale_pool_submit(file->volume->pool, &next->job);
    bale_volume_wake(file->volume);
    bale_waiters_complete(change->waiters, err);
    free(change);
    bale_file_unref(file);
}
