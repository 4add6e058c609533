#include "fs/base/write_all.h"

#include <errno.h>
#include <unistd.h>

int bale_write_all(int fd, const void *data, size_t length, uint64_t at)
{
    const char *bytes = data;

    while (length > 0) {
        ssize_t put = pwrite(fd, bytes, length, (off_t)at);

        if (put < 0 && errno != EINTR)
            return -1;
        if (put > 0) {
            bytes += put;
            at += (uint64_t)put;
            length -= (size_t)put;
        }
    }
    return 0;
}
