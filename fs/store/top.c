/* Who may reach a store: its directory, and .balefs/top, which has owner, mode and ACLs of the
 * mount's root (FORMAT.md 2). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

#define NEW_TOP BALE_TOP ".new"
#define ACL_ACCESS "system.posix_acl_access"
#define ACL_DEFAULT "system.posix_acl_default"
#define ACL_MAX 65536 /* the kernel's XATTR_SIZE_MAX */
#define OTHERS 0077   /* permissions of all but the owner; with an ACL, those of its mask */

/* The path by which calls reach the inode of an O_PATH descriptor. */
struct proc_path {
    char text[32];
};

static struct proc_path proc_path(int fd)
{
    struct proc_path path;

    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

/* Makes an ACL of one directory that of another, also if it has none. 0 or an errno. */
static int copy_acl(int from, int to, const char *name)
{
    struct proc_path target = proc_path(to);
    char value[ACL_MAX];
    ssize_t length = getxattr(proc_path(from).text, name, value, sizeof value);

    if (length > 0)
        return setxattr(target.text, name, value, (size_t)length, 0) != 0 ? errno : 0;
    if (length < 0 && errno != ENODATA && errno != EOPNOTSUPP)
        return errno;
    return removexattr(target.text, name) == 0 || errno == ENODATA || errno == EOPNOTSUPP ? 0
                                                                                          : errno;
}

static int fill_top(int root, int top)
{
    struct stat st;

    if (fstat(root, &st) != 0 || fchownat(top, "", st.st_uid, st.st_gid, AT_EMPTY_PATH) != 0 ||
        fchmodat(AT_FDCWD, proc_path(top).text, st.st_mode & 07777, 0) != 0)
        return -1;
    errno = copy_acl(root, top, ACL_ACCESS);
    if (!errno)
        errno = copy_acl(root, top, ACL_DEFAULT);
    return errno ? -1 : 0;
}

/* It gets its name when it has its attributes, so that a crash leaves none that is wrong. */
static int make_top(int root, int dir)
{
    int top, e;

    if (unlinkat(dir, NEW_TOP, AT_REMOVEDIR) < 0 && errno != ENOENT)
        return -1;
    if (mkdirat(dir, NEW_TOP, 0700) < 0 || bale_store_subdirectory_open(dir, NEW_TOP, &top) < 0)
        return -1;
    e = fill_top(root, top) < 0 ? errno : 0;
    close(top);
    if (!e && renameat(dir, NEW_TOP, dir, BALE_TOP) == 0)
        return bale_sync_directory(dir) < 0 ? -1 : 0;
    e = e ? e : errno;
    unlinkat(dir, NEW_TOP, AT_REMOVEDIR);
    errno = e;
    return -1;
}

int bale_top_restore(struct bale_store *store)
{
    int top;

    if (make_top(store->top_fd, store->dir_fd) < 0 ||
        bale_store_subdirectory_open(store->dir_fd, BALE_TOP, &top) < 0)
        return bale_err_from_errno(errno);
    int err = dup3(top, store->top_fd, O_CLOEXEC) < 0 ? bale_err_from_errno(errno) : 0;
    close(top);
    return err;
}

int bale_top_close(int root, int dir)
{
    struct stat st;

    if (fstatat(dir, BALE_TOP, &st, AT_SYMLINK_NOFOLLOW) < 0 &&
        (errno != ENOENT || make_top(root, dir) < 0))
        return bale_err_from_errno(errno);
    if (fstat(root, &st) < 0 || fchmod(root, (st.st_mode & S_ISGID) | S_IRWXU) < 0 ||
        bale_sync_directory(root) < 0)
        return bale_err_from_errno(errno);
    return 0;
}

bool bale_store_is_open(const struct bale_store *store)
{
    struct stat st;

    return fstat(store->root_fd, &st) != 0 || st.st_mode & OTHERS;
}

const char *bale_store_reach(const struct bale_store *store)
{
    struct stat st;

    if (fstat(store->root_fd, &st) != 0 || st.st_uid != 0)
        return NULL;
    if (bale_store_is_open(store))
        return "is open: others reach its containers beside the mount";
    if (store->top_fd < 0)
        return "has no " BALE_STORE_DIR "/" BALE_TOP ": the mount's root shows the permissions of "
               "the store's directory, and a chmod of it opens the store";
    return NULL;
}

int bale_store_top_attributes(const struct bale_store *store, struct stat *st)
{
    struct stat top;

    if (store->top_fd < 0)
        return 0;
    if (fstat(store->top_fd, &top) != 0)
        return errno;
    st->st_uid = top.st_uid;
    st->st_gid = top.st_gid;
    st->st_mode = (st->st_mode & S_IFMT) | (top.st_mode & 07777);
    if (top.st_ctim.tv_sec > st->st_ctim.tv_sec ||
        (top.st_ctim.tv_sec == st->st_ctim.tv_sec && top.st_ctim.tv_nsec > st->st_ctim.tv_nsec))
        st->st_ctim = top.st_ctim;
    return 0;
}

int bale_store_top_sync(const struct bale_store *store)
{
    int fd = store->top_fd < 0
                 ? -1
                 : open(proc_path(store->top_fd).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return store->top_fd < 0 || errno == EACCES ? 0 : errno;
    int e = bale_sync_directory(fd) < 0 ? errno : 0;
    close(fd);
    return e;
}

int bale_store_top_inherit(const struct bale_store *store)
{
    struct stat top, st;

    if (store->top_fd < 0)
        return 0;
    if (fstat(store->top_fd, &top) != 0 || fstat(store->root_fd, &st) != 0)
        return errno;
    /* A user may have put a directory of root's there: its group is not for the user's new
     * files. */
    if (st.st_uid != 0 && top.st_uid != st.st_uid)
        return 0;
    if (top.st_gid != st.st_gid &&
        fchownat(store->root_fd, "", (uid_t)-1, top.st_gid, AT_EMPTY_PATH) != 0)
        return errno;
    mode_t mode = (st.st_mode & 07777 & ~(mode_t)S_ISGID) | (top.st_mode & S_ISGID);
    if (mode != (st.st_mode & 07777) &&
        fchmodat(AT_FDCWD, proc_path(store->root_fd).text, mode, 0) != 0)
        return errno;
    return copy_acl(store->top_fd, store->root_fd, ACL_DEFAULT);
}
