#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/names.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/unsynced.h"

#define LABEL_MAX 512

/* A rename or a link. Both commit the file's dirty data first, so that after a crash its new name
 * shows the whole file. The kernel keeps both directories locked until the reply. */
struct move_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request; /* NULL: the handler does it all */
    bool is_link;                 /* else a rename */
    unsigned flags;
    struct bale_node *from, *to; /* directories, pinned; from only for a rename */
    int from_fd, to_fd;
    struct bale_named_node source, target; /* target.ino 0: the new name is free */
    char *from_name, *to_name;
};

static void move_destroy(struct move_op *op)
{
    struct bale_mount *mount = op->use.mount;

    bale_named_node_unpin(mount, &op->target);
    bale_named_node_unpin(mount, &op->source);
    if (op->from)
        bale_node_unpin(mount->nodes, op->from);
    if (op->to)
        bale_node_unpin(mount->nodes, op->to);
    free(op->from_name);
    free(op->to_name);
    free(op);
}

static void relabel(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = bale_opened_file(mount, node);

    if (file) {
        char label[LABEL_MAX];
        bale_node_path(mount->nodes, node, label, sizeof label);
        bale_file_relabel(file, label);
        bale_file_touch_ctime(file);
        bale_file_unref(file);
    }
}

static void note_rename(struct move_op *op)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *source = op->source.node;
    struct bale_node *target = op->target.node;

    if (op->source.ino == op->target.ino)
        return; /* two links of one file: rename leaves both */
    if (op->flags & RENAME_EXCHANGE) {
        if (target) {
            bale_node_renamed(mount->nodes, target, op->to, op->to_name, op->from, op->from_name);
            relabel(mount, target);
        }
    } else {
        bale_named_node_removed(mount, &op->target, op->to, op->to_name);
    }
    if (source) {
        bale_node_renamed(mount->nodes, source, op->from, op->from_name, op->to, op->to_name);
        relabel(mount, source);
    }
}

/* Within bale_unsynced_move_begin and _end. */
static int rename_now(struct move_op *op)
{
    struct bale_mount *mount = op->use.mount;

    bale_unsynced_add_moved(mount, op->source.node);
    if (op->flags & RENAME_EXCHANGE)
        bale_unsynced_add_moved(mount, op->target.node);
    else if (op->target.ino != op->source.ino)
        bale_named_node_removing(mount, &op->target);
    bale_nodes_rename_begin(mount->nodes);
    int e =
        renameat2(op->from_fd, op->from_name, op->to_fd, op->to_name, op->flags) != 0 ? errno : 0;
    if (!e)
        note_rename(op);
    bale_nodes_rename_end(mount->nodes);
    if (!e) {
        /* In this order, so that a file has both names between the two syncs, and not none. */
        bale_unsynced_add(mount, op->to);
        bale_unsynced_add(mount, op->from);
    }
    return e;
}

static int link_now(struct move_op *op)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->source.node;

    if (linkat(AT_FDCWD, bale_proc_path(op->source.fd).text, op->to_fd, op->to_name,
               AT_SYMLINK_FOLLOW) != 0)
        return errno;
    bale_node_linked(mount->nodes, node, op->to, op->to_name);
    bale_unsynced_add(mount, op->to);
    bale_unsynced_add(mount, node);
    bale_opened_set_unlinked(mount, node, false);
    relabel(mount, node);
    return 0;
}

static void move_finish(struct move_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;

    fuse_req_t req = op->req;
    struct bale_request *request = op->request;
    bool moves = !e && !op->is_link;
    /* This may wait for a sync, and the request may be given up meanwhile. */
    if (moves)
        bale_unsynced_move_begin(mount);
    if (!e && bale_in_flight_is_given_up(request))
        e = EINTR;
    if (!e)
        e = op->is_link ? link_now(op) : rename_now(op);
    if (moves)
        bale_unsynced_move_end(mount);
    if (e || !op->is_link)
        fuse_reply_err(req, e);
    else
        bale_entry_reply_new(req, 0, op->to, op->to_name);
    move_destroy(op);
    bale_in_flight_complete(mount->in_flight, request);
    bale_freezer_change_end(mount->freezer);
}

static void move_file_flushed(void *arg, int64_t result)
{
    struct move_op *op = arg;
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;

    move_finish(op, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_use_end(mount, node);
}

static void move_file_ready(struct bale_use *use, int e)
{
    struct move_op *op = (struct move_op *)use;

    if (!e)
        bale_file_flush(use->node->opened->file, false, move_file_flushed, op);
    else
        move_finish(op, e == ENOENT ? 0 : e); /* not open: nothing is dirty */
}

/* e: the result of the preparations. */
static void move_begin(struct move_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;

    /* What follows may come after the handler, when nobody keeps the names as they are. */
    if (!e && bale_request_is_given_up())
        e = EINTR;
    if (e) {
        fuse_reply_err(op->req, e);
        move_destroy(op);
        return;
    }
    bale_freezer_change_begin(mount->freezer);
    if (op->source.node && bale_node_is_regular(op->source.node)) {
        op->request = bale_in_flight_detach(mount->in_flight);
        op->use.node = op->source.node;
        op->use.only_open = true;
        op->use.changes = true;
        op->use.ready = move_file_ready;
        bale_use_begin(&op->use);
    } else {
        move_finish(op, 0);
    }
}

static struct move_op *move_create(fuse_req_t req, const char *from_name, const char *to_name)
{
    struct move_op *op = calloc(1, sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return NULL;
    }
    op->use.mount = bale_mount_of(req);
    op->req = req;
    op->from_name = strdup(from_name);
    op->to_name = strdup(to_name);
    return op;
}

static int pin_directory(struct move_op *op, struct bale_node *dir, struct bale_node **pinned,
                         int *fd)
{
    int e = op->from_name && op->to_name ? bale_node_pin(op->use.mount->nodes, dir, fd) : ENOMEM;

    if (!e)
        *pinned = dir;
    return e;
}

void bale_op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                    const char *new_name, unsigned flags)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *from = bale_node_of(mount, parent);
    struct bale_node *to = bale_node_of(mount, new_parent);
    struct move_op *op = move_create(req, name, new_name);

    if (!op)
        return;
    op->flags = flags;
    int e = flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE) ? EINVAL : 0;
    if (!to)
        e = ESTALE;
    if (!e && (bale_name_is_hidden(mount, from, name) || bale_name_is_hidden(mount, to, new_name)))
        e = EPERM;
    if (!e)
        e = pin_directory(op, from, &op->from, &op->from_fd);
    if (!e)
        e = pin_directory(op, to, &op->to, &op->to_fd);
    if (!e)
        e = bale_named_node_pin(mount, op->from_fd, name, &op->source);
    if (!e) {
        e = bale_named_node_pin(mount, op->to_fd, new_name, &op->target);
        e = e == ENOENT ? 0 : e;
    }
    move_begin(op, e);
}

void bale_op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct bale_node *to = bale_node_of(mount, new_parent);
    struct move_op *op = move_create(req, "", new_name);

    if (!op)
        return;
    op->is_link = true;
    int e = !node                                      ? ESTALE
            : bale_name_is_hidden(mount, to, new_name) ? EPERM
                                                       : pin_directory(op, to, &op->to, &op->to_fd);
    if (!e)
        e = bale_node_pin(mount->nodes, node, &op->source.fd);
    if (!e) {
        bale_node_ref(mount->nodes, node);
        op->source.node = node;
    }
    move_begin(op, e);
}
