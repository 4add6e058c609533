/* Syncing and freezing a whole volume. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/change.h"
#include "fs/cache/reserve.h"
#include "kernels/base/container_of.h"

#define CHECKPOINT_MS 30000u

struct volume_sync {
    struct bale_job job;
    struct bale_volume *volume;
    atomic_size_t pending; /* files not yet committed; one more while files are listed */
    atomic_int error;      /* the first one */
    bool durable, freeze;
    bool each;  /* sync file by file */
    bool begun; /* a checkpoint was begun, which ends the sessions before session */
    uint32_t session;
    void (*done)(void *arg, int err); /* as volume.h says */
    void *arg;
};

/* Begins a new session, so that what containers write next leaves the roots that are durable now
 * alone. False: that is not possible. */
static bool make_checkpoint(struct bale_volume *volume)
{
    const struct bale_volume_options *options = &volume->options;
    int err = options->checkpoint ? options->checkpoint(options->arg) : BALE_E_INVALID;

    if (bale_reserve_serves(volume, err, volume->reserve.fd))
        err = options->checkpoint(options->arg);
    return err == BALE_OK;
}

/* Everything is committed: one sync of the backing file system covers closed containers too. Where
 * no checkpoint is possible (a disk that is full to the last block, a failed sync before), later
 * commits that are not synced may cost what this sync stored. */
static int sync_whole(struct volume_sync *sync)
{
    const struct bale_volume_options *options = &sync->volume->options;

    if (make_checkpoint(sync->volume) || !options->sync)
        return BALE_OK;
    return options->sync(options->arg);
}

/* Begins a checkpoint. If that is not possible, what is synced is still durable, but more must be
 * verified after a crash. */
static void begin_checkpoint(struct volume_sync *sync)
{
    const struct bale_volume_options *options = &sync->volume->options;
    int err = options->sync_closed ? options->checkpoint_begin(options->arg, &sync->session)
                                   : BALE_E_INVALID;

    if (bale_reserve_serves(sync->volume, err, sync->volume->reserve.fd))
        err = options->checkpoint_begin(options->arg, &sync->session);
    sync->begun = err == BALE_OK;
}

/* Syncs everything else, after all open files were committed and synced. */
static int sync_closed(struct volume_sync *sync)
{
    const struct bale_volume_options *options = &sync->volume->options;
    int err = options->sync_closed ? options->sync_closed(options->closed_arg) : BALE_OK;

    if (err != BALE_OK) {
        bale_volume_taint(sync->volume);
        return err;
    }
    if (sync->begun && atomic_load(&sync->error) == BALE_OK)
        (void)options->checkpoint_end(options->arg, sync->session);
    return BALE_OK;
}

static void sync_backing_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct volume_sync *sync = (struct volume_sync *)job;
    int err = atomic_load(&sync->error);
    int failed = !sync->durable ? BALE_OK : sync->each ? sync_closed(sync) : sync_whole(sync);
    err = err != BALE_OK ? err : failed;
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
    if (sync->each)
        begin_checkpoint(sync);
    int err =
        bale_volume_list_files(sync->volume, sync->freeze || sync->each, &watch, &files, &count);
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&sync->pending, 1);
        if (sync->each)
            bale_file_sync(files[i], file_synced, sync);
        else
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
    *sync = (struct volume_sync){.volume = volume,
                                 .durable = durable,
                                 .each = durable && volume->options.sync_each,
                                 .done = done,
                                 .arg = arg};
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

static void checkpoint_done(void *arg, int err)
{
    struct bale_volume *volume = arg;

    (void)err; /* the next sync or the unmount reports it */
    atomic_store(&volume->checkpoint.running, false);
}

static void checkpoint_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_volume *volume = BALE_CONTAINER_OF(job, struct bale_volume, checkpoint.job);

    checkpoint_done(volume, volume->options.checkpoint(volume->options.arg));
}

void bale_volume_checkpoint_if_due(struct bale_volume *volume)
{
    uint64_t now = bale_now_ms(), commits = atomic_load(&volume->stats.commits);

    if ((!volume->options.checkpoint && !volume->options.sync_each) ||
        now < volume->checkpoint.ms + CHECKPOINT_MS || commits == volume->checkpoint.commits ||
        atomic_exchange(&volume->checkpoint.running, true))
        return;
    volume->checkpoint.ms = now;
    volume->checkpoint.commits = commits;
    if (volume->options.sync_each) {
        bale_volume_sync(volume, true, checkpoint_done, volume);
    } else {
        volume->checkpoint.job.run = checkpoint_job;
        bale_pool_submit(volume->pool, &volume->checkpoint.job);
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
    struct bale_turn *turn = bale_volume_set_thawed(volume);

    while (turn) {
        struct bale_turn *next = turn->next;
        bale_change_submit(BALE_CONTAINER_OF(turn, struct bale_change, job.turn));
        turn = next;
    }
    bale_volume_wake(volume);
}
