#include "fs/store/lock_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/holder.h"
#include "fs/store/lock_file.h"
#include "fs/store/platform.h"

/* Whether the lock of this process does not count, because its user cannot write to the store, or
 * because the process has ended and left the lock to a child, which no writer does. A process that
 * may not be looked at counts. */
static bool is_stranger(pid_t pid, uid_t owner)
{
    uid_t user;

    if (kill(pid, 0) < 0 && errno == ESRCH)
        return true;
    return bale_platform_process_user(pid, &user) && user != 0 && user != owner && user != getuid();
}

/* Finds the process that has the lock of fd, in /proc/locks, because everybody who may read a
 * directory can lock it. The device there is not always the one of fstat (btrfs). So the holder of
 * another file's lock may be taken for this one's; then the lock is refused without need. */
static void find_other(int fd, struct bale_lock_other *other)
{
    FILE *locks = fopen("/proc/locks", "re");
    char line[256];
    struct stat st;

    *other = (struct bale_lock_other){.writer = bale_flock_by_writer(fd)};
    if (fstat(fd, &st) < 0) {
        if (locks)
            fclose(locks);
        return;
    }
    while (locks && !other->pid && fgets(line, sizeof line, locks)) {
        unsigned long inode;
        long pid;

        if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) != 2 ||
            inode != st.st_ino || pid <= 0)
            continue;
        if (is_stranger((pid_t)pid, st.st_uid))
            other->stranger = true;
        else
            other->pid = (pid_t)pid;
    }
    other->stranger &= other->pid == 0;
    if (locks)
        fclose(locks);
}

int bale_lock_take_directory(int root, bool write, int *fd, struct bale_lock_other *other)
{
    const int operation = write ? LOCK_EX : LOCK_SH;
    int e;

    *other = (struct bale_lock_other){0};
    *fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return errno == EACCES ? 0 : bale_err_from_errno(errno);
    if (bale_flock(*fd, operation) == 0)
        return 0;
    e = errno;
    if (e == EWOULDBLOCK) {
        find_other(*fd, other);
        /* Try again: a holder that has just ended looks like a stranger. */
        if (other->stranger && bale_store_platform.flock(*fd, operation | LOCK_NB) == 0)
            return 0;
    }
    close(*fd);
    *fd = -1;
    if (e == EWOULDBLOCK)
        return other->stranger ? 0 : BALE_E_BUSY;
    errno = e;
    return bale_flock_missing(e) ? 0 : bale_err_from_errno(e);
}

int bale_lock_report_taken(const char *path, int dir, const struct bale_lock_other *other,
                           struct bale_reason *why)
{
    struct bale_holder holder;

    if (!other->writer)
        return bale_store_fail(why, BALE_E_BUSY,
                               "%s: is being read by a balefs fsck or export: wait for its end",
                               path);
    bale_holder_parse("", 0, &holder);
    if (dir >= 0)
        (void)bale_holder_read(dir, &holder);
    if (other->pid && other->pid != holder.pid) /* the text is missing, or of an older lock */
        snprintf(holder.who, sizeof holder.who, "process %ld on this host", (long)other->pid);
    return bale_store_fail(why, BALE_E_BUSY, "%s: is mounted by %s: unmount it there first", path,
                           holder.who);
}
