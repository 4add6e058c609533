#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

/* A write may have to wait for memory, and can be interrupted there. It is counted: by what will
 * reply, by the handler, and by an interrupt under way. */
struct write_op {
    struct bale_interruptible interruptible;
    atomic_uint refs;
    atomic_bool interrupted;
    struct bale_mount *mount;
    struct bale_file *file;
    fuse_req_t req;
    bool sync;
    size_t written;
};

static void drop(struct write_op *op)
{
    if (atomic_fetch_sub(&op->refs, 1) == 1) {
        bale_file_unref(op->file);
        free(op);
    }
}

static void ref(struct bale_interruptible *what)
{
    atomic_fetch_add(&((struct write_op *)what)->refs, 1);
}

static void interrupt(struct bale_interruptible *what)
{
    struct write_op *op = (struct write_op *)what;

    atomic_store(&op->interrupted, true);
    bale_file_cancel(op->file, op);
    drop(op);
}

static void synced(void *arg, int64_t result)
{
    struct write_op *op = arg;

    if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        fuse_reply_write(op->req, op->written);
    drop(op);
}

static void written(void *arg, int64_t result)
{
    struct write_op *op = arg;

    bale_interrupts_remove(op->mount->interrupts, &op->interruptible);
    if (result > 0 && op->sync) {
        op->written = (size_t)result;
        bale_file_flush(op->file, true, synced, op);
        return;
    }
    if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        fuse_reply_write(op->req, (size_t)result);
    drop(op);
}

static void ignore(void *arg, int64_t result)
{
    (void)arg;
    (void)result;
}

void bale_mode_kill_suidgid(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_file *file = node->opened->file;
    int fd = bale_file_fd(file);
    struct stat st;

    if (node->marks & BALE_MARK_CAPABILITY)
        bale_capability_set(mount, node, NULL, 0);
    if (!bale_current_request.kill_suidgid || bale_mode_without_suid(node->mode) == node->mode ||
        bale_attr_get(mount, node, fd, NULL, &st, NULL) != 0)
        return;
    /* A mode in the container changes before the data does: changes are made in the order they
     * were asked for. */
    bale_mode_change(mount, node, fd, file, bale_mode_without_suid(st.st_mode), ignore, NULL);
    /* The kernel believes its own copy until told. */
    fuse_lowlevel_notify_inval_inode(mount->session, bale_ino_of(mount, node), -1, 0);
}

void bale_op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                   struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct write_op *op = malloc(sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    *op = (struct write_op){
        .interruptible = {.unique = bale_current_request.unique,
                          .ref = ref,
                          .interrupt = interrupt},
        .refs = 2,
        .mount = mount,
        .file = bale_file_ref(node->opened->file),
        .req = req,
        /* O_SYNC and O_DSYNC: the kernel asks for an fsync itself unless the file is io=direct. */
        .sync = mount->direct && fi->flags & O_DSYNC,
    };
    bale_mode_kill_suidgid(mount, node);
    if (!bale_interrupts_add(mount->interrupts, &op->interruptible))
        atomic_store(&op->interrupted, true);
    /* The kernel has turned O_APPEND into an offset, and nobody else writes. */
    bale_file_write(op->file, (uint64_t)off, data, size, written, op);
    /* It came before the write began to wait. */
    if (atomic_load(&op->interrupted))
        bale_file_cancel(op->file, op);
    drop(op);
}
