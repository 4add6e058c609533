/* The end of a mount. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/freeze_limit.h"
#include "fs/daemon/idle.h"
#include "fs/daemon/log_file.h"
#include "fs/daemon/resources.h"
#include "fs/daemon/state.h"
#include "fs/daemon/watcher.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/follow.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/known.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/shares.h"
#include "fs/fuse/unsynced.h"

static void daemon_unmount(struct bale_daemon *d, const char *cause)
{
    bale_log(BALE_LOG_INFO, "%s: %s: unmounting", d->mountpoint, cause);
    bale_volume_thaw(d->mount.volume);
    bale_freezer_thaw(d->mount.freezer);
    bale_log_file_hold(false);
    bale_session_unmount(d->session);
}

static void release_gpu(struct bale_daemon *d)
{
    bale_log(BALE_LOG_INFO, "%s: received SIGUSR1: the GPU is given back once it is idle",
             d->mountpoint);
    bale_volume_release_gpu(d->mount.volume);
}

void bale_daemon_wait(struct bale_daemon *d)
{
    int lifeline = d->options->lifeline;
    struct bale_idle idle;
    enum bale_daemon_event event;

    bale_idle_begin(&idle, &d->mount, d->session, d->mountpoint, d->options->idle);
    while ((event = bale_daemon_signals_wait(&d->signals, lifeline, bale_idle_pause_ms(&idle))) !=
           BALE_DAEMON_GONE) {
        if (event == BALE_DAEMON_PAUSE_OVER) {
            bale_idle_look(&idle);
        } else if (event == BALE_DAEMON_RELEASE_GPU) {
            release_gpu(d);
        } else if (event == BALE_DAEMON_ALONE) {
            lifeline = 0;
            daemon_unmount(d, "the processes that it was mounted for have ended");
        } else {
            daemon_unmount(d, "received a signal to end");
            return;
        }
    }
}

static void report_totals(struct bale_daemon *d)
{
    const struct bale_volume_stats *last = &d->last;
    const struct bale_store_totals totals = {
        .read = last->read,
        .written = last->written,
        .compressed = last->raw_bytes,
        .stored = last->stored_bytes,
        .commits = last->commits,
        .syncs = last->syncs,
        .throttled = last->throttled,
        .errors = last->errors,
        .cpu_us = bale_process_cpu_us(),
    };

    bale_store_set_totals(d->mount.store, &totals);
    bale_log(BALE_LOG_INFO,
             "%s: %llu bytes written; %llu compressed to %llu, ratio %.2f; %.2f s of processor "
             "time; %llu writes had to wait, %llu failures",
             d->mountpoint, (unsigned long long)totals.written,
             (unsigned long long)totals.compressed, (unsigned long long)totals.stored,
             totals.stored ? (double)totals.compressed / (double)totals.stored : 1.0,
             (double)totals.cpu_us / 1e6, (unsigned long long)totals.throttled,
             (unsigned long long)totals.errors);
}

/* Says in failure what could not be stored, and why. */
static void describe_loss(const struct bale_daemon *d, int err,
                          char failure[static BALE_REASON_SIZE])
{
    char more[32] = "";

    if (d->lost.count > 1)
        snprintf(more, sizeof more, " and %zu more", d->lost.count - 1);
    snprintf(failure, BALE_REASON_SIZE, "%.160s: not everything could be stored: %s%s%.160s%s: %s",
             bale_store_path(d->mount.store), bale_err_text(err), d->lost.name[0] ? ": " : "",
             d->lost.name, more, "see the log");
}

/* Logs how the mount ended, and tells the caller. */
static void report_end(struct bale_daemon *d, int err, const char *failure)
{
    bale_log(err == BALE_OK ? BALE_LOG_INFO : BALE_LOG_ERROR, "%s: unmounted: %s", d->mountpoint,
             err == BALE_OK ? "all is stored"
             : failure[0]   ? failure
                            : bale_err_text(err));
    bale_reason_set(d->why, "%s", failure);
}

int bale_daemon_end(struct bale_daemon *d, bool served)
{
    struct bale_mount *mount = &d->mount;
    char failure[BALE_REASON_SIZE] = "";
    int err = BALE_OK;

    if (d->watcher >= 0)
        bale_watcher_report_end(d->watcher, d->mountpoint, &d->identity);
    bale_drops_stop(mount->drops);
    bale_follower_stop(mount->follower);
    if (d->session)
        bale_session_stop(d->session);
    bale_freeze_limit_destroy(mount->freeze_limit);
    if (mount->freezer) {
        bale_volume_thaw(mount->volume);
        bale_freezer_thaw(mount->freezer);
    }
    bale_opened_close_all(mount);
    bale_directories_close_all();
    /* Requests that end here still reply, and use the node table. */
    if (mount->volume)
        err = bale_volume_destroy(mount->volume);
    bale_nodes_outlive_volume(mount->nodes);
    bale_session_destroy(d->session);
    bale_drops_destroy(mount->drops);
    bale_follower_destroy(mount->follower);
    bale_in_flight_destroy(mount->in_flight);
    bale_freezer_destroy(mount->freezer);
    bale_interrupts_destroy(mount->interrupts);
    bale_known_destroy(mount->known);
    bale_ctimes_destroy(mount->ctimes);
    bale_unsynced_destroy(mount);
    bale_nodes_destroy(mount->nodes);
    bale_shares_destroy(mount->files);
    bale_shares_destroy(mount->directories);
    bale_shares_destroy(mount->ahead);
    if (err != BALE_OK)
        describe_loss(d, err, failure);
    if (served && !mount->read_only)
        report_totals(d);
    if (mount->store) {
        int closed =
            bale_store_close(mount->store, err == BALE_OK, failure[0] ? failure : "all is stored");
        err = err != BALE_OK ? err : closed;
    }
    if (served)
        report_end(d, err, failure);
    if (d->store_fd >= 0)
        close(d->store_fd);
    if (d->watcher >= 0)
        close(d->watcher);
    bale_daemon_signals_close(&d->signals);
    pthread_cond_destroy(&mount->restored);
    pthread_cond_destroy(&mount->closed);
    pthread_mutex_destroy(&mount->opened_lock);
    free(d->mountpoint);
    return err;
}
