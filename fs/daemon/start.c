/* The start of a mount. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/daemon/freeze_limit.h"
#include "fs/daemon/log_file.h"
#include "fs/daemon/mountpoint.h"
#include "fs/daemon/resources.h"
#include "fs/daemon/state.h"
#include "fs/daemon/watcher.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/follow.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/known.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/shares.h"
#include "fs/fuse/unsynced.h"
#include "fs/store/overlap.h"
#include "kernels/engine/plugin_loader.h"

#define GPU_SLOTS_MS 10000 /* without work the engine frees a GPU's memory for batches after this */
#define GPU_IDLE_MS 900000 /* and its context after this, or after gpu-idle= */
#define GPU_WATCHDOG_MS 10000 /* a batch that takes longer means that the GPU hangs */

static int open_store(struct bale_daemon *d)
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

static void decide_trust(struct bale_daemon *d)
{
    bale_trust_decide(&d->mount, d->options, d->mountpoint, &d->trust);
    if (d->trust.unasked) {
        bale_log(BALE_LOG_INFO,
                 "%s: its directory belongs to somebody else: mounted as with -o untrusted: see "
                 "balefs-mount(1)",
                 bale_store_path(d->mount.store));
    }
}

static int create_volume(struct bale_daemon *d)
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
    unsigned files = descriptors->files, ahead = descriptors->ahead;
    unsigned kept =
        bale_directories_kept(descriptors, bale_memory_cap(bale_volume_memory(mount->volume)));
    int err = bale_shares_create(files, files / 8, mount->owner, &mount->files);

    if (err == BALE_OK)
        err = bale_shares_create(kept, kept / 8, mount->owner, &mount->directories);
    return err == BALE_OK ? bale_shares_create(ahead, ahead / 8, mount->owner, &mount->ahead) : err;
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

/* For bale_nodes_on_gone. */
static void space_came(void *volume)
{
    bale_volume_tell_space(volume);
}

static int create_parts(struct bale_daemon *d, const struct bale_descriptors *descriptors)
{
    struct bale_mount *mount = &d->mount;
    struct bale_memory *memory = bale_volume_memory(mount->volume);
    int err = bale_nodes_create(bale_store_root_fd(mount->store), memory, descriptors->nodes,
                                &mount->nodes);

    if (err)
        return bale_err_from_errno(err);
    bale_nodes_on_full(mount->nodes, bale_opened_wait_close, mount);
    bale_nodes_on_gone(mount->nodes, space_came, mount->volume);
    if (mount->beside)
        bale_nodes_set_beside(mount->nodes);
    use_handles(mount);
    err = create_shares(mount, descriptors);
    if (err == BALE_OK)
        err = bale_ctimes_create(memory, &mount->ctimes);
    if (err == BALE_OK)
        err = bale_known_create(memory, &mount->known);
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

/* Finds the mount point, or if a dead mount lies there, takes its path as it is. */
static int find_mountpoint(struct bale_daemon *d)
{
    const char *unmounts = d->options->auto_unmount ? "auto_unmount"
                           : d->options->idle       ? "idle"
                                                    : NULL;

    if (!d->options->clear)
        return bale_mountpoint_find(d->options->mountpoint, unmounts, &d->mountpoint, d->why);
    d->mountpoint = strdup(d->options->mountpoint);
    return d->mountpoint ? BALE_OK : BALE_E_NOMEM;
}

/* Takes a dead mount away, and looks at what lies below. */
static int clear_mountpoint(struct bale_daemon *d)
{
    char *path = NULL;

    if (!d->options->clear)
        return BALE_OK;
    if (!d->options->clear(d->mountpoint)) {
        bale_reason_set(d->why, "%s: a dead mount that lies there cannot be replaced",
                        d->mountpoint);
        return BALE_E_IO;
    }
    int err = bale_mountpoint_find(d->mountpoint, NULL, &path, d->why);
    if (err == BALE_OK)
        err = bale_overlap_check(bale_store_path(d->mount.store), path, d->why);
    free(path);
    return err;
}

int bale_daemon_start(struct bale_daemon *d)
{
    struct bale_mount *mount = &d->mount;
    struct bale_descriptors descriptors = bale_descriptors_raise();
    int err = bale_daemon_signals_open(&d->signals);

    if (err == BALE_OK)
        err = find_mountpoint(d);
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
        err = clear_mountpoint(d);
    if (err == BALE_OK)
        bale_volume_open_gpu(mount->volume); /* on its own thread, while the kernel mounts */
    if (err == BALE_OK)
        err = bale_session_create(mount, d->options, &d->trust, d->mountpoint, d->signals.ended,
                                  &d->session, d->why);
    if (err == BALE_OK)
        err = bale_store_watch(mount->store);
    if (err == BALE_OK && d->watcher >= 0)
        bale_watcher_report_mount(d->watcher, d->mountpoint, &d->identity);
    if (err == BALE_OK)
        err = bale_session_start(d->session, bale_request_threads());
    if (err == BALE_OK)
        bale_mountpoint_show(d->mountpoint);
    return err;
}
