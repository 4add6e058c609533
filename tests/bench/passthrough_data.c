#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/passthrough.h"
#include "tests/bench/passthrough_inode.h"

/* The kernel appends by offset and opens no symbolic link. */
static int open_flags(const struct fuse_file_info *fi)
{
    return (fi->flags & ~(O_NOFOLLOW | O_APPEND)) | O_CLOEXEC;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct inode_pin hold;
    int rc = inode_pin(inode_get(ino), &hold), fd = -1;

    if (rc == 0) {
        fd = open(hold.path, open_flags(fi));
        rc = fd < 0 ? -errno : 0;
        inode_unpin(&hold);
    }
    if (rc != 0) {
        fuse_reply_err(req, -rc);
        return;
    }
    fi->fh = (uint64_t)fd;
    fi->keep_cache = 1;
    fi->noflush = (fi->flags & O_ACCMODE) == O_RDONLY; /* nothing of a reader's waits */
    if (fuse_reply_open(req, fi) != 0)
        close(fd);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    struct fuse_entry_param e;
    passthrough_enter_caller(req);
    int fd = openat(inode_get(parent)->fd, name, open_flags(fi) | O_CREAT | O_NOFOLLOW, mode);

    passthrough_leave_caller();
    if (fd < 0) {
        fuse_reply_err(req, errno);
        return;
    }
    int rc = passthrough_entry(parent, name, &e);
    if (rc != 0) {
        close(fd);
        fuse_reply_err(req, -rc);
        return;
    }
    fi->fh = (uint64_t)fd;
    fi->keep_cache = 1;
    if (fuse_reply_create(req, &e, fi) != 0) {
        close(fd);
        inode_forget(inode_get(e.ino), 1);
    }
}

/* The buffer of a thread for its reads; it stays until the daemon ends. */
static char *read_buffer(size_t size)
{
    static _Thread_local char *buffer;
    static _Thread_local size_t room;

    if (size > room) {
        free(buffer);
        buffer = malloc(size);
        room = buffer ? size : 0;
    }
    return buffer;
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    (void)ino;
    char *buffer = read_buffer(size);
    ssize_t n = buffer ? pread((int)fi->fh, buffer, size, offset) : -1;
    if (n < 0)
        fuse_reply_err(req, buffer ? errno : ENOMEM);
    else
        fuse_reply_buf(req, buffer, (size_t)n);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    (void)ino;
    ssize_t n = pwrite((int)fi->fh, data, size, offset);
    if (n < 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_write(req, (size_t)n);
}

/* Closes a copy of the descriptor and reports the error of the backing file system. */
static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    int copy = fcntl((int)fi->fh, F_DUPFD_CLOEXEC, 0);
    passthrough_reply(req, copy < 0 ? -1 : close(copy));
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    (void)ino;
    passthrough_reply(req, data_only ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    close((int)fi->fh); /* errors were reported by flush */
    fuse_reply_err(req, 0);
}

void passthrough_data(struct fuse_lowlevel_ops *ops)
{
    ops->open = op_open;
    ops->create = op_create;
    ops->read = op_read;
    ops->write = op_write;
    ops->flush = op_flush;
    ops->fsync = op_fsync;
    ops->release = op_release;
}
