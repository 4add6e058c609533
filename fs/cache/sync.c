/* Syncing and freezing a whole volume. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/change.h"
#include "fs/cache/reserve.h"

struct volume_sync {
    struct bale_job job;
    struct bale_volume *volume;
    atomic_size_t pending; /* files not yet committed; one more while files are listed */
    atomic_int error;      /* the first one */
    bool durable, freeze;
    void (*done)(void *arg, int err); /* as volume.h says */
    void *arg;
};

/* Lets containers know that what is durable now is not to be touched by what they write next. */
static bool checkpoint(struct bale_volume *volume)
{
    const struct bale_volume_options *options = &volume->options;
    int err = options->checkpoint ? options->checkpoint(options->arg) : BALE_E_INVALID;

    if ((err == BALE_E_NOSPACE || err == BALE_E_DQUOT) && bale_reserve_take(volume))
        err = options->checkpoint(options->arg);
    return err == BALE_OK;
}

/* Everything is committed: one sync of the backing file system covers closed containers too. Where
 * no checkpoint is possible (a disk that is full to the last block, a failed sync before), later
 * commits that are not synced may cost what this sync stored. */
static void sync_backing_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct volume_sync *sync = (struct volume_sync *)job;
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

static void file_synced(void *arg, int64_t result)
{
    struct volume_sync *sync = arg;
    int none = BALE_OK;

    if (result < 0)
        atomic_compare_exchange_strong(&sync->error, &none, (int)result);
    if (atomic_fetch_sub(&sync->pending, 1) == 1) {
        sync->job.run = sync_backing_job;
        bale_pool_submit(sync->volume->pool, &sync->job);
    }
}

static void sync_files_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct volume_sync *sync = (struct volume_sync *)job;
    struct bale_close_watch watch = {file_synced, sync, &sync->pending};
    struct bale_file **files;
    size_t count;
    atomic_store(&sync->pending, 1);
    int err = bale_volume_list_files(sync->volume, sync->freeze, &watch, &files, &count);
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&sync->pending, 1);
        bale_file_flush(files[i], false, file_synced, sync);
        bale_file_unref(files[i]);
    }
    free(files);
    file_synced(sync, err);
}

/* Waits until changes that had begun before the freeze have marked their files dirty. They are
 * running already, so the wait is short. */
static void freeze_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct volume_sync *sync = (struct volume_sync *)job;

    while (atomic_load(&sync->volume->changing) > 0)
        usleep(1000);
    sync_files_job(job, scratch);
}

/* NULL: no memory; done has been called. */
static struct volume_sync *create_sync(struct bale_volume *volume, bool durable,
                                       void (*done)(void *arg, int err), void *arg)
{
    struct volume_sync *sync = calloc(1, sizeof *sync);

    if (!sync) {
        done(arg, BALE_E_NOMEM);
        return NULL;
    }
    *sync = (struct volume_sync){.volume = volume, .durable = durable, .done = done, .arg = arg};
    return sync;
}

void bale_volume_sync(struct bale_volume *volume, bool durable, void (*done)(void *arg, int err),
                      void *arg)
{
    struct volume_sync *sync = create_sync(volume, durable, done, arg);

    if (sync) {
        sync->job.run = sync_files_job;
        bale_pool_submit(volume->pool, &sync->job);
    }
}

void bale_volume_freeze(struct bale_volume *volume, void (*done)(void *arg, int err), void *arg)
{
    struct volume_sync *sync = create_sync(volume, true, done, arg);

    if (!sync)
        return;
    bale_volume_set_frozen(volume);
    sync->freeze = true;
    sync->job.run = freeze_job;
    bale_pool_submit(volume->pool, &sync->job);
}

void bale_volume_thaw(struct bale_volume *volume)
{
    struct bale_job *job = bale_volume_set_thawed(volume);

    while (job) {
        struct bale_job *next = job->next;
        bale_change_submit((struct bale_change *)job);
        job = next;
    }
    bale_volume_wake(volume);
}
