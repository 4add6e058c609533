#include "tools/mount/namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/same_inode.h"
#include "tools/common/message.h"
#include "tools/common/program.h"

bool bale_namespace_needed(void)
{
    struct bale_fusermount_program program;

    bale_fusermount_find(&program);
    return geteuid() != 0 && (!program.setuid || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
}

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int e = errno;

    if (fd >= 0)
        close(fd);
    errno = e;
    return written;
}

int bale_namespace_enter(void)
{
    char users[64], groups[64];
    unsigned uid = geteuid(), gid = getegid();

    snprintf(users, sizeof users, "%u %u 1", uid, uid);
    snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_file("/proc/self/uid_map", users) &&
        write_file("/proc/self/setgroups", "deny") && write_file("/proc/self/gid_map", groups))
        return BALE_OK;
    int err = bale_err_from_errno(errno);
    bale_message(
        "user namespaces: none can be created: %s: install fusermount3 (the package fuse3), "
        "or see balefs doctor",
        strerror(errno));
    return err;
}

static bool same_namespace(int pid)
{
    struct stat ours, theirs;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/mnt", pid);
    return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 &&
           bale_same_inode(&ours, &theirs);
}

int bale_namespace_join(int pid)
{
    char here[PATH_MAX];
    bool known = getcwd(here, sizeof here) != NULL;

    if (same_namespace(pid))
        return BALE_OK;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    int got = fd < 0 ? -1 : setns(fd, CLONE_NEWUSER | CLONE_NEWNS);
    int e = errno;
    if (fd >= 0)
        close(fd);
    if (got != 0) {
        bale_message("process %d: its namespace cannot be entered: %s: let all tasks be of one "
                     "user and container",
                     pid, strerror(e));
        return bale_err_from_errno(e);
    }
    if (known)
        (void)!chdir(here); /* setns(2) has moved us to the root */
    return BALE_OK;
}
