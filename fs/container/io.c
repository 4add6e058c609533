#include "fs/container/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/open.h"
#include "fs/base/sync.h"
#include "fs/container/direct.h"
#include "kernels/base/container_of.h"

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080 /* Linux 6.14 */
#endif

/* Transfers of this many bytes or more leave the page cache at once: the extent cache has the
 * data. */
#define UNCACHED_MIN (64u << 10)

struct io_fd {
    struct bale_io io;
    int fd;
    atomic_bool no_dontcache; /* kernel or file system refused RWF_DONTCACHE */
    atomic_bool written; /* large writes that went through the page cache since the last sync */
    atomic_bool keeps_set_id;
    atomic_bool alone;   /* what was expected of reads last */
    atomic_bool direct;  /* fd was opened with O_DIRECT */
    atomic_bool renewed; /* fd was opened again */

    pthread_mutex_t lock; /* guards the members below */
    unsigned changing;    /* calls under way that change the file and keep its set-id bits */
    struct stat before;   /* when the first of them began; st_mode 0: unknown */
};

static struct io_fd *fd_of(struct bale_io *io)
{
    return BALE_CONTAINER_OF(io, struct io_fd, io);
}

#define SET_ID (S_ISUID | S_ISGID)

/* Notes the file's set-id bits before a change; the result is for change_end. If several changes
 * run at a time, the first one notes the bits for all, because the others may find the bits taken
 * away already. */
static bool change_begin(struct io_fd *f)
{
    bool keeps = atomic_load_explicit(&f->keeps_set_id, memory_order_relaxed);

    if (keeps) {
        pthread_mutex_lock(&f->lock);
        if (f->changing++ == 0 && fstat(f->fd, &f->before) != 0)
            f->before.st_mode = 0;
        pthread_mutex_unlock(&f->lock);
    }
    return keeps;
}

static void restore_set_id(struct io_fd *f)
{
    const struct stat *before = &f->before;
    struct stat now;

    if (fstat(f->fd, &now) == 0 && now.st_uid == before->st_uid && now.st_gid == before->st_gid &&
        before->st_mode & SET_ID & ~now.st_mode &&
        ((now.st_mode ^ before->st_mode) & ~(mode_t)SET_ID) == 0)
        (void)fchmod(f->fd, (now.st_mode | before->st_mode) & 07777);
}

static void change_end(struct io_fd *f, bool keeps)
{
    if (!keeps)
        return;
    pthread_mutex_lock(&f->lock);
    if (--f->changing == 0 && f->before.st_mode & SET_ID)
        restore_set_id(f);
    pthread_mutex_unlock(&f->lock);
}

static bool is_unsupported(int e)
{
    return e == EOPNOTSUPP || e == ENOSYS || e == EINVAL;
}

static ssize_t transfer_some(int fd, void *data, size_t length, off_t position, bool write,
                             int flags)
{
    struct iovec piece = {.iov_base = data, .iov_len = length};

    if (flags == 0)
        return write ? pwrite(fd, data, length, position) : pread(fd, data, length, position);
    return write ? pwritev2(fd, &piece, 1, position, flags)
                 : preadv2(fd, &piece, 1, position, flags);
}

/* Transfers length bytes, or when reading fewer at the end of the file. Does not change data when
 * writing. */
static int transfer(struct io_fd *io, void *data, size_t length, uint64_t position, bool write,
                    size_t *done)
{
    *done = 0;
    if (position > INT64_MAX || length > INT64_MAX - position)
        return BALE_E_TOOBIG;
    while (*done < length) {
        bool large = length - *done >= UNCACHED_MIN;
        int flags = large && !atomic_load_explicit(&io->no_dontcache, memory_order_relaxed)
                        ? RWF_DONTCACHE
                        : 0;
        ssize_t n = transfer_some(io->fd, (char *)data + *done, length - *done,
                                  (off_t)(position + *done), write, flags);

        if (n > 0)
            *done += (size_t)n;
        else if (n == 0)
            return write ? BALE_E_IO : BALE_OK;
        else if (flags != 0 && is_unsupported(errno))
            atomic_store_explicit(&io->no_dontcache, true, memory_order_relaxed);
        else if (errno != EINTR)
            return bale_err_from_errno(errno);
    }
    return BALE_OK;
}

static bool left_in_cache(struct io_fd *io, size_t length)
{
    return length >= UNCACHED_MIN && atomic_load_explicit(&io->no_dontcache, memory_order_relaxed);
}

static int fd_read(struct bale_io *io, void *data, size_t length, uint64_t position, size_t *got)
{
    struct io_fd *f = fd_of(io);

    if (atomic_load(&f->direct))
        return bale_direct_read(f->fd, data, length, position, got);
    int err = transfer(f, data, length, position, false, got);

    if (err == BALE_OK && left_in_cache(f, length))
        (void)posix_fadvise(f->fd, (off_t)position, (off_t)length, POSIX_FADV_DONTNEED);
    return err;
}

/* Of two calls at a time that differ, either may be the one that holds. */
static void fd_expect(struct bale_io *io, bool alone)
{
    struct io_fd *f = fd_of(io);

    if (atomic_load_explicit(&f->alone, memory_order_relaxed) != alone &&
        atomic_exchange_explicit(&f->alone, alone, memory_order_relaxed) != alone)
        (void)posix_fadvise(f->fd, 0, 0, alone ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL);
}

static int fd_write(struct bale_io *io, const void *data, size_t length, uint64_t position)
{
    struct io_fd *f = fd_of(io);
    size_t done;
    bool keeps = change_begin(f);
    int err = transfer(f, (void *)(uintptr_t)data, length, position, true, &done);
    change_end(f, keeps);

    /* Dirty pages cannot be dropped yet: start writing them; fd_sync drops them. */
    if (err == BALE_OK && left_in_cache(f, length)) {
        (void)sync_file_range(f->fd, (off_t)position, (off_t)length, SYNC_FILE_RANGE_WRITE);
        atomic_store_explicit(&f->written, true, memory_order_relaxed);
    }
    return err;
}

static int fd_sync(struct bale_io *io)
{
    struct io_fd *f = fd_of(io);
    int result;

    do
        result = bale_sync_file(f->fd);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return bale_err_from_errno(errno);
    if (atomic_exchange_explicit(&f->written, false, memory_order_relaxed))
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
    return BALE_OK;
}

static int fd_size(struct bale_io *io, uint64_t *size)
{
    struct stat st;

    if (fstat(fd_of(io)->fd, &st) != 0)
        return bale_err_from_errno(errno);
    *size = (uint64_t)st.st_size;
    return BALE_OK;
}

static int fd_truncate(struct bale_io *io, uint64_t size)
{
    struct io_fd *f = fd_of(io);
    int result;

    if (size > INT64_MAX)
        return BALE_E_TOOBIG;
    bool keeps = change_begin(f);
    do
        result = ftruncate(f->fd, (off_t)size);
    while (result != 0 && errno == EINTR);
    int e = errno;
    change_end(f, keeps);
    return result == 0 ? BALE_OK : bale_err_from_errno(e);
}

static int change_blocks(struct bale_io *io, int mode, uint64_t position, uint64_t length)
{
    struct io_fd *f = fd_of(io);
    int result;

    if (position > INT64_MAX || length > INT64_MAX - position)
        return BALE_E_TOOBIG;
    bool keeps = change_begin(f);
    do
        result = fallocate(f->fd, mode, (off_t)position, (off_t)length);
    while (result != 0 && errno == EINTR);
    int e = errno;
    change_end(f, keeps);
    return result == 0 ? BALE_OK : bale_err_from_errno(e); /* EOPNOTSUPP: BALE_E_UNSUPPORTED */
}

static int fd_punch(struct bale_io *io, uint64_t position, uint64_t length)
{
    return change_blocks(io, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, position, length);
}

static int fd_allocate(struct bale_io *io, uint64_t position, uint64_t length)
{
    return change_blocks(io, FALLOC_FL_KEEP_SIZE, position, length);
}

static int fd_clone(struct bale_io *io, struct bale_io *source, uint64_t from, uint64_t length,
                    uint64_t position)
{
    struct io_fd *f = fd_of(io);
    int result;

    if (source->ops->clone != fd_clone)
        return BALE_E_UNSUPPORTED;
    struct file_clone_range range = {.src_fd = fd_of(source)->fd,
                                     .src_offset = from,
                                     .src_length = length,
                                     .dest_offset = position};
    bool keeps = change_begin(f);
    do
        result = ioctl(f->fd, FICLONERANGE, &range);
    while (result != 0 && errno == EINTR);
    int e = errno;
    change_end(f, keeps);
    if (result == 0)
        return BALE_OK;
    /* EINVAL: the file system's blocks are larger. */
    return e == ENOTTY || e == EXDEV || e == EINVAL || e == EOPNOTSUPP ? BALE_E_UNSUPPORTED
                                                                       : bale_err_from_errno(e);
}

/* O_NOATIME is the owner's. */
static int open_again(int fd, int flags)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = bale_open_now(path, flags | O_NOATIME);
    return again < 0 && errno == EPERM ? bale_open_now(path, flags) : again;
}

static int fd_renew(struct bale_io *io)
{
    struct io_fd *f = fd_of(io);
    bool direct = true;
    int fd = open_again(f->fd, O_RDONLY | O_DIRECT);

    if (fd < 0 && errno == EINVAL) { /* the file system has no O_DIRECT */
        direct = false;
        fd = open_again(f->fd, O_RDONLY);
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
    }
    /* It has been removed. What was read until now can still be read. */
    if (fd < 0 && (errno == ENOENT || errno == ESTALE))
        return atomic_load(&f->renewed) ? BALE_OK : BALE_E_NOENT;
    if (fd < 0)
        return bale_err_from_errno(errno);
    /* Reads that are under way go on with the old one. Aligned reads suit both. */
    atomic_store(&f->direct, atomic_load(&f->direct) || direct);
    atomic_store(&f->renewed, true);
    int e = dup3(fd, f->fd, O_CLOEXEC) < 0 ? errno : 0;
    close(fd);
    return e ? bale_err_from_errno(e) : BALE_OK;
}

static int fd_leave(struct bale_io *io)
{
    struct io_fd *f = fd_of(io);

    pthread_mutex_destroy(&f->lock);
    free(f);
    return BALE_OK;
}

static int fd_close(struct bale_io *io)
{
    int err = close(fd_of(io)->fd) == 0 ? BALE_OK : bale_err_from_errno(errno);

    (void)fd_leave(io);
    return err;
}

static const struct bale_io_ops fd_ops = {
    .read = fd_read,
    .expect = fd_expect,
    .write = fd_write,
    .sync = fd_sync,
    .size = fd_size,
    .truncate = fd_truncate,
    .punch = fd_punch,
    .allocate = fd_allocate,
    .clone = fd_clone,
    .close = fd_close,
};

/* For a file that is only read. */
static const struct bale_io_ops remote_ops = {
    .read = fd_read,
    .size = fd_size,
    .renew = fd_renew,
    .close = fd_close,
};

/* For a descriptor that is somebody else's. */
static const struct bale_io_ops borrowed_ops = {
    .read = fd_read,
    .size = fd_size,
    .close = fd_leave,
};

static int make_io(int fd, const struct bale_io_ops *ops, struct bale_io **io)
{
    struct io_fd *f = malloc(sizeof *f);

    *io = f ? &f->io : NULL;
    if (!f)
        return BALE_E_NOMEM;
    *f = (struct io_fd){.io = {.ops = ops}, .fd = fd};
    pthread_mutex_init(&f->lock, NULL);
    return BALE_OK;
}

int bale_io_open_fd(int fd, struct bale_io **io)
{
    int err = make_io(fd, &fd_ops, io);

    if (err != BALE_OK)
        (void)close(fd);
    return err;
}

int bale_io_borrow_fd(int fd, struct bale_io **io)
{
    return make_io(fd, &borrowed_ops, io);
}

void bale_io_set_remote(struct bale_io *io)
{
    io->ops = &remote_ops;
}

void bale_io_keep_set_id(struct bale_io *io)
{
    atomic_store(&fd_of(io)->keeps_set_id, true);
}

int bale_io_fd(const struct bale_io *io)
{
    return BALE_CONTAINER_OF(io, const struct io_fd, io)->fd;
}
