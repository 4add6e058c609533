#include "fs/base/open.h"

#include <errno.h>
#include <fcntl.h>

int bale_open_now(const char *path, int flags)
{
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd >= 0)
        (void)fcntl(fd, F_SETFL, flags); /* on some file systems, O_NONBLOCK reads do not wait */
    else if (errno == EAGAIN)
        errno = EBUSY;
    return fd;
}
