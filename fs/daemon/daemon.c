#include "fs/daemon/daemon.h"
#include "format/reason.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/resources.h"
#include "fs/daemon/session.h"
#include "fs/daemon/watcher.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/store/overlap.h"
#include "kernels/engine/plugin_loader.h"

#define GPU_RELEASE_MS 30000
#define GPU_WATCHDOG_MS 10000

struct daemon {
    const struct bale_mount_options *options;
    char *mountpoint; /* absolute; or /dev/fd/N */
    struct bale_mount mount;
    struct bale_session *session;
    int sync_fd;
    int ended;                           /* eventfd */
    int signals;                         /* signalfd */
    int watcher;                         /* or -1 */
    struct bale_mount_identity identity; /* told to the watcher */
    struct bale_volume_stats last;       /* when all is stored */
    struct bale_reason *why;
};

/* ---- Beginning ---- */

static int take_signals(struct daemon *d)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    d->signals = signalfd(-1, &set, SFD_CLOEXEC);
    d->ended = eventfd(0, EFD_CLOEXEC);
    return d->signals < 0 || d->ended < 0 ? bale_err_from_errno(errno) : BALE_OK;
}

static int take_handed(struct daemon *d)
{
    d->mountpoint = strdup(d->options->mountpoint);
    if (!d->mountpoint)
        return BALE_E_NOMEM;
    if (d->options->auto_unmount) {
        bale_reason_set(d->why,
                        "-o auto_unmount: is for mounts that balefs makes: leave it out with %s",
                        d->mountpoint);
        return BALE_E_INVALID;
    }
    return bale_passed_fd_prepare(d->mountpoint, d->why);
}

static int find_mountpoint(struct daemon *d)
{
    const char *given = d->options->mountpoint;
    struct stat st;

    if (bale_passed_fd_is_path(given))
        return take_handed(d);
    d->mountpoint = realpath(given, NULL);
    if (!d->mountpoint) {
        bale_reason_set(d->why, "%s: cannot be mounted on: %s: make the directory first", given,
                        strerror(errno));
        return bale_err_from_errno(errno);
    }
    if (stat(d->mountpoint, &st) != 0 || !S_ISDIR(st.st_mode)) {
        bale_reason_set(d->why, "%s: cannot be mounted on: it is not a directory: make one", given);
        return BALE_E_INVALID;
    }
    return BALE_OK;
}

static int open_store(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    int err = d->options->create && !d->options->read_only
                  ? bale_store_init_missing(d->options->store, d->why)
                  : BALE_OK;

    if (err != BALE_OK)
        return err;
    err = bale_store_open(d->options->store,
                          d->options->read_only ? BALE_STORE_READONLY : BALE_STORE_WRITE,
                          &mount->store, d->why);
    if (err != BALE_OK)
        return err;
    d->sync_fd = openat(bale_store_root_fd(mount->store), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->sync_fd < 0) {
        bale_reason_set(d->why, "%s: cannot be read: %s: check its permissions", d->options->store,
                        strerror(errno));
        return bale_err_from_errno(errno);
    }
    return bale_overlap_check(bale_store_path(mount->store), d->mountpoint, d->why);
}

/* A closed decoder gets only what we made ourselves: what a store holds is believed of its
 * owner. */
static bool is_strange(struct daemon *d)
{
    struct stat st;

    return d->options->untrusted || fstat(d->sync_fd, &st) != 0 || st.st_uid != d->mount.owner;
}

static int create_volume(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    struct bale_volume_options options = {
        .memory = d->options->memory,
        .threads = d->options->threads,
        .engine = d->options->engine,
        .age_ms = d->options->age_ms,
        .sync_fd = d->sync_fd,
        .caller_caches = !d->options->direct,
        .last = &d->last,
    };
    struct statfs fs;

    options.engine.untrusted = is_strange(d);
    options.engine.gpu.verify = !d->options->unverified;
    options.engine.gpu.release_ms = GPU_RELEASE_MS;
    options.engine.gpu.watchdog_ms = GPU_WATCHDOG_MS;
    bale_store_volume_options(mount->store, &options);
    /* Only here: a file server would not know of our capabilities. */
    mount->keep_out_of_reserve =
        mount->as_root && fstatfs(d->sync_fd, &fs) == 0 && fs.f_type == EXT4_SUPER_MAGIC;
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

static int create_parts(struct daemon *d, unsigned descriptors)
{
    struct bale_mount *mount = &d->mount;
    struct bale_memory *memory = bale_volume_memory(mount->volume);
    int err =
        bale_nodes_create(bale_store_root_fd(mount->store), memory, descriptors, &mount->nodes);

    if (err)
        return bale_err_from_errno(err);
    bale_nodes_on_full(mount->nodes, bale_opened_wait_close, mount);
    err = bale_ctimes_create(memory, &mount->ctimes);
    if (err == BALE_OK)
        err = bale_interrupts_create(&mount->interrupts);
    if (err == BALE_OK)
        err = bale_freezer_create(memory, &mount->freezer);
    return err;
}

/* Everything up to a mount that answers. */
static int begin(struct daemon *d)
{
    struct bale_mount *mount = &d->mount;
    unsigned descriptors = bale_descriptors_raise();
    int err = take_signals(d);

    if (err == BALE_OK)
        err = find_mountpoint(d);
    if (err == BALE_OK && d->options->auto_unmount) {
        err =
            bale_watcher_start(d->mountpoint, &d->watcher); /* before there are locks and threads */
    }
    if (err == BALE_OK)
        err = open_store(d);
    if (err != BALE_OK)
        return err;
    if (!d->options->foreground)
        (void)!chdir("/"); /* before there are threads: some have a directory of their own */
    mount->owner = geteuid();
    mount->as_root = mount->owner == 0;
    mount->read_only = d->options->read_only;
    mount->direct = d->options->direct;
    mount->modes_in_container = bale_store_config(mount->store)->modes_in_container;
    bale_store_defaults(mount->store, &mount->defaults);
    /* The umask must be the thread's own for a default ACL to take its place. */
    mount->backing_acls = bale_store_abilities(mount->store)->posix_acl && mount->as_root &&
                          !mount->modes_in_container && bale_caller_own_umask();
    umask(0);
    if (mount->as_root)
        bale_caller_drop_capabilities(); /* before there are threads: each has its own */
    bale_plugin_set_environment();
    err = create_volume(d);
    if (err == BALE_OK)
        err = create_parts(d, descriptors);
    if (err == BALE_OK)
        err = bale_session_create(mount, d->options, d->mountpoint, d->ended, &d->session, d->why);
    if (err == BALE_OK && d->watcher >= 0)
        bale_watcher_report_mount(d->watcher, d->mountpoint, &d->identity);
    if (err == BALE_OK) {
        err = bale_session_start(
            d->session, bale_request_threads(bale_memory_cap(bale_volume_memory(mount->volume))));
    }
    return err;
}

/* ---- The end ---- */

static void unmount(struct daemon *d, const char *cause)
{
    bale_log(BALE_LOG_INFO, "%s: %s: unmounting", d->mountpoint, cause);
    bale_volume_thaw(d->mount.volume);
    bale_freezer_thaw(d->mount.freezer);
    bale_session_unmount(d->session);
}

/* False: the file system is gone. */
static bool wait_for_lifeline(struct daemon *d)
{
    struct pollfd fds[] = {{.fd = d->ended, .events = POLLIN},
                           {.fd = d->options->lifeline},
                           {.fd = d->signals, .events = POLLIN}};

    while (!(fds[0].revents & POLLIN) && !(fds[1].revents & POLLHUP)) {
        struct signalfd_siginfo dropped;
        if (poll(fds, 3, -1) > 0 && fds[2].revents & POLLIN)
            (void)!read(d->signals, &dropped, sizeof dropped);
    }
    return !(fds[0].revents & POLLIN);
}

static void wait_for_end(struct daemon *d)
{
    if (d->options->lifeline) {
        if (!wait_for_lifeline(d))
            return;
        unmount(d, "who had it mounted is gone");
    }
    struct pollfd fds[] = {{.fd = d->signals, .events = POLLIN},
                           {.fd = d->ended, .events = POLLIN}};
    while (poll(fds, 2, -1) < 0 && errno == EINTR) {
    }
    if (fds[0].revents & POLLIN)
        unmount(d, "told to end");
}

static void sum_up(struct daemon *d)
{
    const struct bale_volume_stats *last = &d->last;
    const struct bale_store_totals totals = {
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

/* Undoes what begin did, as far as it came. served: there was a mount that answered. */
static int end(struct daemon *d, bool served)
{
    struct bale_mount *mount = &d->mount;
    char result[BALE_REASON_SIZE] = "";
    int err = BALE_OK;

    if (d->watcher >= 0)
        bale_watcher_report_end(d->watcher, d->mountpoint, &d->identity);
    if (d->session)
        bale_session_stop(d->session);
    if (mount->freezer) {
        bale_volume_thaw(mount->volume);
        bale_freezer_thaw(mount->freezer);
    }
    bale_opened_close_all(mount);
    bale_directories_close_all();
    if (mount->volume) {
        err =
            bale_volume_destroy(mount->volume); /* what ends there still replies, and tells nodes */
    }
    bale_session_destroy(d->session);
    bale_freezer_destroy(mount->freezer);
    bale_interrupts_destroy(mount->interrupts);
    bale_ctimes_destroy(mount->ctimes);
    bale_nodes_destroy(mount->nodes);
    if (err != BALE_OK) {
        snprintf(result, sizeof result, "%s: not everything could be stored: %s: see the log",
                 bale_store_path(mount->store), bale_err_text(err));
    }
    if (served && !mount->read_only)
        sum_up(d);
    if (mount->store) {
        int closed =
            bale_store_close(mount->store, err == BALE_OK, result[0] ? result : "all is stored");
        err = err != BALE_OK ? err : closed;
    }
    if (served) {
        bale_log(err == BALE_OK ? BALE_LOG_INFO : BALE_LOG_ERROR, "%s: unmounted: %s",
                 d->mountpoint,
                 err == BALE_OK ? "all is stored"
                 : result[0]    ? result
                                : bale_err_text(err));
        bale_reason_set(d->why, "%s", result);
    }
    for (int *fd = (int[]){d->sync_fd, d->ended, d->signals, d->watcher, -2}; *fd != -2; fd++)
        if (*fd >= 0)
            close(*fd);
    pthread_cond_destroy(&mount->closed);
    pthread_mutex_destroy(&mount->opened_lock);
    free(d->mountpoint);
    return err;
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
    d->options = options;
    d->why = why;
    d->sync_fd = d->ended = d->signals = d->watcher = -1;
    pthread_mutex_init(&d->mount.opened_lock, NULL);
    pthread_cond_init(&d->mount.closed, NULL);
    int err = begin(d);
    bool served = err == BALE_OK;
    if (served) {
        bale_log(BALE_LOG_INFO, "%s on %s: %s%s%s", bale_store_path(d->mount.store), d->mountpoint,
                 bale_session_text(d->session),
                 bale_store_abilities(d->mount.store)->text[0] ? "; lacking: " : "",
                 bale_store_abilities(d->mount.store)->text);
        ready(arg);
        bale_volume_open_gpu(d->mount.volume); /* takes seconds: the mount is usable before */
        wait_for_end(d);
    } else if (why->text[0] == '\0') {
        bale_reason_set(why, "%s: cannot be mounted: %s: see the log", options->store,
                        bale_err_text(err));
    }
    int ended = end(d, served);
    free(d);
    return served ? ended : err;
}
