/* copy_file_range(2), which cp uses. What cannot be copied as it is stored gets EOPNOTSUPP: then
 * the kernel reads and writes. */
#include <errno.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/copy.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mode.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

struct copy_op {
    fuse_req_t req;
    struct bale_mount *mount;
    struct bale_node *out; /* with a use */
    struct bale_request *request;
    struct bale_copy copy;
};

static void copy_done(void *arg, int64_t result)
{
    struct copy_op *op = arg;

    if (op->copy.untrusted)
        atomic_fetch_and(&op->out->marks, ~(uint32_t)BALE_MARK_MADE);
    if (result == BALE_E_UNSUPPORTED)
        fuse_reply_err(op->req, EOPNOTSUPP);
    else if (result < 0)
        fuse_reply_err(op->req, bale_err_to_errno((int)result));
    else
        fuse_reply_write(op->req, (size_t)result);
    bale_use_end(op->mount, op->out);
    bale_in_flight_complete(op->mount->in_flight, op->request);
    free(op);
}

static bool copy_is_given_up(void *arg)
{
    return bale_in_flight_is_given_up(((struct copy_op *)arg)->request);
}

void bale_op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                             struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                             struct fuse_file_info *fi_out, size_t length, int flags)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *in = bale_node_of(mount, ino_in), *out = bale_node_of(mount, ino_out);

    (void)fi_in;
    if (flags != 0 || off_in != off_out || bale_handle_is_sync(fi_out)) {
        bale_file_copy_otherwise(in->opened->file, out->opened->file);
        fuse_reply_err(req, EOPNOTSUPP);
        return;
    }
    struct copy_op *op = malloc(sizeof *op);
    if (!op || !bale_use_hold(mount, out)) {
        fuse_reply_err(req, op ? ESTALE : ENOMEM);
        free(op);
        return;
    }
    *op = (struct copy_op){
        .req = req,
        .mount = mount,
        .out = out,
        .request = bale_in_flight_detach(mount->in_flight),
        .copy = {.offset = (uint64_t)off_in, .length = length, .given_up = copy_is_given_up},
    };
    bale_opened_note_access(in->opened, in->opened->file);
    bale_mode_kill_suidgid(mount, out, req);
    bale_file_copy(in->opened->file, out->opened->file, &op->copy, copy_done, op);
}
