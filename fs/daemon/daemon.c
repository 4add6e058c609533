#include "fs/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/freeze_limit.h"
#include "fs/daemon/idle.h"
#include "fs/daemon/log_file.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/resources.h"
#include "fs/daemon/session.h"
#include "fs/daemon/signals.h"
#include "fs/daemon/trust.h"
#include "fs/daemon/watcher.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/follow.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/shares.h"
#include "fs/fuse/unsynced.h"
#include "fs/store/overlap.h"
#include "kernels/engine/plugin_loader.h"

#define MAPPED_LEAST (64 << 10) /* blocks of the heap that are a mapping of their own */
#define GPU_SLOTS_MS 10000 /* without work the engine frees a GPU's memory for batches after this */
#define GPU_IDLE_MS 900000 /* and its context after this, or after gpu-idle= */
#define GPU_WATCHDOG_MS 10000 /* a batch that takes longer means that the GPU hangs */

struct daemon {
    const struct bale_mount_options *options;
    char *mountpoint; /* absolute; or /dev/fd/N */
    struct bale_mount mount;
    struct bale_trust trust;
    struct bale_session *session;
    int store_fd; /* the store's directory, open for reading; or -1 */
    struct bale_daemon_signals signals;
    int watcher;                         /* the pipe to it, or -1 */
    struct bale_mount_identity identity; /* of the mount that was reported to the watcher */
    struct bale_volume_stats last;       /* when everything is stored */
    struct bale_volume_lost lost;        /* likewise */
    struct bale_reason *why;
};

/* ---- The start ---- */

static int open_store(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    int err = d->options->create && !d->options->read_only
                  ? bale_store_init_missing(d->options->store, d->why)
                  : BALE_OK;

    if (err != BALE_OK)
        return err;
    err = bale_store_open_takeover(
        d->options->store, d->options->read_only ? BALE_STORE_BESIDE : BALE_STORE_WRITE,
        d->options->takeover[0] ? d->options->takeover : NULL, &mount->store, d->why);
    if (err != BALE_OK)
        return err;
    d->store_fd = openat(bale_store_root_fd(mount->store), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->store_fd < 0) {
        int e = errno;
        bale_reason_set(d->why, "%s: cannot be read: %s: check its permissions", d->options->store,
                        strerror(e));
        return bale_err_from_errno(e);
    }
    return bale_overlap_check(bale_store_path(mount->store), d->mountpoint, d->why);
}

static void warn_of_reach(const struct daemon *d)
{
    const char *path = bale_store_path(d->mount.store);
    const char *reach = bale_store_reach(d->mount.store);

    if (reach)
        bale_log(BALE_LOG_WARNING, "%s: %s: unmounted, balefs set --closed %s closes it", path,
                 reach, path);
}

static void decide_trust(struct daemon *d)
{
    bale_trust_decide(&d->mount, d->options, d->mountpoint, &d->trust);
    if (d->trust.unasked) {
        bale_log(BALE_LOG_INFO,
                 "%s: its directory belongs to somebody else: mounted as with -o untrusted: see "
                 "balefs-mount(1)",
                 bale_store_path(d->mount.store));
    }
}

static int create_volume(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    struct bale_volume_options options = {
        .memory = d->options->memory,
        .threads = d->options->threads,
        .engine = d->options->engine,
        .age_ms = d->options->age_ms,
        .sync_closed = bale_unsynced_sync,
        .closed_arg = mount,
        .caller_caches = !d->options->direct,
        .last = &d->last,
        .lost = &d->lost,
    };
    struct statfs fs;

    options.engine.untrusted_store = d->trust.untrusted_store;
    options.engine.untrusted_input = d->trust.untrusted_input;
    options.engine.gpu.verify = !d->options->unverified;
    if (options.engine.gpu.release_ms == 0)
        options.engine.gpu.release_ms = GPU_IDLE_MS;
    options.engine.gpu.slots_ms = GPU_SLOTS_MS;
    options.engine.gpu.watchdog_ms = GPU_WATCHDOG_MS;
    bale_store_volume_options(mount->store, &options);
    /* Only on a local ext4: a file server would not know of this process's capabilities. */
    mount->keep_out_of_reserve =
        mount->as_root && fstatfs(d->store_fd, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC;
    if (mount->keep_out_of_reserve)
        bale_caller_as_nobody(true);
    int err = bale_volume_create(&options, &mount->volume);
    if (mount->keep_out_of_reserve)
        bale_caller_as_nobody(false);
    if (err == BALE_E_NOMEM) {
        bale_reason_set(
            d->why,
            "%s: cannot be mounted: there is no room for so much memory: give less with "
            "-o memory=",
            d->options->store);
    }
    return err;
}

/* What the users of the mount share. A part is for its owner alone. */
static int create_shares(struct bale_mount *mount, const struct bale_descriptors *descriptors)
{
    unsigned files = descriptors->files;
    unsigned kept =
        bale_directories_kept(descriptors, bale_memory_cap(bale_volume_memory(mount->volume)));
    int err = bale_shares_create(files, files / 8, mount->owner, &mount->files);

    return err == BALE_OK ? bale_shares_create(kept, kept / 8, mount->owner, &mount->directories)
                          : err;
}

/* File handles that last, for NFS. Only root may find inodes by their numbers, and in a store whose
 * key nobody else may read. */
static void use_handles(struct bale_mount *mount)
{
    uint8_t key[BALE_HANDLE_KEY];

    mount->exports = mount->as_root &&
                     bale_store_handle_key(mount->store, key, sizeof key) == BALE_OK &&
                     bale_nodes_use_handles(mount->nodes, key);
}

static int create_parts(struct daemon *d, const struct bale_descriptors *descriptors)
{
    struct bale_mount *mount = &d->mount;
    struct bale_memory *memory = bale_volume_memory(mount->volume);
    int err = bale_nodes_create(bale_store_root_fd(mount->store), memory, descriptors->nodes,
                                &mount->nodes);

    if (err)
        return bale_err_from_errno(err);
    bale_nodes_on_full(mount->nodes, bale_opened_wait_close, mount);
    if (mount->beside)
        bale_nodes_set_beside(mount->nodes);
    use_handles(mount);
    err = create_shares(mount, descriptors);
    if (err == BALE_OK)
        err = bale_ctimes_create(memory, &mount->ctimes);
    if (err == BALE_OK)
        err = bale_unsynced_create(mount);
    if (err == BALE_OK)
        err = bale_interrupts_create(&mount->interrupts);
    if (err == BALE_OK)
        err = bale_freezer_create(memory, &mount->freezer);
    if (err == BALE_OK)
        err = bale_freeze_limit_create(mount, &mount->freeze_limit);
    if (err == BALE_OK)
        err = bale_in_flight_create(mount, &mount->in_flight);
    if (err == BALE_OK)
        err = bale_drops_create(&mount->session, &mount->drops);
    if (err == BALE_OK && mount->beside)
        err = bale_follower_create(mount);
    return err;
}

/* Does everything up to a mount that answers requests. */
static int daemon_start(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    struct bale_descriptors descriptors = bale_descriptors_raise();
    const char *unmounts = d->options->auto_unmount ? "auto_unmount"
                           : d->options->idle       ? "idle"
                                                    : NULL;
    int err = bale_daemon_signals_open(&d->signals);

    if (err == BALE_OK)
        err = bale_mountpoint_find(d->options->mountpoint, unmounts, &d->mountpoint, d->why);
    /* The watcher and chdir before there are threads and locks: some threads get a directory of
     * their own. */
    if (err == BALE_OK && d->options->auto_unmount)
        err = bale_watcher_start(d->mountpoint, &d->watcher);
    if (err == BALE_OK)
        err = open_store(d);
    if (err != BALE_OK)
        return err;
    if (!d->options->foreground)
        (void)!chdir("/");
    mount->owner = geteuid();
    mount->as_root = mount->owner == 0;
    mount->read_only = mount->beside = d->options->read_only;
    mount->direct = d->options->direct;
    mount->modes_in_container = bale_store_config(mount->store)->modes_in_container;
    bale_store_defaults(mount->store, &mount->defaults);
    decide_trust(d);
    /* ACLs need a umask for each thread: a default ACL takes the place of the umask. */
    mount->backing_acls = bale_store_abilities(mount->store)->posix_acl && mount->as_root &&
                          !mount->modes_in_container && bale_caller_own_umask();
    umask(0);
    if (mount->as_root)
        bale_caller_drop_capabilities(); /* before there are threads: threads inherit them */
    bale_plugin_set_environment();
    err = d->options->log_file ? bale_log_file_begin(mount->store) : BALE_OK;
    if (err == BALE_OK)
        err = create_volume(d);
    if (err == BALE_OK)
        err = create_parts(d, &descriptors);
    if (err == BALE_OK)
        err = bale_session_create(mount, d->options, &d->trust, d->mountpoint, d->signals.ended,
                                  &d->session, d->why);
    if (err == BALE_OK)
        err = bale_store_watch(mount->store);
    if (err == BALE_OK && d->watcher >= 0)
        bale_watcher_report_mount(d->watcher, d->mountpoint, &d->identity);
    if (err == BALE_OK)
        err = bale_session_start(d->session, bale_request_threads());
    return err;
}

/* ---- The end ---- */

static void daemon_unmount(struct daemon *d, const char *cause)
{
    bale_log(BALE_LOG_INFO, "%s: %s: unmounting", d->mountpoint, cause);
    bale_volume_thaw(d->mount.volume);
    bale_freezer_thaw(d->mount.freezer);
    bale_log_file_hold(false);
    bale_session_unmount(d->session);
}

static void release_gpu(struct daemon *d)
{
    bale_log(BALE_LOG_INFO, "%s: received SIGUSR1: the GPU is given back once it is idle",
             d->mountpoint);
    bale_volume_release_gpu(d->mount.volume);
}

static void wait_for_end(struct daemon *d)
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

static void report_totals(struct daemon *d)
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
static void describe_loss(const struct daemon *d, int err, char failure[static BALE_REASON_SIZE])
{
    char more[32] = "";

    if (d->lost.count > 1)
        snprintf(more, sizeof more, " and %zu more", d->lost.count - 1);
    snprintf(failure, BALE_REASON_SIZE, "%.160s: not everything could be stored: %s%s%.160s%s: %s",
             bale_store_path(d->mount.store), bale_err_text(err), d->lost.name[0] ? ": " : "",
             d->lost.name, more, "see the log");
}

/* Logs how the mount ended, and tells the caller. */
static void report_end(struct daemon *d, int err, const char *failure)
{
    bale_log(err == BALE_OK ? BALE_LOG_INFO : BALE_LOG_ERROR, "%s: unmounted: %s", d->mountpoint,
             err == BALE_OK ? "all is stored"
             : failure[0]   ? failure
                            : bale_err_text(err));
    bale_reason_set(d->why, "%s", failure);
}

/* Undoes what daemon_start did, as far as it came. served: the mount has answered requests. */
static int daemon_end(struct daemon *d, bool served)
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
    bale_session_destroy(d->session);
    bale_drops_destroy(mount->drops);
    bale_follower_destroy(mount->follower);
    bale_in_flight_destroy(mount->in_flight);
    bale_freezer_destroy(mount->freezer);
    bale_interrupts_destroy(mount->interrupts);
    bale_ctimes_destroy(mount->ctimes);
    bale_unsynced_destroy(mount);
    bale_nodes_destroy(mount->nodes);
    bale_shares_destroy(mount->files);
    bale_shares_destroy(mount->directories);
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
    pthread_cond_destroy(&mount->closed);
    pthread_mutex_destroy(&mount->opened_lock);
    free(d->mountpoint);
    return err;
}

static void report_notices(struct daemon *d)
{
    const struct bale_store_notice *notice;

    bale_reason_set(d->why, "%s", "");
    for (unsigned i = 0; (notice = bale_store_notice(d->mount.store, i)); i++) {
        bale_reason_set(d->why, "%s/%s: %s", bale_store_path(d->mount.store), notice->below,
                        notice->text);
        bale_log(BALE_LOG_WARNING, "%s", d->why->text);
    }
}

const char *bale_daemon_libfuse(void)
{
    return fuse_pkgversion();
}

int bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                      void (*ready)(void *arg), void *arg)
{
    struct daemon *d = calloc(1, sizeof *d);

    if (!d)
        return BALE_E_NOMEM;
    /* What a write that waits keeps goes back to the kernel when it ends. */
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_LEAST);
    d->options = options;
    d->why = why;
    d->store_fd = d->watcher = d->signals.signals = d->signals.ended = -1;
    pthread_mutex_init(&d->mount.opened_lock, NULL);
    pthread_cond_init(&d->mount.closed, NULL);
    int err = daemon_start(d);
    bool served = err == BALE_OK;
    if (served) {
        bale_log(BALE_LOG_INFO, "%s on %s: %s%s%s", bale_store_path(d->mount.store), d->mountpoint,
                 bale_session_text(d->session),
                 bale_store_abilities(d->mount.store)->text[0] ? "; the store lacks: " : "",
                 bale_store_abilities(d->mount.store)->text);
        report_notices(d);
        warn_of_reach(d);
        ready(arg);
        bale_volume_open_gpu(d->mount.volume); /* takes seconds; the mount is usable meanwhile */
        wait_for_end(d);
    } else if (why->text[0] == '\0') {
        bale_reason_set(why, "%s: cannot be mounted: %s: see the log", options->store,
                        bale_err_text(err));
    }
    int ended = daemon_end(d, served);
    bale_log_file_end();
    free(d);
    return served ? ended : err;
}
