#include "fs/daemon/unmount.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Older headers do not have it. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x4000u
#endif

struct bale_mount_identity bale_mount_identify(int fd, const char *path)
{
    const int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (fd == AT_FDCWD ? 0 : AT_EMPTY_PATH);
    struct bale_mount_identity mount = {0};
    struct statx st;

    if (statx(fd, path, flags, STATX_MNT_ID_UNIQUE, &st) == 0 && st.stx_mask & STATX_MNT_ID_UNIQUE)
        mount.unique = true;
    else if (statx(fd, path, flags, STATX_MNT_ID, &st) != 0 || !(st.stx_mask & STATX_MNT_ID))
        return mount;
    mount.id = st.stx_mnt_id;
    mount.device = makedev(st.stx_dev_major, st.stx_dev_minor);
    return mount;
}

bool bale_mount_is_same(const struct bale_mount_identity *a, const struct bale_mount_identity *b)
{
    return a->device != 0 && a->device == b->device && a->id == b->id && a->unique == b->unique;
}

uint64_t bale_mount_device(const char *mountpoint)
{
    struct statx x;

    /* AT_STATX_DONT_SYNC: without a request to the daemon. */
    if (statx(AT_FDCWD, mountpoint, AT_STATX_DONT_SYNC, STATX_TYPE, &x) != 0 ||
        !S_ISDIR(x.stx_mode))
        return 0;
    return makedev(x.stx_dev_major, x.stx_dev_minor);
}

struct bale_fusermount bale_fusermount(const char *mountpoint, bool lazy, bool quiet)
{
    struct bale_fusermount command = {.words = {"fusermount3", "-u"}};
    size_t count = 2;

    if (quiet)
        command.words[count++] = "-q";
    if (lazy)
        command.words[count++] = "-z";
    command.words[count++] = "--";
    command.words[count] = (char *)(uintptr_t)mountpoint;
    return command;
}

static bool run_fusermount(const char *mountpoint, bool lazy)
{
    const struct bale_fusermount helper = bale_fusermount(mountpoint, lazy, true);
    int status = 1;
    pid_t pid;

    if (posix_spawnp(&pid, helper.words[0], NULL, NULL, helper.words, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    return status == 0;
}

bool bale_mount_expire(const char *mountpoint, uint64_t device, bool due)
{
    const int flags = MNT_EXPIRE | UMOUNT_NOFOLLOW;

    if (umount2(mountpoint, flags) == 0)
        return true;
    int e = errno;
    /* Only now: this is a use of the mount, which takes the mark away. A mount that covers this one
     * was not marked by an earlier call, so the call above has not removed it. */
    if (device == 0 || bale_mount_device(mountpoint) != device)
        return false;
    if (e == EAGAIN)
        return umount2(mountpoint, flags) == 0;
    return due && e == EPERM && run_fusermount(mountpoint, false);
}

void bale_mount_detach(const char *mountpoint, uint64_t device)
{
    if (device == 0 || bale_mount_device(mountpoint) != device)
        return;
    /* The kernel still keeps what programs wrote through shared mappings. */
    int fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)syncfs(fd);
        close(fd);
    }
    if (umount2(mountpoint, MNT_DETACH) == 0)
        return;
    (void)run_fusermount(mountpoint, true);
}
