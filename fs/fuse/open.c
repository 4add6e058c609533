#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/follow.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/give.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mode.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"

struct open_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request;
    struct fuse_file_info fi;
    bool kill_suidgid;
    bool soon; /* a read is expected */
    int fd;    /* of the node if it is pinned, or -1 */
};

static void open_destroy(struct open_op *op)
{
    if (op->fi.flags & O_TRUNC)
        bale_freezer_change_end(op->use.mount->freezer);
    bale_in_flight_complete(op->use.mount->in_flight, op->request);
    free(op);
}

/* After the reply, until the program's read comes. Gives up a reference. */
static void read_soon(struct bale_file *file)
{
    bale_file_read_soon(file);
    bale_file_unref(file);
}

static void open_finish(struct open_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    struct bale_file *soon = NULL;

    if (op->fd >= 0)
        bale_node_unpin(mount->nodes, node);
    if (e) {
        fuse_reply_err(op->req, e);
        bale_use_end(mount, node);
    } else {
        bale_use_add_handle(&op->use, &op->fi);
        bale_follow_note(mount, node);
        if (op->soon)
            soon = bale_file_ref(node->opened->file);
        if (fuse_reply_open(op->req, &op->fi) != 0) {
            /* The open was interrupted, so the kernel will not send a release. */
            bale_use_drop_handle(mount, node, &op->fi);
        }
    }
    open_destroy(op);
    if (soon)
        read_soon(soon);
}

static void open_truncated(void *arg, int64_t result)
{
    open_finish(arg, bale_err_to_errno(result < 0 ? (int)result : 0));
}

static void open_mode_changed(void *arg, int64_t result)
{
    struct open_op *op = arg;

    if (result < 0) {
        open_finish(op, bale_err_to_errno((int)result));
    } else {
        bale_capability_set(op->use.mount, op->use.node, NULL, 0);
        bale_file_truncate(op->use.node->opened->file, 0, open_truncated, op);
    }
}

static void open_file_ready(struct bale_use *use, int e)
{
    struct open_op *op = (struct open_op *)use;
    struct bale_node *node = use->node;
    bool truncates = op->fi.flags & O_TRUNC;
    bool writes = truncates || (op->fi.flags & O_ACCMODE) != O_RDONLY;

    if (e) {
        fuse_reply_err(op->req, e);
        open_destroy(op);
        return;
    }
    bale_follow_open(use->mount, node);
    if (writes && !node->opened->writable) {
        open_finish(op, bale_opened_refusal(node->opened));
        return;
    }
    if (!truncates) {
        open_finish(op, 0);
        return;
    }
    mode_t mode = 0;
    bool loses = false;
    if (op->kill_suidgid) {
        e = bale_node_pin(use->mount->nodes, node, &op->fd);
        e = e ? e : bale_mode_left(use->mount, node, op->fd, op->req, &mode, &loses);
    }
    if (e)
        open_finish(op, e);
    else if (loses)
        bale_mode_change(use->mount, node, op->fd, node->opened->file, mode, open_mode_changed, op);
    else
        open_mode_changed(op, 0);
}

void bale_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct open_op *op = malloc(sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    struct bale_node *node = bale_node_of(mount, ino);
    enum bale_expected expected = bale_give_expect(mount, node, fi->flags);
    *op = (struct open_op){
        .use = {.mount = mount,
                .node = node,
                .gives = expected == BALE_EXPECT_GIVE,
                .changes = fi->flags & O_TRUNC,
                .ready = open_file_ready},
        .req = req,
        .request = bale_in_flight_detach(mount->in_flight),
        .fi = *fi,
        .kill_suidgid = bale_mode_is_killed(mount),
        .soon = expected == BALE_EXPECT_READ,
        .fd = -1,
    };
    /* The truncation may come after this handler has returned. */
    if (fi->flags & O_TRUNC)
        bale_freezer_change_begin(op->use.mount->freezer);
    bale_use_begin(&op->use);
}

void bale_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    bale_use_drop_handle(mount, bale_node_of(mount, ino), fi);
    fuse_reply_err(req, 0);
}
