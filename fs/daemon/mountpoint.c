#include "fs/daemon/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"

#define FUSE_DEVICE makedev(10, 229)
#define SHOW_MS 5000 /* for the mount's first answer, for which mounting waits */

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

/* Waits until the child has ended, but no longer than SHOW_MS: then it is killed, and may stay
 * until its call returns. */
static void wait_for_show(pid_t child)
{
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    int ended = -1;

    if (end.fd >= 0) {
        do
            ended = poll(&end, 1, SHOW_MS);
        while (ended < 0 && errno == EINTR);
        close(end.fd);
    }
    if (ended <= 0)
        (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, ended <= 0 ? WNOHANG : 0);
}

/* A child process without our descriptors asks. A process that waits for its own mount and is
 * killed would stay for ever: the wait ends only when it closes /dev/fuse, and that comes after. */
void bale_mountpoint_show(const char *mountpoint)
{
    struct stat st;

    if (bale_mountpoint_is_passed(mountpoint))
        return;
    pid_t child = fork();
    if (child == 0) {
        if (close_range(0, ~0u, 0) != 0)
            _exit(1);
        _exit(stat(mountpoint, &st) != 0);
    }
    if (child > 0)
        wait_for_show(child);
}
