/* Preloaded: no file system has leases. */
#undef _FILE_OFFSET_BITS /* would make one function of both */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

typedef int (*fcntl_function)(int fd, int command, ...);

static int call(const char *name, int fd, int command, va_list args)
{
    fcntl_function next = (fcntl_function)dlsym(RTLD_NEXT, name);

    if (command != F_SETLEASE)
        return next(fd, command, va_arg(args, void *));
    errno = EINVAL;
    return -1;
}

__attribute__((visibility("default"))) int fcntl(int fd, int command, ...)
{
    va_list args;

    va_start(args, command);
    int result = call("fcntl", fd, command, args);
    va_end(args);
    return result;
}

__attribute__((visibility("default"))) int fcntl64(int fd, int command, ...)
{
    va_list args;

    va_start(args, command);
    int result = call("fcntl64", fd, command, args);
    va_end(args);
    return result;
}
