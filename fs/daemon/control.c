#include "fs/daemon/control.h"

#include <errno.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/daemon/freeze_limit.h"
#include "fs/daemon/ioctl.h"
#include "fs/daemon/log_file.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/ops.h"

static bool may_control(fuse_req_t req)
{
    uid_t uid = fuse_req_ctx(req)->uid;
    return uid == 0 || uid == bale_mount_of(req)->owner;
}

struct sync_op {
    fuse_req_t req;
    struct bale_request *request;
};

/* bale_volume_sync: from another thread, without locks. */
static void control_sync_done(void *arg, int err)
{
    struct sync_op *op = arg;
    struct bale_mount *mount = bale_mount_of(op->req);

    if (err != BALE_OK)
        fuse_reply_err(op->req, bale_err_to_errno(err));
    else
        fuse_reply_ioctl(op->req, 0, NULL, 0);
    bale_in_flight_complete(mount->in_flight, op->request);
    free(op);
}

static void control_sync(fuse_req_t req)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct sync_op *op = malloc(sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct sync_op){req, bale_in_flight_detach(mount->in_flight)};
    bale_volume_sync(mount->volume, true, control_sync_done, op);
}

/* While everything is stored, at the beginning, the freeze may last this much longer. */
#define STORE_SECONDS 600

struct freeze_op {
    fuse_req_t req;
    struct bale_mount *mount;
    struct bale_request *request;
    struct bale_control_freeze freeze;
};

/* False: the caller is gone. */
static bool freeze_reply(struct freeze_op *op, int e)
{
    int sent = e ? fuse_reply_err(op->req, e)
                 : fuse_reply_ioctl(op->req, 0, &op->freeze, sizeof op->freeze);

    bale_in_flight_complete(op->mount->in_flight, op->request);
    free(op);
    return sent == 0;
}

/* bale_volume_freeze: from another thread, without locks. */
static void control_freeze_done(void *arg, int err)
{
    struct freeze_op *op = arg;
    struct bale_mount *mount = op->mount;
    uint64_t number = op->freeze.number;

    if (err != BALE_OK) {
        bale_log(BALE_LOG_ERROR, "%s: cannot be frozen: %s: see the messages before",
                 bale_store_path(mount->store), bale_err_text(err));
        (void)bale_freeze_limit_end(mount->freeze_limit, number);
        bale_thaw(mount);
    } else if (!bale_freeze_limit_extend(mount->freeze_limit, number, op->freeze.seconds)) {
        err = BALE_E_CANCELLED; /* a thaw came before the freeze had ended */
    }
    /* A caller that was killed while the store stalled will not thaw the mount: thaw it here. */
    if (!freeze_reply(op, bale_err_to_errno(err)) && err == BALE_OK &&
        bale_freeze_limit_end(mount->freeze_limit, number))
        bale_thaw(mount);
}

/* The callback of bale_freezer_freeze: no request changes the store any more. A thaw may come at
 * any time. It thaws the freezer before the volume. So this function freezes the volume, then looks
 * at the freezer, and thaws the volume again if the thaw has come before. */
static void control_freeze_quiesced(void *arg)
{
    struct freeze_op *op = arg;
    struct bale_mount *mount = op->mount;

    bale_log_file_hold(true);
    bale_volume_freeze(mount->volume, control_freeze_done, op);
    if (!bale_freezer_is_frozen(mount->freezer)) {
        bale_volume_thaw(mount->volume);
        bale_log_file_hold(false);
    }
}

static void control_freeze(fuse_req_t req, const struct bale_control_freeze *freeze)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct freeze_op *op = malloc(sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct freeze_op){req, mount, bale_in_flight_detach(mount->in_flight), *freeze};
    if (freeze->number) {
        bool lasts = bale_freeze_limit_extend(mount->freeze_limit, freeze->number, freeze->seconds);
        (void)freeze_reply(op, lasts ? 0 : ETIME);
        return;
    }
    op->freeze.number =
        bale_freeze_limit_begin(mount->freeze_limit, freeze->seconds + STORE_SECONDS);
    if (!op->freeze.number) {
        (void)freeze_reply(op, EBUSY);
    } else if (!bale_freezer_freeze(mount->freezer, control_freeze_quiesced, op)) {
        (void)bale_freeze_limit_end(mount->freeze_limit, op->freeze.number);
        (void)freeze_reply(op, EBUSY);
    }
}

static void control_thaw(fuse_req_t req, const struct bale_control_freeze *freeze)
{
    struct bale_mount *mount = bale_mount_of(req);

    if (!bale_freeze_limit_end(mount->freeze_limit, freeze->number)) {
        fuse_reply_err(req, ETIME);
        return;
    }
    fuse_reply_ioctl(req, 0, NULL, 0);
    bale_thaw(mount);
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
    bool ours = cmd == BALE_IOC_SYNC || cmd == BALE_IOC_FREEZE || cmd == BALE_IOC_THAW ||
                cmd == BALE_IOC_STATUS;
    if (!ours) {
        fuse_reply_err(req, ENOTTY);
    } else if (cmd != BALE_IOC_SYNC && !may_control(req)) {
        fuse_reply_err(req, EPERM);
    } else if (cmd == BALE_IOC_SYNC) {
        control_sync(req);
    } else if (cmd == BALE_IOC_FREEZE || cmd == BALE_IOC_THAW) {
        if (in_size < sizeof(struct bale_control_freeze))
            fuse_reply_err(req, EINVAL);
        else if (cmd == BALE_IOC_FREEZE)
            control_freeze(req, in);
        else
            control_thaw(req, in);
    } else {
        bale_status_request(req, out_size);
    }
}
