#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

void bale_open_flags(struct bale_mount *mount, struct fuse_file_info *fi)
{
    fi->direct_io = mount->direct;
    fi->parallel_direct_writes = mount->direct;
    fi->keep_cache = !mount->direct;
    /* Nothing of a reader's waits to be written. */
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY;
}

struct open_op {
    struct bale_use use;
    fuse_req_t req;
    struct fuse_file_info fi;
    bool kill_suidgid;
    int fd; /* held, with O_TRUNC */
};

/* A truncation may come after the handler's return. */
static void destroy(struct open_op *op)
{
    if (op->fi.flags & O_TRUNC)
        bale_freezer_change_end(op->use.mount->freezer);
    free(op);
}

static void finish(struct open_op *op, int err)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    if (op->fd >= 0)
        bale_node_unpin(mount->nodes, node);
    if (err) {
        fuse_reply_err(op->req, err);
        bale_use_end(mount, node);
    } else {
        bale_open_flags(mount, &op->fi);
        bale_use_add_handle(&op->use, op->fi.flags);
        if (fuse_reply_open(op->req, &op->fi) != 0) {
            /* Interrupted: there will be no release. */
            bale_use_drop_handle(mount, node, op->fi.flags);
        }
    }
    destroy(op);
}

static void truncated(void *arg, int64_t result)
{
    finish(arg, bale_err_to_errno(result < 0 ? (int)result : 0));
}

static void truncate_file(void *arg, int64_t result)
{
    struct open_op *op = arg;

    if (result < 0) {
        finish(op, bale_err_to_errno((int)result));
    } else {
        bale_capability_set(op->use.mount, op->use.node, NULL, 0);
        bale_file_truncate(op->use.node->opened->file, 0, truncated, op);
    }
}

static void ready(struct bale_use *use, int err)
{
    struct open_op *op = (struct open_op *)use;
    struct bale_node *node = use->node;
    bool truncates = op->fi.flags & O_TRUNC;
    bool writes = truncates || (op->fi.flags & O_ACCMODE) != O_RDONLY;

    if (err) {
        fuse_reply_err(op->req, err);
        destroy(op);
        return;
    }
    if (writes && !node->opened->writable) {
        finish(op, use->mount->read_only ? EROFS : EACCES);
        return;
    }
    if (!truncates) {
        finish(op, 0);
        return;
    }
    mode_t mode = 0;
    if (op->kill_suidgid) {
        err = bale_node_pin(use->mount->nodes, node, &op->fd);
        err = err ? err : bale_mode_get(use->mount, node, op->fd, &mode);
    }
    if (err) {
        finish(op, err);
    } else if (bale_mode_without_suid(mode) != mode) {
        bale_mode_change(use->mount, node, op->fd, node->opened->file, bale_mode_without_suid(mode),
                         truncate_file, op);
    } else {
        truncate_file(op, 0);
    }
}

void bale_op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct open_op *op = malloc(sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct open_op){
        .use = {.mount = mount, .node = bale_node_of(mount, ino), .ready = ready},
        .req = req,
        .fi = *fi,
        .kill_suidgid = bale_current_request.kill_suidgid,
        .fd = -1,
    };
    if (fi->flags & O_TRUNC)
        bale_freezer_change_begin(op->use.mount->freezer);
    bale_use_begin(&op->use);
}

void bale_op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    bale_use_drop_handle(mount, bale_node_of(mount, ino), fi->flags);
    fuse_reply_err(req, 0);
}
