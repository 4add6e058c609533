#include "fs/daemon/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"

#define FUSE_DEVICE makedev(10, 229)

static const char prefix[] = "/dev/fd/";

/* -1: it is no such path. */
static int descriptor_of(const char *mountpoint)
{
    const char *digits = mountpoint + strlen(prefix);

    if (strncmp(mountpoint, prefix, strlen(prefix)) != 0 || *digits == '\0' || strlen(digits) > 9 ||
        strspn(digits, "0123456789") != strlen(digits))
        return -1;
    return atoi(digits);
}

bool bale_passed_fd_is_path(const char *mountpoint)
{
    return descriptor_of(mountpoint) >= 0;
}

static int refuse(const char *mountpoint, const char *what, struct bale_reason *why)
{
    bale_reason_set(why, "%s: cannot be served: %s", mountpoint, what);
    return BALE_E_INVALID;
}

int bale_passed_fd_prepare(const char *mountpoint, struct bale_reason *why)
{
    int fd = descriptor_of(mountpoint);
    struct pollfd state = {.fd = fd};
    struct stat st;

    if (fd <= STDERR_FILENO)
        return refuse(mountpoint, "it is a standard stream: use a descriptor above 2", why);
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &st) != 0)
        return refuse(mountpoint, "the descriptor is not open: leave it open for balefs", why);
    if (!S_ISCHR(st.st_mode) || st.st_rdev != FUSE_DEVICE || (flags & O_ACCMODE) != O_RDWR) {
        return refuse(mountpoint, "it is no /dev/fuse open for reading and writing: open that",
                      why);
    }
    if (poll(&state, 1, 0) == 1 && state.revents & POLLERR)
        return refuse(mountpoint, "nothing is mounted with it: call mount(2) with fd= first", why);
    if (fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return refuse(mountpoint, strerror(errno), why);
    return BALE_OK;
}
