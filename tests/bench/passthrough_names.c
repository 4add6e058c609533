#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/bench/passthrough.h"
#include "tests/bench/passthrough_inode.h"

struct directory {
    DIR *stream;
    off_t at;             /* the stream's position */
    struct dirent *entry; /* read, and not yet sent */
};

static void reply_entry(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    int rc = passthrough_entry(parent, name, &e);
    if (rc != 0)
        fuse_reply_err(req, -rc);
    else if (fuse_reply_entry(req, &e) != 0)
        inode_forget(inode_get(e.ino), 1);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    int rc = passthrough_entry(parent, name, &e);

    if (rc == -ENOENT) { /* let the kernel remember that there is none */
        e.ino = 0;
        fuse_reply_entry(req, &e);
    } else if (rc != 0) {
        fuse_reply_err(req, -rc);
    } else if (fuse_reply_entry(req, &e) != 0) {
        inode_forget(inode_get(e.ino), 1);
    }
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
    inode_forget(inode_get(ino), count);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    for (size_t i = 0; i < count; i++)
        inode_forget(inode_get(forgets[i].ino), forgets[i].nlookup);
    fuse_reply_none(req);
}

/* rc: of the call that made `name`. */
static void reply_made(fuse_req_t req, fuse_ino_t parent, const char *name, int rc)
{
    passthrough_leave_caller();
    if (rc < 0)
        fuse_reply_err(req, errno);
    else
        reply_entry(req, parent, name);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    passthrough_enter_caller(req);
    reply_made(req, parent, name, mknodat(inode_get(parent)->fd, name, mode, device));
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    passthrough_enter_caller(req);
    reply_made(req, parent, name, mkdirat(inode_get(parent)->fd, name, mode));
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    passthrough_enter_caller(req);
    reply_made(req, parent, name, symlinkat(target, inode_get(parent)->fd, name));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    struct inode_pin hold;
    int rc = inode_pin(inode_get(ino), &hold);

    if (rc == 0) {
        rc = linkat(AT_FDCWD, hold.path, inode_get(parent)->fd, name, AT_SYMLINK_FOLLOW) != 0
                 ? -errno
                 : 0;
        inode_unpin(&hold);
    }
    if (rc != 0)
        fuse_reply_err(req, -rc);
    else
        reply_entry(req, parent, name);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    passthrough_reply(req, unlinkat(inode_get(parent)->fd, name, 0));
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    passthrough_reply(req, unlinkat(inode_get(parent)->fd, name, AT_REMOVEDIR));
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned int flags)
{
    passthrough_reply(
        req, renameat2(inode_get(parent)->fd, name, inode_get(new_parent)->fd, new_name, flags));
}

static struct directory *directory_get(const struct fuse_file_info *fi)
{
    return (struct directory *)(uintptr_t)fi->fh;
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct directory *d = calloc(1, sizeof *d);
    int fd = openat(inode_get(ino)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (!d || fd < 0 || !(d->stream = fdopendir(fd))) {
        int error = d ? errno : ENOMEM;
        if (fd >= 0)
            close(fd);
        free(d);
        fuse_reply_err(req, error);
        return;
    }
    fi->fh = (uintptr_t)d;
    fi->cache_readdir = 1;
    fi->keep_cache = 1;
    if (fuse_reply_open(req, fi) != 0) {
        closedir(d->stream);
        free(d);
    }
}

/* Appends one entry; with plus, also a lookup of it, except of "." and "..". The bytes it takes,
 * more than room when it does not fit, or a negative errno. */
static ssize_t add_entry(fuse_req_t req, fuse_ino_t ino, const struct dirent *entry, char *at,
                         size_t room, bool plus)
{
    struct stat st = {.st_ino = entry->d_ino, .st_mode = (mode_t)entry->d_type << 12};
    if (!plus)
        return (ssize_t)fuse_add_direntry(req, at, room, entry->d_name, &st, entry->d_off);
    struct fuse_entry_param e = {.attr = st};

    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
        int rc = passthrough_entry(ino, entry->d_name, &e);
        if (rc == -ENOENT)
            return 0; /* removed since */
        if (rc != 0)
            return rc;
    }
    size_t used = fuse_add_direntry_plus(req, at, room, entry->d_name, &e, entry->d_off);
    if (used > room && e.ino != 0)
        inode_forget(inode_get(e.ino), 1);
    return (ssize_t)used;
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct directory *d, bool plus)
{
    char *buffer = malloc(size);
    size_t used = 0;
    int error = buffer ? 0 : ENOMEM;

    if (buffer && offset != d->at) {
        seekdir(d->stream, offset);
        d->entry = NULL;
        d->at = offset;
    }
    while (error == 0) {
        errno = 0;
        if (!d->entry && !(d->entry = readdir(d->stream))) {
            error = errno;
            break;
        }
        ssize_t n = add_entry(req, ino, d->entry, buffer + used, size - used, plus);
        if (n < 0)
            error = (int)-n;
        if (n < 0 || (size_t)n > size - used)
            break;
        used += (size_t)n;
        d->at = d->entry->d_off;
        d->entry = NULL;
    }
    /* What was looked up must reach the kernel, or it never forgets it: an error waits for the next
     * call. */
    if (error != 0 && used == 0)
        fuse_reply_err(req, error);
    else
        fuse_reply_buf(req, buffer, used);
    free(buffer);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                       struct fuse_file_info *fi)
{
    read_directory(req, ino, size, offset, directory_get(fi), false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                           struct fuse_file_info *fi)
{
    read_directory(req, ino, size, offset, directory_get(fi), true);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    struct directory *d = directory_get(fi);

    closedir(d->stream);
    free(d);
    fuse_reply_err(req, 0);
}

void passthrough_names(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mknod = op_mknod;
    ops->mkdir = op_mkdir;
    ops->symlink = op_symlink;
    ops->link = op_link;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->opendir = op_opendir;
    ops->readdir = op_readdir;
    ops->readdirplus = op_readdirplus;
    ops->releasedir = op_releasedir;
}
