/* Preloaded: where reading /dev/fuse fails because the mount is gone, it fails with ECONNABORTED
 * instead of ENODEV. The kernel does so itself if a mount goes while it copies a request. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

typedef ssize_t (*read_function)(int fd, void *data, size_t length);

__attribute__((visibility("default"))) ssize_t read(int fd, void *data, size_t length)
{
    static read_function next;
    ssize_t got;

    if (!next)
        next = (read_function)dlsym(RTLD_NEXT, "read");
    got = next(fd, data, length);
    if (got < 0 && errno == ENODEV)
        errno = ECONNABORTED;
    return got;
}
