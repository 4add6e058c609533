/* The status of a mount, for balefs stat. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/daemon/control.h"
#include "fs/daemon/freeze_limit.h"
#include "fs/daemon/ioctl.h"
#include "fs/daemon/log_file.h"
#include "fs/daemon/resources.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mount.h"

#define STALLED_MS 1000 /* a request that is handled for longer waits for something */

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
        .kept = stats->device.kept,
    };

    snprintf(gpu.device, sizeof gpu.device, "%s", stats->device.device);
    return gpu;
}

void bale_status_request(fuse_req_t req, size_t out_size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_volume_stats stats;
    uint64_t longest_ms;
    struct bale_control_status *status = calloc(1, sizeof *status);

    if (!status || out_size < sizeof *status) {
        free(status);
        fuse_reply_err(req, status ? EINVAL : ENOMEM);
        return;
    }
    bale_volume_stats(mount->volume, &stats);
    uint64_t stalled = bale_in_flight_stalled(mount->in_flight, STALLED_MS, &longest_ms);
    *status = (struct bale_control_status){
        .magic = BALE_CONTROL_MAGIC,
        .version = BALE_CONTROL_VERSION,
        .pid = (int32_t)getpid(),
        .frozen = bale_freezer_is_frozen(mount->freezer),
        .read_only = mount->read_only,
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
        .read = stats.read,
        .written = stats.written,
        .raw_bytes = stats.raw_bytes,
        .stored_bytes = stats.stored_bytes,
        .throttled = stats.throttled,
        .reserve = stats.reserve,
        .waits_memory = stats.waiting,
        .waits_thaw = bale_freezer_waiting(mount->freezer),
        .waits_store = stalled,
        .longest_ms = longest_ms,
        .freeze_left = bale_freeze_limit_left(mount->freeze_limit),
        .cpu_us = bale_process_cpu_us(),
        .cpu = work_of(&stats.engine.cpu),
        .gpu = gpu_of(&stats.engine),
    };
    snprintf(status->engine, sizeof status->engine, "%s", stats.engine.used ? "gpu" : "cpu");
    snprintf(status->io, sizeof status->io, "%s", mount->direct ? "direct" : "cached");
    snprintf(status->program, sizeof status->program, "%s", BALEFS_VERSION);
    snprintf(status->store, sizeof status->store, "%s", bale_store_path(mount->store));
    bale_log_file_path(status->log, sizeof status->log);
    fuse_reply_ioctl(req, 0, status, sizeof *status);
    free(status);
}
