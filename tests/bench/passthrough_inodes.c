#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/bench/passthrough.h"
#include "tests/bench/passthrough_inode.h"

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;
    struct inode_pin hold = {.fd = fi ? (int)fi->fh : -1};
    int rc = fi ? 0 : inode_pin(inode_get(ino), &hold);

    if (rc == 0) {
        rc = fstat(hold.fd, &st) != 0 ? -errno : 0;
        inode_unpin(&hold);
    }
    if (rc != 0)
        fuse_reply_err(req, -rc);
    else
        fuse_reply_attr(req, &st, passthrough_cache_seconds);
}

static struct timespec new_time(int set, int given, int now, struct timespec t)
{
    if (set & now)
        return (struct timespec){.tv_nsec = UTIME_NOW};
    return set & given ? t : (struct timespec){.tv_nsec = UTIME_OMIT};
}

/* Without CAP_FSETID only a member of the file's group may set its set-group-id bit; the kernel has
 * checked. */
static int change_mode(const char *path, int fd, mode_t mode)
{
    struct stat st;

    if (!passthrough_as_root || !(mode & S_ISGID))
        return chmod(path, mode);
    if (fstat(fd, &st) != 0)
        return -1;
    setfsgid(st.st_gid);
    int rc = chmod(path, mode), saved = errno;
    setfsgid(0);
    errno = saved;
    return rc;
}

static int set_attributes(const char *path, int fd, const struct stat *attr, int set,
                          const struct fuse_file_info *fi)
{
    if (set & FUSE_SET_ATTR_MODE && change_mode(path, fd, attr->st_mode) != 0)
        return -1;
    if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
        uid_t uid = set & FUSE_SET_ATTR_UID ? attr->st_uid : (uid_t)-1;
        gid_t gid = set & FUSE_SET_ATTR_GID ? attr->st_gid : (gid_t)-1;
        if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
            return -1;
    }
    if (set & FUSE_SET_ATTR_SIZE &&
        (fi ? ftruncate((int)fi->fh, attr->st_size) : truncate(path, attr->st_size)) != 0)
        return -1;
    struct timespec times[2] = {
        new_time(set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
        new_time(set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim)};
    if (times[0].tv_nsec == UTIME_OMIT && times[1].tv_nsec == UTIME_OMIT)
        return 0;
    return utimensat(AT_FDCWD, path, times, 0);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int set,
                       struct fuse_file_info *fi)
{
    struct inode_pin hold;
    int rc = inode_pin(inode_get(ino), &hold);

    if (rc == 0) {
        rc = set_attributes(hold.path, hold.fd, attr, set, fi) != 0 ? -errno : 0;
        inode_unpin(&hold);
    }
    if (rc != 0)
        fuse_reply_err(req, -rc);
    else
        op_getattr(req, ino, fi);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    char target[PATH_MAX + 1];
    struct inode_pin hold;
    ssize_t n = inode_pin(inode_get(ino), &hold);

    if (n == 0) {
        n = readlinkat(hold.fd, "", target, sizeof target - 1);
        n = n < 0 ? -errno : n;
        inode_unpin(&hold);
    }
    if (n < 0) {
        fuse_reply_err(req, (int)-n);
        return;
    }
    target[n] = '\0';
    fuse_reply_readlink(req, target);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs st;
    (void)ino;
    if (fstatvfs(inode_get(FUSE_ROOT_ID)->fd, &st) != 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_statfs(req, &st);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                        size_t size, int flags)
{
    struct inode_pin hold;
    int rc = inode_pin(inode_get(ino), &hold);

    if (rc == 0) {
        rc = setxattr(hold.path, name, value, size, flags) != 0 ? -errno : 0;
        inode_unpin(&hold);
    }
    fuse_reply_err(req, -rc);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
    struct inode_pin hold;
    int rc = inode_pin(inode_get(ino), &hold);

    if (rc == 0) {
        rc = removexattr(hold.path, name) != 0 ? -errno : 0;
        inode_unpin(&hold);
    }
    fuse_reply_err(req, -rc);
}

/* Lists the names when name is NULL; tells only the size when size is 0. */
static void reply_xattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    struct inode_pin hold;
    char *value = size > 0 ? malloc(size) : NULL;
    ssize_t n = size > 0 && !value ? -ENOMEM : inode_pin(inode_get(ino), &hold);

    if (n == 0) {
        n = name ? getxattr(hold.path, name, value, size) : listxattr(hold.path, value, size);
        n = n < 0 ? -errno : n;
        inode_unpin(&hold);
    }
    if (n < 0)
        fuse_reply_err(req, (int)-n);
    else if (size == 0)
        fuse_reply_xattr(req, (size_t)n);
    else
        fuse_reply_buf(req, value, (size_t)n);
    free(value);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    reply_xattr(req, ino, name, size);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    reply_xattr(req, ino, NULL, size);
}

void passthrough_inodes(struct fuse_lowlevel_ops *ops)
{
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->readlink = op_readlink;
    ops->statfs = op_statfs;
    ops->setxattr = op_setxattr;
    ops->getxattr = op_getxattr;
    ops->listxattr = op_listxattr;
    ops->removexattr = op_removexattr;
}
