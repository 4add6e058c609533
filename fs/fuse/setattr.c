#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/mount.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

#define OWNER (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)
#define TIMES                                                                                      \
    (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW)
#define MTIME (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)

/* What an owner needs to go on reading and writing its own container, whatever the file's true
 * mode. */
#define HELD_BACKING_MODE (S_IRUSR | S_IWUSR)

void bale_mode_change(struct bale_mount *mount, struct bale_node *node, int fd,
                      struct bale_file *file, mode_t mode, bale_file_done *done, void *arg)
{
    bool held = mount->modes_in_container && bale_node_is_regular(node);
    mode_t backing = held ? (mode & 0777) | HELD_BACKING_MODE : mode & 07777;

    if (fchmodat(AT_FDCWD, bale_proc_path(fd).text, backing, 0) != 0) {
        done(arg, bale_err_from_errno(errno));
        return;
    }
    node->mode = (node->mode & S_IFMT) | (mode & 07777);
    if (held) {
        struct bale_container_attr attr = {
            .mode = (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | (mode & 07777))};
        bale_file_set_attr(file, BALE_ATTR_MODE, &attr, done, arg);
    } else {
        done(arg, BALE_OK);
    }
}

/* Changes are made one after the other: owner, mode, size, times. */
struct setattr_op {
    struct bale_use use; /* begun if file is not NULL */
    fuse_req_t req;
    struct bale_file *file;
    int fd; /* held */
    int todo;
    bool flushed;
    bool kill_suidgid;
    struct stat attr;
};

static void next_change(struct setattr_op *op);

static void finish(struct setattr_op *op, int err);

/* The file had to be opened to see its attributes. */
static void opened_to_show(struct bale_use *use, int err)
{
    struct setattr_op *op = (struct setattr_op *)use;

    if (!err)
        op->file = use->node->opened->file;
    finish(op, use->node->marks & BALE_MARK_BROKEN ? 0 : err);
}

static void finish(struct setattr_op *op, int err)
{
    struct bale_mount *mount = op->use.mount;
    struct bale_node *node = op->use.node;
    struct stat st;
    double timeout;

    bale_opened_touch_ctime(mount, node);
    if (!err)
        err = bale_attr_get(mount, node, op->fd, NULL, &st, &timeout);
    if (err == EAGAIN && !op->file) {
        op->use.only_open = false;
        op->use.ready = opened_to_show;
        bale_use_begin(&op->use);
        return;
    }
    bale_node_unpin(mount->nodes, node);
    if (err)
        fuse_reply_err(op->req, err);
    else
        fuse_reply_attr(op->req, &st, timeout);
    if (op->file)
        bale_use_end(mount, node);
    free(op);
    bale_freezer_change_end(mount->freezer);
}

static void changed(void *arg, int64_t result)
{
    struct setattr_op *op = arg;

    if (result < 0)
        finish(op, bale_err_to_errno((int)result));
    else
        next_change(op);
}

static void change_owner(struct setattr_op *op)
{
    struct bale_node *node = op->use.node;
    uid_t uid = op->todo & FUSE_SET_ATTR_UID ? op->attr.st_uid : (uid_t)-1;
    gid_t gid = op->todo & FUSE_SET_ATTR_GID ? op->attr.st_gid : (gid_t)-1;

    op->todo &= ~OWNER;
    bale_capability_set(op->use.mount, node, NULL, 0);
    if (fchownat(op->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0) {
        finish(op, errno);
        return;
    }
    if (!op->use.mount->modes_in_container || !op->file) {
        next_change(op);
        return;
    }
    mode_t mode;
    int err = bale_mode_get(op->use.mount, node, op->fd, &mode);
    if (err) {
        finish(op, err);
    } else if (bale_mode_without_suid(mode) != mode) {
        bale_mode_change(op->use.mount, node, op->fd, op->file, bale_mode_without_suid(mode),
                         changed, op);
    } else {
        next_change(op);
    }
}

static void change_mode(struct setattr_op *op)
{
    /* What is written later would take the bits away again. */
    if (op->file && op->attr.st_mode & (S_ISUID | S_ISGID) && !op->flushed) {
        op->flushed = true;
        bale_file_flush(op->file, false, changed, op);
        return;
    }
    op->todo &= ~FUSE_SET_ATTR_MODE;
    bale_mode_change(op->use.mount, op->use.node, op->fd, op->file, op->attr.st_mode, changed, op);
}

static void change_size(struct setattr_op *op)
{
    struct bale_node *node = op->use.node;
    mode_t mode;
    int err = op->kill_suidgid ? bale_mode_get(op->use.mount, node, op->fd, &mode) : 0;

    if (err) {
        finish(op, err);
        return;
    }
    if (op->kill_suidgid && bale_mode_without_suid(mode) != mode) {
        op->kill_suidgid = false;
        bale_mode_change(op->use.mount, node, op->fd, op->file, bale_mode_without_suid(mode),
                         changed, op);
        return;
    }
    op->todo &= ~FUSE_SET_ATTR_SIZE;
    bale_capability_set(op->use.mount, node, NULL, 0);
    bale_file_truncate(op->file, (uint64_t)op->attr.st_size, changed, op);
}

/* UTIME_OMIT: not to be set. The time now is asked for here, so that the file and its container
 * agree. */
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
                            times[1].tv_nsec == UTIME_OMIT ? NULL : &times[1], changed, op);
    } else if (utimensat(op->fd, "", times, AT_EMPTY_PATH) != 0) {
        finish(op, errno);
    } else {
        next_change(op);
    }
}

static void next_change(struct setattr_op *op)
{
    if (op->todo & OWNER)
        change_owner(op);
    else if (op->todo & FUSE_SET_ATTR_MODE)
        change_mode(op);
    else if (op->todo & FUSE_SET_ATTR_SIZE)
        change_size(op);
    else if (op->todo & TIMES)
        change_times(op);
    else
        finish(op, 0);
}

static void ready(struct bale_use *use, int err)
{
    struct setattr_op *op = (struct setattr_op *)use;

    if (use->only_open && err == ENOENT)
        err = 0; /* nothing of it waits to be written */
    else if (!err)
        op->file = use->node->opened->file;
    if (!err && op->todo & (FUSE_SET_ATTR_SIZE | MTIME) && op->file && !use->node->opened->writable)
        err = EACCES;
    if (err)
        finish(op, err);
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
    int err = op ? bale_node_pin(mount->nodes, node, &op->fd) : ENOMEM;
    if (err) {
        fuse_reply_err(req, err);
        free(op);
        return;
    }
    /* Changes may come after the return. */
    bale_freezer_change_begin(mount->freezer);
    op->use = (struct bale_use){.mount = mount, .node = node, .ready = ready};
    op->req = req;
    op->attr = *attr;
    op->todo = to_set & (OWNER | TIMES | FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_SIZE);
    op->kill_suidgid = bale_current_request.kill_suidgid;
    if (!bale_node_is_regular(node)) {
        next_change(op);
        return;
    }
    /* Only these are kept in the container; for others it matters whether something is still to
     * be written. */
    op->use.only_open = !(op->todo & (MTIME | FUSE_SET_ATTR_SIZE)) &&
                        !(mount->modes_in_container && op->todo & (FUSE_SET_ATTR_MODE | OWNER));
    bale_use_begin(&op->use);
}
