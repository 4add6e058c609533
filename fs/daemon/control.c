#include "fs/daemon/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/daemon/ioctl.h"
#include "fs/daemon/resources.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/ops.h"

static bool may_control(fuse_req_t req)
{
    uid_t uid = fuse_req_ctx(req)->uid;
    return uid == 0 || uid == bale_mount_of(req)->owner;
}

/* bale_volume_sync: from another thread, without locks. */
static void control_sync_done(void *arg, int err)
{
    fuse_req_t req = arg;
    if (err != BALE_OK)
        fuse_reply_err(req, bale_err_to_errno(err));
    else
        fuse_reply_ioctl(req, 0, NULL, 0);
}

static void control_thaw(struct bale_mount *mount)
{
    /* In this order: see control_freeze_quiesced. */
    bale_freezer_thaw(mount->freezer);
    bale_volume_thaw(mount->volume);
}

/* bale_volume_freeze: from another thread, without locks. */
static void control_freeze_done(void *arg, int err)
{
    fuse_req_t req = arg;
    if (err != BALE_OK) {
        bale_log(BALE_LOG_ERROR, "%s: cannot be frozen: %s: see the messages before",
                 bale_store_path(bale_mount_of(req)->store), bale_err_text(err));
        control_thaw(bale_mount_of(req));
    } else if (!bale_freezer_is_frozen(bale_mount_of(req)->freezer)) {
        err = BALE_E_CANCELLED; /* a thaw came before the freeze had ended */
    }
    control_sync_done(req, err);
}

/* bale_freezer_freeze: no request changes the store any more. A thaw may come at any time: it ends
 * the freezer's freeze first, so that this function, which looks at that last, thaws the volume if
 * the thaw did so too early. */
static void control_freeze_quiesced(void *arg)
{
    fuse_req_t req = arg;
    struct bale_mount *mount = bale_mount_of(req);

    bale_volume_freeze(mount->volume, control_freeze_done, req);
    if (!bale_freezer_is_frozen(mount->freezer))
        bale_volume_thaw(mount->volume);
}

static struct bale_control_work work_of(const struct bale_dispatch_work *work)
{
    return (struct bale_control_work){
        .items = work->items, .encoded = work->encoded, .decoded = work->decoded};
}

static struct bale_control_gpu gpu_of(const struct bale_dispatch_stats *stats)
{
    struct bale_control_gpu gpu = {
        .work = work_of(&stats->gpu),
        .batches = stats->batches,
        .redone = stats->redone,
        .mismatches = stats->device.mismatches,
        .device_memory = stats->device.device_memory,
        .pinned = stats->device.pinned,
        .codecs = stats->device.codecs,
        .used = stats->used,
        .open = stats->device.open,
    };

    snprintf(gpu.device, sizeof gpu.device, "%s", stats->device.device);
    return gpu;
}

static void reply_status(fuse_req_t req, size_t out_size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_volume_stats stats;
    struct bale_control_status *status = calloc(1, sizeof *status);

    if (!status || out_size < sizeof *status) {
        free(status);
        fuse_reply_err(req, status ? EINVAL : ENOMEM);
        return;
    }
    bale_volume_stats(mount->volume, &stats);
    *status = (struct bale_control_status){
        .magic = BALE_CONTROL_MAGIC,
        .version = BALE_CONTROL_VERSION,
        .pid = (int32_t)getpid(),
        .frozen = bale_freezer_is_frozen(mount->freezer),
        .nodes = bale_nodes_count(mount->nodes),
        .memory_cap = stats.memory_cap,
        .memory_used = stats.memory_used,
        .cached = stats.cached,
        .dirty = stats.dirty,
        .dirty_limit = stats.dirty_limit,
        .files = stats.files,
        .read_hits = stats.read_hits,
        .read_misses = stats.read_misses,
        .commits = stats.commits,
        .syncs = stats.syncs,
        .items = stats.items,
        .errors = stats.errors,
        .written = stats.written,
        .raw_bytes = stats.raw_bytes,
        .stored_bytes = stats.stored_bytes,
        .throttled = stats.throttled,
        .cpu_us = bale_process_cpu_us(),
        .cpu = work_of(&stats.engine.cpu),
        .gpu = gpu_of(&stats.engine),
    };
    snprintf(status->engine, sizeof status->engine, "%s", stats.engine.used ? "gpu" : "cpu");
    snprintf(status->io, sizeof status->io, "%s", mount->direct ? "direct" : "cached");
    snprintf(status->program, sizeof status->program, "%s", BALEFS_VERSION);
    snprintf(status->store, sizeof status->store, "%s", bale_store_path(mount->store));
    fuse_reply_ioctl(req, 0, status, sizeof *status);
    free(status);
}

void bale_op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg,
                   struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size,
                   size_t out_size)
{
    struct bale_mount *mount = bale_mount_of(req);

    (void)arg;
    (void)fi;
    (void)flags;
    if (cmd == BALE_IOC_RECOMPRESS) {
        bale_recompress_request(req, bale_node_of(mount, ino), in, in_size, out_size);
        return;
    }
    bool ours = ino == FUSE_ROOT_ID && (cmd == BALE_IOC_SYNC || cmd == BALE_IOC_FREEZE ||
                                        cmd == BALE_IOC_THAW || cmd == BALE_IOC_STATUS);
    if (!ours) {
        fuse_reply_err(req, ENOTTY);
    } else if (cmd != BALE_IOC_SYNC && !may_control(req)) {
        fuse_reply_err(req, EPERM);
    } else if (cmd == BALE_IOC_SYNC) {
        bale_volume_sync(mount->volume, true, control_sync_done, req);
    } else if (cmd == BALE_IOC_FREEZE) {
        if (!bale_freezer_freeze(mount->freezer, control_freeze_quiesced, req))
            fuse_reply_err(req, EBUSY);
    } else if (cmd == BALE_IOC_THAW) {
        fuse_reply_ioctl(req, 0, NULL, 0);
        control_thaw(mount);
    } else {
        reply_status(req, out_size);
    }
}
