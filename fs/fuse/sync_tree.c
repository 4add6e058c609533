#include "fs/fuse/sync_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/base/log.h"

/* Directories deeper than this are left out with an error, because each level holds a descriptor.
 */
#define DEPTH 200

struct tree_sync {
    dev_t device;
    int error; /* the first */
};

static void sync_failed(struct tree_sync *tree, const char *name, int e)
{
    if (e == ENOENT || e == ESTALE || e == ELOOP || e == ENOTDIR)
        return; /* it was removed or replaced meanwhile, and that change is synced by itself */
    bale_log(BALE_LOG_ERROR, "%s: what an earlier mount wrote could not be synced: %s: check it",
             name, strerror(e));
    tree->error = tree->error ? tree->error : e;
}

/* O_NONBLOCK, because a fifo may have taken the name meanwhile. */
static void sync_file(struct tree_sync *tree, int dir, const char *name)
{
    const int flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(dir, name, O_RDWR | flags);

    if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS))
        fd = openat(dir, name, O_RDONLY | flags);
    /* EACCES: an earlier mount of this user has not written what the user may not read. */
    if (fd < 0 ? errno != EACCES : fsync(fd) != 0)
        sync_failed(tree, name, errno);
    if (fd >= 0)
        close(fd);
}

/* Opens a directory. If its owner, who runs the daemon, may not read it, gives that permission for
 * a moment. -1 and errno. */
static int open_dir(int dir, const char *name, const struct stat *st)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);

    if (fd >= 0 || errno != EACCES || st->st_uid != geteuid() || st->st_mode & S_IRUSR ||
        fchmodat(dir, name, (st->st_mode & 07777) | S_IRUSR, 0) != 0)
        return fd;
    fd = openat(dir, name, flags);
    int e = errno;
    (void)fchmodat(dir, name, st->st_mode & 07777, 0);
    errno = e;
    return fd;
}

static void sync_dir(struct tree_sync *tree, int fd, const char *name, unsigned depth);

static void sync_entry(struct tree_sync *tree, int dir, const char *name, unsigned depth)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        sync_failed(tree, name, errno);
    } else if (st.st_dev == tree->device && S_ISREG(st.st_mode)) {
        sync_file(tree, dir, name);
    } else if (st.st_dev == tree->device && S_ISDIR(st.st_mode)) {
        int fd = open_dir(dir, name, &st);
        if (fd >= 0)
            sync_dir(tree, fd, name, depth + 1);
        else if (errno != EACCES || st.st_uid == geteuid())
            sync_failed(tree, name, errno);
    }
}

/* Takes over fd. */
static void sync_dir(struct tree_sync *tree, int fd, const char *name, unsigned depth)
{
    DIR *dir = depth < DEPTH ? fdopendir(fd) : NULL;
    const struct dirent *entry;

    if (!dir) {
        sync_failed(tree, name, depth < DEPTH ? errno : EMFILE);
        close(fd);
        return;
    }
    while (errno = 0, (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            sync_entry(tree, fd, entry->d_name, depth);
    if (errno || (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP))
        sync_failed(tree, name, errno);
    closedir(dir);
}

int bale_sync_tree_at(int fd, const char *name)
{
    struct tree_sync tree = {0};
    struct stat st;

    if (fstat(fd, &st) != 0) {
        int e = errno;
        close(fd);
        return e;
    }
    tree.device = st.st_dev;
    sync_dir(&tree, fd, name, 0);
    return tree.error;
}

int bale_sync_tree(int root)
{
    int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? errno : bale_sync_tree_at(fd, "the store");
}
