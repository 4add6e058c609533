#include "fs/daemon/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"

#define FUSE_DEVICE makedev(10, 229)

static const char prefix[] = "/dev/fd/";

/* N of /dev/fd/N; -1: the mount point is another path. */
static int passed_fd_of(const char *mountpoint)
{
    const char *digits = mountpoint + strlen(prefix);

    if (strncmp(mountpoint, prefix, strlen(prefix)) != 0 || *digits == '\0' || strlen(digits) > 9 ||
        strspn(digits, "0123456789") != strlen(digits))
        return -1;
    return atoi(digits);
}

bool bale_mountpoint_is_passed(const char *mountpoint)
{
    return passed_fd_of(mountpoint) >= 0;
}

static int passed_fd_refuse(const char *mountpoint, const char *what, struct bale_reason *why)
{
    bale_reason_set(why, "%s: cannot be served: %s", mountpoint, what);
    return BALE_E_INVALID;
}

static int passed_fd_prepare(const char *mountpoint, int fd, struct bale_reason *why)
{
    struct pollfd state = {.fd = fd};
    struct stat st;

    if (fd <= STDERR_FILENO)
        return passed_fd_refuse(mountpoint, "it is a standard stream: use a descriptor above 2",
                                why);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st) != 0)
        return passed_fd_refuse(mountpoint, "the descriptor is not open: leave it open for balefs",
                                why);
    if (!S_ISCHR(st.st_mode) || st.st_rdev != FUSE_DEVICE || (flags & O_ACCMODE) != O_RDWR) {
        return passed_fd_refuse(mountpoint,
                                "it is no /dev/fuse open for reading and writing: open that", why);
    }
    if (poll(&state, 1, 0) == 1 && state.revents & POLLERR)
        return passed_fd_refuse(mountpoint,
                                "nothing is mounted with it: call mount(2) with fd= first", why);
    if (fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return passed_fd_refuse(mountpoint, strerror(errno), why);
    return BALE_OK;
}

static int check_directory(const char *given, char **mountpoint, struct bale_reason *why)
{
    struct stat st;

    *mountpoint = realpath(given, NULL);
    if (!*mountpoint) {
        int e = errno;
        bale_reason_set(why, "%s: cannot be mounted on: %s: make the directory first", given,
                        strerror(e));
        return bale_err_from_errno(e);
    }
    if (stat(*mountpoint, &st) != 0 || !S_ISDIR(st.st_mode)) {
        bale_reason_set(why, "%s: cannot be mounted on: it is not a directory: make one", given);
        return BALE_E_INVALID;
    }
    return BALE_OK;
}

int bale_mountpoint_find(const char *given, const char *unmounts, char **mountpoint,
                         struct bale_reason *why)
{
    int fd = passed_fd_of(given);

    if (fd < 0)
        return check_directory(given, mountpoint, why);
    *mountpoint = strdup(given);
    if (!*mountpoint)
        return BALE_E_NOMEM;
    if (unmounts) {
        bale_reason_set(why, "-o %s: is for mounts that balefs makes: leave it out with %s",
                        unmounts, given);
        return BALE_E_INVALID;
    }
    return passed_fd_prepare(given, fd, why);
}

/* In a process of its own without our descriptors: one that waits for its own mount, and is killed
 * meanwhile, stays for ever. */
void bale_mountpoint_show(const char *mountpoint)
{
    struct stat st;

    if (bale_mountpoint_is_passed(mountpoint))
        return;
    pid_t child = fork();
    if (child == 0) {
        (void)close_range(0, ~0u, 0);
        _exit(stat(mountpoint, &st) != 0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
}
