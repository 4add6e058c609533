#include "fs/fuse/names.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fs/fuse/attr.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

#define LOOKUPS 50
#define LOOKUP_PAUSE_US 25000

/* The reply for a node whose file must be opened first. */
struct entry_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request;
    int fd;
};

/* 0: it has replied and unpinned the node. EAGAIN: it has done nothing, open the file first.
 * ESTALE, beside a writer: it has done nothing, look the name up again. */
static int reply_entry(fuse_req_t req, struct bale_node *node, int fd, const struct stat *backing)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct fuse_entry_param entry = {.entry_timeout =
                                         bale_mount_cache_seconds(mount, BALE_CACHE_SECONDS)};
    int e = bale_attr_get(mount, node, fd, backing, &entry.attr, &entry.attr_timeout);

    if (e == EAGAIN || (e == ESTALE && mount->beside))
        return e;
    if (e) {
        fuse_reply_err(req, e);
    } else {
        entry.ino = bale_ino_of(mount, node);
        entry.generation = bale_generation_of(mount, node);
        bale_node_remember(mount->nodes, node);
        if (fuse_reply_entry(req, &entry) != 0)
            bale_node_forget(mount->nodes, node, 1);
    }
    bale_node_unpin(mount->nodes, node);
    return 0;
}

static void entry_file_ready(struct bale_use *use, int e)
{
    struct entry_op *op = (struct entry_op *)use;
    bool used = !e;

    if (e && !(use->node->marks & BALE_MARK_BROKEN)) {
        fuse_reply_err(op->req, e);
        bale_node_unpin(use->mount->nodes, use->node);
    } else if (reply_entry(op->req, use->node, op->fd, NULL) != 0) {
        /* The file was closed already, and is uncertain again. */
        fuse_reply_err(op->req, EIO);
        bale_node_unpin(use->mount->nodes, use->node);
    }
    if (used)
        bale_use_end(use->mount, use->node);
    bale_in_flight_complete(use->mount->in_flight, op->request);
    free(op);
}

void bale_entry_reply(fuse_req_t req, struct bale_node *node, int fd, const struct stat *backing)
{
    struct bale_mount *mount = bale_mount_of(req);
    int e = reply_entry(req, node, fd, backing);

    if (e == ESTALE) {
        fuse_reply_err(req, e);
        bale_node_unpin(mount->nodes, node);
    }
    if (e != EAGAIN)
        return;
    struct entry_op *op = malloc(sizeof *op);
    if (!op) {
        fuse_reply_err(req, ENOMEM);
        bale_node_unpin(mount->nodes, node);
        return;
    }
    *op = (struct entry_op){.use = {.mount = mount, .node = node, .ready = entry_file_ready},
                            .req = req,
                            .request = bale_in_flight_detach(mount->in_flight),
                            .fd = fd};
    bale_use_begin(&op->use);
}

void bale_entry_reply_new(fuse_req_t req, int e, struct bale_node *dir, const char *name)
{
    struct bale_node *node;
    struct stat st;
    int fd;

    bale_mount_count_error(bale_mount_of(req), e);
    if (!e)
        e = bale_node_lookup(bale_mount_of(req)->nodes, dir, name, &node, &fd, &st);
    if (e)
        fuse_reply_err(req, e);
    else
        bale_entry_reply(req, node, fd, &st);
}

/* Finds what a file handle asks for: a node by its number, ".", or the directory above one, "..";
 * or a name. */
static int look_up(struct bale_mount *mount, fuse_ino_t parent, const char *name,
                   struct bale_node **node, int *fd, struct stat *st)
{
    if (strcmp(name, ".") == 0)
        return bale_node_by_number(mount->nodes, parent, node, fd, st);
    struct bale_node *dir = bale_node_of(mount, parent);
    if (strcmp(name, "..") == 0)
        return bale_node_above(mount->nodes, dir, node, fd, st);
    return bale_name_is_hidden(mount, dir, name)
               ? ENOENT
               : bale_node_lookup(mount->nodes, dir, name, node, fd, st);
}

/* The name may get another file all the time, and lead to one that is gone. *node is NULL if it has
 * replied. */
static int look_up_beside(fuse_req_t req, fuse_ino_t parent, const char *name,
                          struct bale_node **node, int *fd, struct stat *st)
{
    struct bale_mount *mount = bale_mount_of(req);
    int e = ESTALE;

    for (int tries = 0; tries < LOOKUPS && e == ESTALE; tries++) {
        e = look_up(mount, parent, name, node, fd, st);
        if (e == ESTALE)
            usleep(LOOKUP_PAUSE_US);
        if (e)
            continue;
        e = reply_entry(req, *node, *fd, st);
        if (e == EAGAIN)
            return 0;
        if (e)
            bale_node_unpin(mount->nodes, *node);
        else
            *node = NULL;
    }
    return e;
}

void bale_op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node;
    struct stat st;
    int fd;
    int e = mount->beside ? look_up_beside(req, parent, name, &node, &fd, &st)
                          : look_up(mount, parent, name, &node, &fd, &st);

    if (e == ENOENT)
        fuse_reply_entry(req, &(struct fuse_entry_param){.entry_timeout = bale_mount_cache_seconds(
                                                             mount, BALE_ABSENT_SECONDS)});
    else if (e)
        fuse_reply_err(req, e);
    else if (node)
        bale_entry_reply(req, node, fd, &st);
}

void bale_op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    struct bale_mount *mount = bale_mount_of(req);
    bale_node_forget(mount->nodes, bale_node_of(mount, ino), lookups);
    fuse_reply_none(req);
}

void bale_op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    struct bale_mount *mount = bale_mount_of(req);

    for (size_t i = 0; i < count; i++) {
        struct bale_node *node = bale_node_of(mount, forgets[i].ino);
        if (node)
            bale_node_forget(mount->nodes, node, forgets[i].nlookup);
    }
    fuse_reply_none(req);
}
