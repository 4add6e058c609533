/* Preloaded into a daemon: a quota that is used up, for machines whose kernel has none. While the
 * file OVER_QUOTA_FLAG exists, files of the user OVER_QUOTA_UID get no more blocks: EDQUOT, unless
 * the file OVER_QUOTA_FREED, which counts in the same quota, has been emptied; that one gets
 * nothing back. With OVER_QUOTA_PROJECT, a number, these files are in that project, and its limit
 * shows as ENOSPC, as on XFS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK 512 /* of st_blocks */

static bool is_over(int fd, off64_t end)
{
    const char *flag = getenv("OVER_QUOTA_FLAG"), *uid = getenv("OVER_QUOTA_UID");
    const char *freed = getenv("OVER_QUOTA_FREED");
    struct stat st, other;

    if (!flag || !uid || access(flag, F_OK) != 0 || fstat(fd, &st) != 0)
        return false;
    if (freed && stat(freed, &other) == 0 && other.st_size == 0 && other.st_ino != st.st_ino)
        return false;
    return st.st_uid == (uid_t)atoi(uid) && end > st.st_size && end > st.st_blocks * BLOCK;
}

static int refuse(void)
{
    errno = getenv("OVER_QUOTA_PROJECT") ? ENOSPC : EDQUOT;
    return -1;
}

/* The next definition of the function that it is in. */
#define NEXT(type, name)                                                                           \
    static type *next;                                                                             \
    if (!next)                                                                                     \
    *(void **)&next = dlsym(RTLD_NEXT, name)

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at)
{
    typedef ssize_t call(int, const void *, size_t, off64_t);
    NEXT(call, "pwrite64");

    return is_over(fd, at + (off64_t)length) ? refuse() : next(fd, data, length, at);
}

ssize_t pwritev64v2(int fd, const struct iovec *pieces, int count, off64_t at, int flags)
{
    typedef ssize_t call(int, const struct iovec *, int, off64_t, int);
    off64_t end = at;
    NEXT(call, "pwritev64v2");

    for (int i = 0; i < count; i++)
        end += (off64_t)pieces[i].iov_len;
    return is_over(fd, end) ? refuse() : next(fd, pieces, count, at, flags);
}

int fallocate64(int fd, int mode, off64_t at, off64_t length)
{
    typedef int call(int, int, off64_t, off64_t);
    NEXT(call, "fallocate64");

    return is_over(fd, at + length) ? refuse() : next(fd, mode, at, length);
}

int ioctl(int fd, unsigned long request, ...)
{
    typedef int call(int, unsigned long, void *);
    const char *uid = getenv("OVER_QUOTA_UID"), *project = getenv("OVER_QUOTA_PROJECT");
    struct stat st;
    va_list args;
    NEXT(call, "ioctl");

    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    if (request == FS_IOC_FSGETXATTR && uid && project && fstat(fd, &st) == 0) {
        bool inside = st.st_uid == (uid_t)atoi(uid);
        *(struct fsxattr *)arg = (struct fsxattr){.fsx_projid = inside ? (__u32)atoi(project) : 0};
        return 0;
    }
    return next(fd, request, arg);
}
