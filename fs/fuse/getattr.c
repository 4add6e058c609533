#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "fs/fuse/attr.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

struct getattr_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request;
};

static int getattr_reply(fuse_req_t req, struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = bale_opened_file(mount, node);
    struct stat st;
    double timeout;
    int fd;
    int e;

    if (file) {
        e = bale_attr_get(mount, node, bale_file_fd(file), NULL, &st, &timeout);
        bale_file_unref(file);
    } else {
        e = bale_node_pin(mount->nodes, node, &fd);
        if (e)
            return e;
        e = bale_attr_get(mount, node, fd, NULL, &st, &timeout);
        bale_node_unpin(mount->nodes, node);
    }
    if (!e)
        fuse_reply_attr(req, &st, timeout);
    return e;
}

static void getattr_file_ready(struct bale_use *use, int e)
{
    struct getattr_op *op = (struct getattr_op *)use;
    bool used = !e;

    if (used || use->node->marks & BALE_MARK_BROKEN)
        e = getattr_reply(op->req, use->mount, use->node);
    if (e)
        fuse_reply_err(op->req, e);
    if (used)
        bale_use_end(use->mount, use->node);
    bale_in_flight_complete(use->mount->in_flight, op->request);
    free(op);
}

void bale_op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);

    (void)fi;
    int e = getattr_reply(req, mount, node);
    if (e == EAGAIN) {
        struct getattr_op *op = malloc(sizeof *op);
        if (op) {
            *op = (struct getattr_op){
                .use = {.mount = mount, .node = node, .ready = getattr_file_ready},
                .req = req,
                .request = bale_in_flight_detach(mount->in_flight)};
            bale_use_begin(&op->use);
            return;
        }
        e = ENOMEM;
    }
    if (e)
        fuse_reply_err(req, e);
}

void bale_op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct statvfs vfs;

    (void)ino;
    if (fstatvfs(bale_store_root_fd(mount->store), &vfs) != 0) {
        fuse_reply_err(req, errno);
        return;
    }
    uint64_t unit = vfs.f_frsize ? vfs.f_frsize : 1;
    uint64_t left = bale_volume_room(mount->volume, (uint64_t)vfs.f_bavail * unit) / unit;
    uint64_t taken = vfs.f_bavail - left;
    vfs.f_bavail = left;
    vfs.f_bfree -= taken < vfs.f_bfree ? taken : vfs.f_bfree;
    fuse_reply_statfs(req, &vfs);
}
