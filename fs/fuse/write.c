#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/interrupt.h"
#include "fs/fuse/mode.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/unsynced.h"
#include "kernels/base/working_for.h"

/* A write may have to wait for memory, and can be interrupted there. One that waits for old
 * contents is given up if its caller dies, and what it has not written by then stays as it is.
 * References: the handler's, the callback's that replies, and one for an interrupt under way. */
struct write_op {
    struct bale_interruptible interruptible;
    struct bale_request *request; /* once the handler has ended before the callback */
    atomic_uint refs;
    atomic_bool interrupted;
    struct bale_mount *mount;
    struct bale_node *node; /* has the open file of the request */
    struct bale_file *file;
    fuse_req_t req;
    bool sync;
    size_t written;
};

static void write_unref(struct write_op *op)
{
    if (atomic_fetch_sub(&op->refs, 1) == 1) {
        bale_file_unref(op->file);
        bale_in_flight_complete(op->mount->in_flight, op->request);
        free(op);
    }
}

static void write_ref(struct bale_interruptible *request)
{
    atomic_fetch_add(&((struct write_op *)request)->refs, 1);
}

static void write_interrupt(struct bale_interruptible *request)
{
    struct write_op *op = (struct write_op *)request;

    atomic_store(&op->interrupted, true);
    bale_file_cancel(op->file, op);
    write_unref(op);
}

static void write_synced(void *arg, int64_t result)
{
    struct write_op *op = arg;

    int e = result < 0 ? bale_err_to_errno((int)result) : bale_unsynced_sync_directories(op->mount);
    if (e)
        fuse_reply_err(op->req, e);
    else
        fuse_reply_write(op->req, op->written);
    write_unref(op);
}

static void write_done(void *arg, int64_t result)
{
    struct write_op *op = arg;

    bale_interrupts_remove(op->mount->interrupts, &op->interruptible);
    if (result > 0 && op->sync) {
        op->written = (size_t)result;
        bale_unsynced_add_above(op->mount, op->node);
        bale_file_flush(op->file, true, write_synced, op);
        return;
    }
    if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        fuse_reply_write(op->req, (size_t)result);
    write_unref(op);
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
                          .ref = write_ref,
                          .interrupt = write_interrupt},
        .refs = 2,
        .mount = mount,
        .node = node,
        .file = bale_file_ref(node->opened->file),
        .req = req,
        /* O_SYNC and O_DSYNC, of a direct handle: for other handles the kernel sends an fsync
         * itself. */
        .sync = bale_handle_is_direct(fi) && fi->flags & O_DSYNC,
    };
    const struct bale_writer writer = {.cancel = &op->interrupted,
                                       .given_up = &op->interruptible.given_up,
                                       .exact = atomic_load(&node->opened->cached_writers) > 0};
    if (fi->writepage) /* of a mapping: the kernel writes it out, and does not say for whom */
        bale_working_for = bale_file_user(op->file);
    bale_mode_kill_suidgid(mount, node, req);
    if (!bale_interrupts_add(mount->interrupts, &op->interruptible))
        atomic_store(&op->interrupted, true);
    if (bale_request_is_given_up())
        atomic_store(&op->interruptible.given_up, true);
    /* Appending needs nothing more: the kernel is the only writer and has set the offset. */
    bale_file_write_by(op->file, (uint64_t)off, data, size, &writer, write_done, op);
    if (!fi->writepage && atomic_load(&op->refs) > 1)
        op->request = bale_in_flight_detach(mount->in_flight);
    if (fi->writepage && bale_file_is_lossy(op->file))
        bale_drops_add(mount->drops, bale_ino_of(mount, node), off, (off_t)size);
    write_unref(op);
}
