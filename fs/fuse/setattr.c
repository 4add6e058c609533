#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/pool.h"
#include "fs/fuse/attr.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/mode.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/request.h"
#include "fs/fuse/unsynced.h"

#define OWNER (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)
#define TIMES                                                                                      \
    (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)
#define MTIME (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)

/* Makes the changes that the kernel asks for one after the other: owner, mode, size, times. Each
 * step ends in setattr_change_done or next_change, in whichever thread; the last one replies. */
struct setattr_op {
    struct bale_use use; /* held while file is not NULL */
    fuse_req_t req;
    struct bale_request *request;
    struct bale_file *file;
    int fd;   /* of file, or of the pinned node */
    int todo; /* FUSE_SET_ATTR_*, what is left */
    bool pinned;
    bool flushed;
    bool kill_suidgid;
    bool scrub; /* first remove what others must not find in the container */
    struct stat attr;
};

static void next_change(struct setattr_op *op);
static void setattr_finish(struct setattr_op *op, int e);

/* The file had to be opened to read its attributes. */
static void setattr_file_opened(struct bale_use *use, int e)
{
    struct setattr_op *op = (struct setattr_op *)use;

    if (!e)
        op->file = use->node->opened->file;
    setattr_finish(op, use->node->marks & BALE_MARK_BROKEN ? 0 : e);
}

static void setattr_finish(struct setattr_op *op, int e)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    struct stat st;
    double timeout;

    bale_opened_touch_ctime(mount, node);
    bale_unsynced_add(mount, node);
    if (!e)
        e = bale_permissions_changed(mount, node);
    if (!e)
        e = bale_attr_get(mount, node, op->fd, NULL, &st, &timeout);
    if (e == EAGAIN && !op->file) {
        op->use.only_open = false;
        op->use.ready = setattr_file_opened;
        bale_use_begin(&op->use);
        return;
    }
    if (op->pinned)
        bale_node_unpin(mount->nodes, node);
    /* Once the caller has the reply he may close the file. The use that ends below is then last,
     * and a guest closes the file itself, after this job. */
    bale_pool_job_blocks_no_more();
    if (e)
        fuse_reply_err(op->req, e);
    else
        fuse_reply_attr(op->req, &st, timeout);
    if (op->file)
        bale_use_end(mount, node);
    bale_in_flight_complete(mount->in_flight, op->request);
    free(op);
    bale_freezer_change_end(mount->freezer);
}

static void setattr_change_done(void *arg, int64_t result)
{
    struct setattr_op *op = arg;

    if (result < 0)
        setattr_finish(op, bale_err_to_errno((int)result));
    else
        next_change(op);
}

static void change_owner(struct setattr_op *op)
{
    struct bale_node *node = op->use.node;
    uid_t uid = op->todo & FUSE_SET_ATTR_UID ? op->attr.st_uid : (uid_t)-1;
    gid_t gid = op->todo & FUSE_SET_ATTR_GID ? op->attr.st_gid : (gid_t)-1;

    op->todo &= ~OWNER;
    mode_t mode = 0;
    bool loses = false;
    int e = 0;
    /* Read the mode before fchownat, with which the kernel takes set-id bits from the inode, but
     * for sgid without execution for the group: it does not know that the caller is not root. */
    if (bale_node_is_regular(node) && (!op->use.mount->modes_in_container || op->file))
        e = bale_mode_left(op->use.mount, node, op->fd, op->req, &mode, &loses);
    if (e) {
        setattr_finish(op, e);
        return;
    }
    bale_capability_set(op->use.mount, node, NULL, 0);
    if (fchownat(bale_permissions_fd(op->use.mount, node, op->fd), "", uid, gid,
                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
        setattr_finish(op, errno);
        return;
    }
    if (loses)
        bale_mode_change(op->use.mount, node, op->fd, op->file, mode, setattr_change_done, op);
    else
        next_change(op);
}

static void change_mode(struct setattr_op *op)
{
    if (op->use.mount->hides_set_id && bale_node_is_regular(op->use.node) &&
        op->attr.st_mode & (S_ISUID | S_ISGID)) {
        setattr_finish(op, EPERM);
        return;
    }
    /* Dirty data must be stored before: writing it later would take the bits away again. */
    if (op->file && op->attr.st_mode & (S_ISUID | S_ISGID) && !op->flushed) {
        op->flushed = true;
        bale_file_flush(op->file, false, setattr_change_done, op);
        return;
    }
    op->todo &= ~FUSE_SET_ATTR_MODE;
    bale_mode_change(op->use.mount, op->use.node, op->fd, op->file, op->attr.st_mode,
                     setattr_change_done, op);
}

static void change_size(struct setattr_op *op)
{
    struct bale_node *node = op->use.node;
    mode_t mode;
    bool loses = false;
    int e =
        op->kill_suidgid ? bale_mode_left(op->use.mount, node, op->fd, op->req, &mode, &loses) : 0;

    if (e) {
        setattr_finish(op, e);
        return;
    }
    if (loses) {
        op->kill_suidgid = false;
        bale_mode_change(op->use.mount, node, op->fd, op->file, mode, setattr_change_done, op);
        return;
    }
    op->todo &= ~FUSE_SET_ATTR_SIZE;
    bale_capability_set(op->use.mount, node, NULL, 0);
    bale_file_truncate(op->file, (uint64_t)op->attr.st_size, setattr_change_done, op);
}

/* UTIME_OMIT: not to be set. The current time is read here, so that the file and its container get
 * the same one. */
static struct timespec time_to_set(const struct setattr_op *op, int given, int now,
                                   const struct timespec *value)
{
    struct timespec t = {.tv_nsec = UTIME_OMIT};

    if (op->todo & now)
        clock_gettime(CLOCK_REALTIME_COARSE, &t);
    else if (op->todo & given)
        t = *value;
    return t;
}

static void change_times(struct setattr_op *op)
{
    struct timespec times[2] = {
        time_to_set(op, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, &op->attr.st_atim),
        time_to_set(op, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, &op->attr.st_mtim),
    };

    op->todo &= ~TIMES;
    if (op->file) {
        bale_file_set_times(op->file, times[0].tv_nsec == UTIME_OMIT ? NULL : &times[0],
                            times[1].tv_nsec == UTIME_OMIT ? NULL : &times[1], setattr_change_done,
                            op);
    } else if (utimensat(op->fd, "", times, AT_EMPTY_PATH) != 0) {
        setattr_finish(op, errno);
    } else {
        next_change(op);
    }
}

static int setattr_pin(struct setattr_op *op)
{
    int e = bale_node_pin(op->use.mount->nodes, op->use.node, &op->fd);

    op->pinned = !e;
    return e;
}

/* Whether the changes let somebody read the container who could not. */
static bool admits_readers(struct setattr_op *op)
{
    const mode_t read = S_IRUSR | S_IRGRP | S_IROTH;
    struct stat st;

    if (!(op->todo & (OWNER | FUSE_SET_ATTR_MODE)) || !bale_store_is_open(op->use.mount->store))
        return false;
    if (setattr_pin(op) != 0 || fstat(op->fd, &st) != 0)
        return true;
    return (op->todo & FUSE_SET_ATTR_UID && op->attr.st_uid != st.st_uid) ||
           (op->todo & FUSE_SET_ATTR_GID && op->attr.st_gid != st.st_gid) ||
           (op->todo & FUSE_SET_ATTR_MODE && op->attr.st_mode & ~st.st_mode & read);
}

static void setattr_scrubbed(void *arg, int64_t result)
{
    struct setattr_op *op = arg;

    bale_capability_put_back(op->use.node->opened);
    setattr_change_done(op, result);
}

static void scrub(struct setattr_op *op)
{
    struct bale_opened *opened = op->use.node->opened;

    op->scrub = false;
    if (bale_file_is_scrubbed(op->file)) {
        next_change(op);
    } else if (!opened->writable) {
        setattr_finish(op, EPERM);
    } else {
        bale_capability_keep(opened);
        bale_file_scrub(op->file, setattr_scrubbed, op);
    }
}

static void next_change(struct setattr_op *op)
{
    if (op->scrub)
        scrub(op);
    else if (op->todo & OWNER)
        change_owner(op);
    else if (op->todo & FUSE_SET_ATTR_MODE)
        change_mode(op);
    else if (op->todo & FUSE_SET_ATTR_SIZE)
        change_size(op);
    else if (op->todo & TIMES)
        change_times(op);
    else
        setattr_finish(op, 0);
}

/* The node's own descriptor is mostly closed while its file is open. */
static int take_descriptor(struct setattr_op *op)
{
    if (op->pinned)
        return 0;
    if (!op->file)
        return setattr_pin(op);
    op->fd = bale_file_fd(op->file);
    return 0;
}

static void setattr_file_ready(struct bale_use *use, int e)
{
    struct setattr_op *op = (struct setattr_op *)use;

    if (use->only_open && e == ENOENT)
        e = 0; /* not open: nothing is dirty */
    else if (!e)
        op->file = use->node->opened->file;
    op->scrub = op->scrub && op->file;
    e = e ? e : take_descriptor(op);
    if (!e && op->todo & (FUSE_SET_ATTR_SIZE | MTIME) && op->file && !use->node->opened->writable)
        e = bale_opened_refusal(use->node->opened);
    if (e)
        setattr_finish(op, e);
    else
        next_change(op);
}

void bale_op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                     struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct setattr_op *op = calloc(1, sizeof *op);

    (void)fi;
    if (op)
        op->use = (struct bale_use){
            .mount = mount, .node = node, .changes = true, .ready = setattr_file_ready};
    int e = !op ? ENOMEM : bale_node_is_regular(node) ? 0 : setattr_pin(op);
    if (e) {
        fuse_reply_err(req, e);
        free(op);
        return;
    }
    /* The changes may come after this handler has returned. */
    bale_freezer_change_begin(mount->freezer);
    op->req = req;
    op->request = bale_in_flight_detach(mount->in_flight);
    op->attr = *attr;
    op->todo = to_set & (OWNER | TIMES | FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_SIZE);
    op->kill_suidgid = bale_mode_is_killed(mount);
    if (!bale_node_is_regular(node)) {
        next_change(op);
        return;
    }
    /* The container keeps only these attributes. The others are the backing inode's; for them the
     * file is used only if it is open, and may have dirty data. */
    op->scrub = admits_readers(op);
    op->use.only_open = !(op->todo & (MTIME | FUSE_SET_ATTR_SIZE)) && !op->scrub &&
                        !(mount->modes_in_container && op->todo & (FUSE_SET_ATTR_MODE | OWNER));
    bale_use_begin(&op->use);
}
