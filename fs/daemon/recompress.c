#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "fs/daemon/control.h"
#include "fs/daemon/ioctl.h"
#include "fs/fuse/attr.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/opened.h"

struct recompress_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request;
    struct bale_control_recompress message;
    struct bale_recompress work;
    struct bale_round_stored round; /* instead, with BALE_CONTROL_ROUND */
};

static void recompress_destroy(struct recompress_op *op)
{
    bale_in_flight_complete(op->use.mount->in_flight, op->request);
    free(op);
}

static void recompress_reply(struct recompress_op *op)
{
    const struct bale_recompress *work = &op->work;
    struct bale_control_recompress *message = &op->message;

    message->offset = work->offset;
    message->flags &= BALE_CONTROL_SET_CODEC | BALE_CONTROL_DRY | BALE_CONTROL_FORCE;
    message->flags |= work->busy ? BALE_CONTROL_BUSY : 0;
    message->flags |= work->over ? BALE_CONTROL_AT_END : 0;
    message->extents = work->extents;
    message->rewritten = work->rewritten;
    message->logical = work->logical;
    message->before = work->before;
    message->after = work->after;
    message->damaged = work->damaged;
    fuse_reply_ioctl(op->req, 0, message, sizeof *message);
}

/* The callback of bale_file_recompress. */
static void recompress_done(void *arg, int64_t result)
{
    struct recompress_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    struct bale_opened *opened = node->opened;

    if (!op->work.dry)
        bale_capability_put_back(opened);
    if (op->work.rewritten > 0) {
        /* The number of blocks has changed; the kernel believes its own copy until notified. */
        fuse_lowlevel_notify_inval_inode(mount->session, bale_ino_of(mount, node), -1, 0);
    }
    if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        recompress_reply(op);
    bale_use_end(mount, node);
    recompress_destroy(op);
}

static void round_flushed(void *arg, int64_t result)
{
    struct recompress_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    const struct bale_round_stored *round = &op->round;

    if (round->rounded > 0)
        bale_drops_add(mount->drops, bale_ino_of(mount, node), 0, 0);
    op->message.offset = round->offset;
    op->message.rewritten = round->rounded;
    op->message.flags = (round->busy ? BALE_CONTROL_BUSY : 0) |
                        (round->over ? BALE_CONTROL_AT_END : 0) |
                        (round->exact ? BALE_CONTROL_ROUND : 0);
    if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        fuse_reply_ioctl(op->req, 0, &op->message, sizeof op->message);
    bale_use_end(mount, node);
    recompress_destroy(op);
}

/* The callback of bale_file_round. */
static void round_done(void *arg, int64_t result)
{
    struct recompress_op *op = arg;

    if (result < 0 || op->round.rounded == 0)
        round_flushed(op, result);
    else
        bale_file_flush(op->use.node->opened->file, false, round_flushed, op);
}

static int may_recompress(const struct recompress_op *op, const struct stat *st)
{
    const struct bale_mount *mount = op->use.mount;
    uid_t uid = fuse_req_ctx(op->req)->uid;

    if (uid != 0 && uid != mount->owner && uid != st->st_uid)
        return EPERM;
    return mount->read_only || !op->use.node->opened->writable ? EROFS : 0;
}

static void recompress_file_ready(struct bale_use *use, int e)
{
    struct recompress_op *op = (struct recompress_op *)use;
    struct stat st;

    if (e) {
        fuse_reply_err(op->req, e);
        recompress_destroy(op);
        return;
    }
    struct bale_opened *opened = use->node->opened;
    e = bale_attr_get(use->mount, use->node, bale_file_fd(opened->file), NULL, &st, NULL);
    e = e ? e : may_recompress(op, &st);
    if (e) {
        fuse_reply_err(op->req, e);
        bale_use_end(use->mount, use->node);
        recompress_destroy(op);
        return;
    }
    if (op->message.flags & BALE_CONTROL_ROUND) {
        op->round.offset = op->message.offset;
        bale_file_round(opened->file, &op->round, round_done, op);
        return;
    }
    if (!op->work.dry) {
        bale_capability_keep(opened);
        bale_file_keep_ctime(opened->file, &st.st_ctim);
    }
    bale_file_recompress(opened->file, &op->work, recompress_done, op);
}

void bale_recompress_request(fuse_req_t req, struct bale_node *node, const void *in, size_t in_size,
                             size_t out_size)
{
    struct recompress_op *op;
    struct bale_setting setting;

    if (!bale_node_is_regular(node) || in_size < sizeof op->message ||
        out_size < sizeof op->message) {
        fuse_reply_err(req, ENOTTY);
        return;
    }
    op = calloc(1, sizeof *op);
    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    memcpy(&op->message, in, sizeof op->message);
    setting = (struct bale_setting){.codec = (uint8_t)op->message.codec,
                                    .parameter = op->message.parameter};
    op->use = (struct bale_use){
        .mount = bale_mount_of(req), .node = node, .ready = recompress_file_ready};
    op->req = req;
    op->work = (struct bale_recompress){
        .offset = op->message.offset,
        .end = op->message.end,
        .setting = setting,
        .chosen = op->message.flags & BALE_CONTROL_SET_CODEC,
        .dry = op->message.flags & BALE_CONTROL_DRY,
        .insist = op->message.flags & BALE_CONTROL_FORCE,
    };
    if (op->work.chosen && (op->message.codec > UINT8_MAX || !bale_setting_valid(setting))) {
        fuse_reply_err(req, EINVAL);
        free(op);
        return;
    }
    op->request = bale_in_flight_detach(op->use.mount->in_flight);
    bale_use_begin(&op->use);
}
