#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/pool.h"
#include "fs/fuse/follow.h"
#include "fs/fuse/give.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mode.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/unsynced.h"

/* The open file of the kernel has a use, so the bale_file stays as long as the request lasts. */
static struct bale_file *file_of(struct bale_mount *mount, fuse_ino_t ino)
{
    return bale_node_of(mount, ino)->opened->file;
}

/* A request that may go on after its handler, and whose reply is only a status. */
struct status_op {
    fuse_req_t req;
    struct bale_mount *mount;
    struct bale_request *request;
};

/* In the handler. NULL: no memory; it is answered. */
static struct status_op *status_begin(fuse_req_t req)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct status_op *op = malloc(sizeof *op);

    if (op)
        *op = (struct status_op){req, mount, bale_in_flight_detach(mount->in_flight)};
    else
        fuse_reply_err(req, ENOMEM);
    return op;
}

static void status_reply(void *arg, int64_t result)
{
    struct status_op *op = arg;

    bale_pool_job_blocks_no_more();
    fuse_reply_err(op->req, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_in_flight_complete(op->mount->in_flight, op->request);
    free(op);
}

/* Freed by its handler or its callback, whichever comes last. */
struct read_op {
    fuse_req_t req;
    struct bale_mount *mount;
    struct bale_node *node;       /* its file is open until the reply */
    struct bale_request *request; /* once the handler has ended before the callback */
    atomic_bool one_has_ended;
    struct bale_read read;
};

static void read_destroy(struct read_op *op)
{
    bale_in_flight_complete(op->mount->in_flight, op->request);
    free(op);
}

/* A reply is sent from extents without the file's lock, while another request may write or truncate
 * there: as with a page cache, a reader beside a writer may see some of both. The kernel orders
 * what is written after the reply, but ThreadSanitizer cannot see that, so it ignores these reads.
 * (With a suppression it would first make a report for each word of a reply.) */
#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
#else
#define AnnotateIgnoreReadsBegin(file, line) ((void)0)
#define AnnotateIgnoreReadsEnd(file, line) ((void)0)
#endif

static void reply_pieces(fuse_req_t req, const struct bale_read *read)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    fuse_reply_iov(req, read->pieces, read->count);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static void read_done(void *arg, int64_t result)
{
    struct read_op *op = arg;

    bale_follow_note(op->mount, op->node);
    if (result < 0) {
        /* EIO for damaged data, as on btrfs; EUCLEAN means damaged metadata. */
        fuse_reply_err(op->req, result == BALE_E_CORRUPT ? EIO : bale_err_to_errno((int)result));
    } else if (op->read.length == 0) {
        fuse_reply_buf(op->req, NULL, 0);
    } else {
        reply_pieces(op->req, &op->read);
    }
    bale_read_release(&op->read);
    if (atomic_exchange(&op->one_has_ended, true))
        read_destroy(op);
}

void bale_op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    struct bale_node *node = bale_node_of(bale_mount_of(req), ino);
    struct read_op *op = calloc(1, sizeof *op);

    (void)fi;
    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    op->req = req;
    op->mount = bale_mount_of(req);
    op->node = node;
    bale_opened_note_access(node->opened, node->opened->file);
    if (off == 0)
        bale_give_note_read(op->mount);
    bale_file_read(node->opened->file, (uint64_t)off, size, &op->read, read_done, op);
    if (!atomic_load(&op->one_has_ended))
        op->request = bale_in_flight_detach(op->mount->in_flight);
    if (atomic_exchange(&op->one_has_ended, true))
        read_destroy(op);
}

void bale_op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct status_op *op = status_begin(req);

    (void)fi;
    if (op)
        bale_file_flush(file_of(op->mount, ino), false, status_reply, op);
}

/* The file is durable. Makes its name durable too, and replies. */
static void fsync_done(void *arg, int64_t result)
{
    struct status_op *op = arg;
    int e = result < 0 ? bale_err_to_errno((int)result) : bale_unsynced_sync_directories(op->mount);

    fuse_reply_err(op->req, e);
    bale_in_flight_complete(op->mount->in_flight, op->request);
    free(op);
}

void bale_op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct status_op *op = status_begin(req);

    (void)fi;
    (void)datasync;
    if (op) {
        bale_unsynced_add_above(op->mount, bale_node_of(op->mount, ino));
        bale_file_flush(file_of(op->mount, ino), true, fsync_done, op);
    }
}

static int allocate_how(int mode, enum bale_allocate *how)
{
    switch (mode) {
    case 0:
        *how = BALE_ALLOCATE;
        return 0;
    case FALLOC_FL_KEEP_SIZE:
        *how = BALE_ALLOCATE_KEEP_SIZE;
        return 0;
    case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE:
        *how = BALE_ALLOCATE_PUNCH;
        return 0;
    case FALLOC_FL_ZERO_RANGE:
        *how = BALE_ALLOCATE_ZERO;
        return 0;
    case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE:
        *how = BALE_ALLOCATE_ZERO_KEEP_SIZE;
        return 0;
    default:
        return EOPNOTSUPP;
    }
}

void bale_op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                       struct fuse_file_info *fi)
{
    enum bale_allocate how;

    (void)fi;
    int e = allocate_how(mode, &how);
    if (e) {
        fuse_reply_err(req, e);
        return;
    }
    struct status_op *op = status_begin(req);
    if (op) {
        bale_mode_kill_suidgid(op->mount, bale_node_of(op->mount, ino), req);
        bale_file_allocate(file_of(op->mount, ino), how, (uint64_t)offset, (uint64_t)length,
                           status_reply, op);
    }
}
