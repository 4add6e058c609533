#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

#define PROBE "probe_file_system"
#define ACL_ACCESS "system.posix_acl_access"
#define PROBE_SIZE (64 * 1024)

/* The error of reading an absent attribute tells whether the file system has attributes at all. By
 * path, because the descriptor may be an O_PATH one. */
static bool reads_attribute(int fd, const char *name)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return getxattr(path, name, NULL, 0) >= 0 || errno == ENODATA;
}

/* After a failure: on a full disk what cannot be tried is assumed. */
static bool lacks_space(void)
{
    return errno == ENOSPC || errno == EDQUOT;
}

static bool writes_attribute(int fd)
{
    const char *name = "user.balefs.probe_file_system";

    return fsetxattr(fd, name, "1", 1, 0) == 0 ? fremovexattr(fd, name) == 0 : lacks_space();
}

static bool allocates(int fd)
{
    return fallocate(fd, 0, 0, PROBE_SIZE) == 0 || (errno != EOPNOTSUPP && errno != ENOSYS);
}

static bool punches(int fd)
{
    char block[4096];

    memset(block, 1, sizeof block);
    for (off_t at = 0; at < PROBE_SIZE; at += (off_t)sizeof block)
        if (pwrite(fd, block, sizeof block, at) != (ssize_t)sizeof block)
            return lacks_space();
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PROBE_SIZE) == 0;
}

int bale_store_check_case(const char *path, int dir, struct bale_reason *why)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0;

    if (fd < 0)
        return 0; /* the caller that needs to read it reports the error */
    if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
        flags = 0;
    close(fd);
    if (flags & FS_CASEFOLD_FL)
        return bale_store_fail(why, BALE_E_UNSUPPORTED,
                               "%s: ignores the case of names: choose a directory that does not "
                               "(chattr -F)",
                               path);
    return 0;
}

static bool makes_tmpfile(int dir)
{
    int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0)
        return lacks_space();
    close(fd);
    return bale_platform_keeps_tmpfile(dir);
}

static bool gives_handles(int dir)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } u = {.handle.handle_bytes = MAX_HANDLE_SZ};
    int mount;

    return name_to_handle_at(dir, "", &u.handle, &mount, AT_EMPTY_PATH) == 0;
}

static void probe_writing(int dir, struct bale_store_abilities *can)
{
    int fd;

    can->tmpfile = makes_tmpfile(dir);
    if (unlinkat(dir, PROBE, 0) < 0 && errno != ENOENT)
        return;
    if (bale_store_file_create(dir, PROBE, &fd) < 0) {
        can->allocate = can->punch = lacks_space();
        return;
    }
    can->user_xattr = writes_attribute(fd);
    can->allocate = allocates(fd);
    can->punch = punches(fd);
    unlinkat(dir, PROBE, 0);
    close(fd);
}

static void add_lacking(struct bale_store_abilities *can, bool has, const char *what)
{
    size_t used = strlen(can->text);

    if (!has)
        snprintf(can->text + used, sizeof can->text - used, "%s%s", used ? ", " : "", what);
}

/* Finds out everything but can->flock. */
static void probe_file_system(int dir, bool write, struct bale_store_abilities *can)
{
    can->posix_acl = reads_attribute(dir, ACL_ACCESS);
    can->file_handles = gives_handles(dir);
    can->user_xattr = reads_attribute(dir, BALE_XATTR_CODEC);
    if (write)
        probe_writing(dir, can);
    add_lacking(can, bale_platform_believes_syncfs(dir), "no syncfs that counts");
    add_lacking(can, can->user_xattr, "no user attributes");
    add_lacking(can, can->posix_acl, "no ACLs");
    add_lacking(can, can->file_handles, "no file handles");
    if (!write)
        return;
    add_lacking(can, can->allocate, "no fallocate");
    add_lacking(can, can->punch, "no hole punching");
    add_lacking(can, can->tmpfile, "no O_TMPFILE");
    add_lacking(can, can->flock, "no flock");
}

void bale_store_probe(struct bale_store *store)
{
    probe_file_system(store->dir_fd, store->access == BALE_STORE_WRITE, &store->abilities);
}

int bale_store_probe_directory(const char *path, bool write, struct bale_store_abilities *can)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *can = (struct bale_store_abilities){0};
    if (fd < 0)
        return bale_err_from_errno(errno);
    can->flock = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno == EWOULDBLOCK;
    probe_file_system(fd, write, can);
    close(fd);
    return BALE_OK;
}
