/* Preloaded: ends the process at its MOVE_KILL-th call that changes a file system, before the call
 * is made. */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static void change(void)
{
    static atomic_uint calls;
    const char *kill_at = getenv("MOVE_KILL");
    unsigned number = atomic_fetch_add(&calls, 1) + 1;

    if (kill_at && number == (unsigned)atoi(kill_at))
        raise(SIGKILL);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

EXPORTED int unlinkat(int dir, const char *name, int flags)
{
    change();
    return NEXT(unlinkat)(dir, name, flags);
}

EXPORTED int linkat(int dir, const char *name, int other, const char *new_name, int flags)
{
    change();
    return NEXT(linkat)(dir, name, other, new_name, flags);
}

EXPORTED int renameat(int dir, const char *name, int other, const char *new_name)
{
    change();
    return NEXT(renameat)(dir, name, other, new_name);
}

EXPORTED int renameat2(int dir, const char *name, int other, const char *new_name, unsigned flags)
{
    change();
    return NEXT(renameat2)(dir, name, other, new_name, flags);
}

EXPORTED int mkdirat(int dir, const char *name, mode_t mode)
{
    change();
    return NEXT(mkdirat)(dir, name, mode);
}

EXPORTED int symlinkat(const char *target, int dir, const char *name)
{
    change();
    return NEXT(symlinkat)(target, dir, name);
}

EXPORTED int fsync(int fd)
{
    change();
    return NEXT(fsync)(fd);
}

EXPORTED int fdatasync(int fd)
{
    change();
    return NEXT(fdatasync)(fd);
}

EXPORTED int syncfs(int fd)
{
    change();
    return NEXT(syncfs)(fd);
}

EXPORTED int futimens(int fd, const struct timespec times[2])
{
    change();
    return NEXT(futimens)(fd, times);
}

EXPORTED int fchownat(int dir, const char *name, uid_t uid, gid_t gid, int flags)
{
    change();
    return NEXT(fchownat)(dir, name, uid, gid, flags);
}

EXPORTED ssize_t pwrite(int fd, const void *data, size_t length, off_t at)
{
    change();
    return NEXT(pwrite)(fd, data, length, at);
}
