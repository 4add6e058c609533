/* Syncing and freezing a whole volume. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/internal.h"

struct bale_sync {
    struct bale_job job;
    struct bale_volume *volume;
    atomic_size_t left;
    atomic_int error;
    bool durable, freeze;
    void (*done)(void *arg, int err);
    void *arg;
};

/* So that containers know: what they write next leaves alone what is durable now. */
static bool checkpoint(struct bale_volume *volume)
{
    const struct bale_volume_options *options = &volume->options;
    int err = options->checkpoint ? options->checkpoint(options->arg) : BALE_E_INVALID;

    if ((err == BALE_E_NOSPACE || err == BALE_E_DQUOT) && bale_volume_take_reserve(volume))
        err = options->checkpoint(options->arg);
    return err == BALE_OK;
}

/* Everything is committed: one sync of the backing file system covers closed containers too. Where
 * no checkpoint is possible, on a disk that is full to the last block or after a failed sync, later
 * commits that are not synced may cost what this sync stored. */
static void sync_backing(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_sync *sync = (struct bale_sync *)job;
    const struct bale_volume_options *options = &sync->volume->options;
    int err = atomic_load(&sync->error);
    bool stored = !sync->durable || checkpoint(sync->volume);
    if (!stored && options->sync_fd >= 0 && syncfs(options->sync_fd) != 0) {
        err = bale_err_from_errno(errno);
        bale_volume_taint(sync->volume);
    }
    if (sync->durable && err == BALE_OK)
        atomic_fetch_add(&sync->volume->stats.syncs, 1);
    sync->done(sync->arg, err);
    free(sync);
}

static void one_synced(void *arg, int64_t result)
{
    struct bale_sync *sync = arg;
    int none = BALE_OK;

    if (result < 0)
        atomic_compare_exchange_strong(&sync->error, &none, (int)result);
    if (atomic_fetch_sub(&sync->left, 1) == 1) {
        sync->job.run = sync_backing;
        bale_pool_submit(sync->volume->pool, &sync->job);
    }
}

int bale_volume_list(struct bale_volume *volume, bool all, struct bale_sync *sync,
                     struct bale_file ***files, size_t *count)
{
    size_t room = 0;
    int err = BALE_OK;

    *count = 0;
    pthread_mutex_lock(&volume->files_lock);
    struct bale_file *first = all ? volume->files : volume->dirty_files;
    for (struct bale_file *f = first; f; f = all ? f->next : f->dirty_next)
        room++;
    *files = room ? malloc(room * sizeof(struct bale_file *)) : NULL;
    if (room && !*files)
        err = BALE_E_NOMEM;
    for (struct bale_file *f = *files ? first : NULL; f; f = all ? f->next : f->dirty_next) {
        struct bale_waiter *waiter;
        if (bale_file_ref_live(f)) {
            (*files)[(*count)++] = f;
        } else if (sync && (waiter = malloc(sizeof *waiter))) {
            *waiter = (struct bale_waiter){one_synced, sync, f->gone};
            f->gone = waiter;
            atomic_fetch_add(&sync->left, 1);
        } else {
            err = sync ? BALE_E_NOMEM : err;
        }
    }
    pthread_mutex_unlock(&volume->files_lock);
    return err;
}

static void run_sync(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_sync *sync = (struct bale_sync *)job;
    struct bale_file **files;
    size_t count;
    atomic_store(&sync->left, 1);
    int err = bale_volume_list(sync->volume, sync->freeze, sync, &files, &count);
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&sync->left, 1);
        bale_file_flush(files[i], false, one_synced, sync);
        bale_file_unref(files[i]);
    }
    free(files);
    one_synced(sync, err);
}

/* Changes that had begun before the freeze mark their files first. Whoever changes runs already:
 * the wait is short. */
static void run_freeze(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_sync *sync = (struct bale_sync *)job;

    while (atomic_load(&sync->volume->changing) > 0)
        usleep(1000);
    run_sync(job, scratch);
}

static struct bale_sync *create_sync(struct bale_volume *volume, bool durable,
                                     void (*done)(void *arg, int err), void *arg)
{
    struct bale_sync *sync = calloc(1, sizeof *sync);

    if (!sync) {
        done(arg, BALE_E_NOMEM);
        return NULL;
    }
    *sync = (struct bale_sync){.volume = volume, .durable = durable, .done = done, .arg = arg};
    return sync;
}

void bale_volume_sync(struct bale_volume *volume, bool durable, void (*done)(void *arg, int err),
                      void *arg)
{
    struct bale_sync *sync = create_sync(volume, durable, done, arg);

    if (sync) {
        sync->job.run = run_sync;
        bale_pool_submit(volume->pool, &sync->job);
    }
}

void bale_volume_freeze(struct bale_volume *volume, void (*done)(void *arg, int err), void *arg)
{
    struct bale_sync *sync = create_sync(volume, true, done, arg);

    if (!sync)
        return;
    pthread_mutex_lock(&volume->park_lock);
    atomic_store(&volume->frozen, true);
    pthread_mutex_unlock(&volume->park_lock);
    sync->freeze = true;
    sync->job.run = run_freeze;
    bale_pool_submit(volume->pool, &sync->job);
}

bool bale_volume_defer_if_frozen(struct bale_volume *volume, struct bale_change *change)
{
    pthread_mutex_lock(&volume->park_lock);
    bool frozen = atomic_load(&volume->frozen);
    if (frozen) {
        *volume->deferred_changes_end = change;
        volume->deferred_changes_end = &change->next;
    }
    pthread_mutex_unlock(&volume->park_lock);
    return frozen;
}

void bale_volume_thaw(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->park_lock);
    atomic_store(&volume->frozen, false);
    struct bale_change *change = volume->deferred_changes;
    volume->deferred_changes = NULL;
    volume->deferred_changes_end = &volume->deferred_changes;
    pthread_mutex_unlock(&volume->park_lock);
    while (change) {
        struct bale_change *next = change->next;
        change->next = NULL;
        bale_change_submit(change);
        change = next;
    }
    bale_volume_wake(volume);
}
