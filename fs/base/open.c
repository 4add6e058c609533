#include "fs/base/open.h"

#include <errno.h>
#include <fcntl.h>

int bale_open_now_at(int directory, const char *path, int flags)
{
    int fd = openat(directory, path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        /* On some file systems, reads with O_NONBLOCK do not wait for data. */
        (void)fcntl(fd, F_SETFL, flags);
    else if (errno == EAGAIN)
        errno = EBUSY;
    return fd;
}

int bale_open_now(const char *path, int flags)
{
    return bale_open_now_at(AT_FDCWD, path, flags);
}
