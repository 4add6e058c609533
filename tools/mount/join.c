#include "tools/mount/join.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "format/err.h"
#include "tools/common/message.h"

#define PAUSE_MS 20
#define SAID_SECONDS 600 /* after this, the same is said again */
#define PATIENCE_MS 3000 /* before a message says what is waited for */

static const struct bale_join nothing_open = {
    .directory = -1, .gate = -1, .users = -1, .reader = -1, .lifeline = -1};

static int fail(const char *where, const char *what)
{
    int err = bale_err_from_errno(errno);

    bale_message("%s: cannot be %s: %s: set XDG_RUNTIME_DIR to a directory of yours on this node",
                 where, what, strerror(errno));
    return err;
}

/* Whether nobody but this user, or root, can put something else in place of what lies in it. */
static bool is_own(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* XDG_RUNTIME_DIR is another user's after sudo -E or su. */
static const char *find_base(void)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    struct stat st;

    return base && base[0] == '/' && lstat(base, &st) == 0 && is_own(&st) ? base : "/tmp";
}

/* In /tmp another user may have created the directory before. */
static int open_directory(struct bale_join *join)
{
    const char *base = find_base();
    struct stat st;

    int length = snprintf(join->where, sizeof join->where, "%s/balefs-%u", base, geteuid());
    if (length < 0 || (size_t)length + 32 > sizeof join->where) {
        errno = ENAMETOOLONG;
        return fail(base, "used");
    }
    if (mkdir(join->where, 0700) != 0 && errno != EEXIST)
        return fail(join->where, "made");
    join->directory = open(join->where, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (join->directory < 0 || fstat(join->directory, &st) != 0)
        return fail(join->where, "opened");
    if (is_own(&st))
        return BALE_OK;
    errno = EPERM;
    return fail(join->where, "trusted, because others may write to it");
}

/* Opens a file of the directory, which must be of that type and this user's own. -1: errno is
 * set. */
static int open_own(const struct bale_join *join, const char *kind, int flags, mode_t type)
{
    char name[sizeof join->name + 16];
    struct stat st;

    snprintf(name, sizeof name, "%s.%s", join->name, kind);
    if (type == S_IFIFO && mkfifoat(join->directory, name, 0600) != 0 && errno != EEXIST)
        return -1;
    int fd = openat(join->directory, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
                   st.st_nlink == 1))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

static int open_file(const struct bale_join *join, const char *kind, int *fd)
{
    *fd = open_own(join, kind, O_RDWR | O_CREAT, S_IFREG);
    return *fd < 0 ? fail(join->where, "used") : BALE_OK;
}

/* flags: O_RDONLY or O_WRONLY. -1 with ENXIO: nobody reads. */
static int open_fifo(const struct bale_join *join, int flags)
{
    return open_own(join, "fifo", flags | O_NONBLOCK, S_IFIFO);
}

/* Locks the gate: no other task is between bale_join_begin and bale_join_mounted, or leaves. */
static int close_gate(struct bale_join *join, struct bale_signals *signals)
{
    int waited = 0;

    while (flock(join->gate, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return fail(join->where, "locked");
        if (signals->end)
            return BALE_E_CANCELLED;
        bale_signals_pause(signals, PAUSE_MS);
        waited += PAUSE_MS;
        if (waited == PATIENCE_MS)
            bale_message("%s: another task mounts or unmounts: waiting for it", join->where);
    }
    return BALE_OK;
}

static bool is_alone(const struct bale_join *join)
{
    return flock(join->users, LOCK_EX | LOCK_NB) == 0;
}

/* Finds a mount that lives. If all tasks were killed, their mount ends by itself, and a task must
 * not join it while it ends. A living task keeps the lifeline open as long as it has its lock,
 * because the kernel closes files in the order of their numbers; so this opens the lifeline first
 * and checks the lock then. */
static int find_mount(struct bale_join *join, struct bale_signals *signals)
{
    int waited = 0;

    for (;;) {
        join->lifeline = open_fifo(join, O_WRONLY);
        if (join->lifeline < 0 && errno != ENXIO)
            return fail(join->where, "opened");
        if (join->lifeline < 0 || !is_alone(join))
            return BALE_OK;
        close(join->lifeline);
        join->lifeline = -1;
        if (signals->end)
            return BALE_E_CANCELLED;
        bale_signals_pause(signals, PAUSE_MS);
        waited += PAUSE_MS;
        if (waited == PATIENCE_MS)
            bale_message("%s: tasks that were killed have left a mount that is still in use: "
                         "waiting for its end",
                         join->where);
    }
}

static int open_lifeline(struct bale_join *join)
{
    join->reader = open_fifo(join, O_RDONLY);
    if (join->reader >= 0)
        join->lifeline = open_fifo(join, O_WRONLY);
    return join->lifeline < 0 ? fail(join->where, "opened") : BALE_OK;
}

static int read_pid(const struct bale_join *join)
{
    char text[16] = "";

    return pread(join->gate, text, sizeof text - 1, 0) > 0 ? atoi(text) : 0;
}

int bale_join_alone(struct bale_join *join)
{
    int ends[2];

    *join = nothing_open;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bale_message("a pipe cannot be made: %s", strerror(errno));
        return bale_err_from_errno(errno);
    }
    join->reader = ends[0];
    join->lifeline = ends[1];
    return BALE_OK;
}

int bale_join_begin(struct bale_join *join, const char *store, const char *mnt,
                    struct bale_signals *signals, bool *first, int *pid)
{
    *join = nothing_open;
    int err = open_directory(join);
    if (err == BALE_OK) {
        XXH64_hash_t which = XXH64(mnt, strlen(mnt), XXH64(store, strlen(store), 0));
        snprintf(join->name, sizeof join->name, "%016llx", (unsigned long long)which);
        err = open_file(join, "gate", &join->gate);
    }
    if (err == BALE_OK)
        err = open_file(join, "users", &join->users);
    if (err == BALE_OK)
        err = close_gate(join, signals);
    if (err == BALE_OK)
        err = find_mount(join, signals);
    if (err != BALE_OK)
        return err;
    *first = join->lifeline < 0;
    *pid = read_pid(join);
    if (flock(join->users, LOCK_SH) != 0)
        return fail(join->where, "locked");
    if (*first)
        return open_lifeline(join);
    flock(join->gate, LOCK_UN);
    return BALE_OK;
}

void bale_join_mounted(struct bale_join *join, int pid)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%d\n", pid);

    close(join->reader); /* the daemon has its own copy */
    join->reader = -1;
    if (join->gate < 0)
        return;
    (void)!ftruncate(join->gate, 0);
    (void)!pwrite(join->gate, text, (size_t)length, 0);
    flock(join->gate, LOCK_UN);
}

bool bale_join_leave(struct bale_join *join)
{
    if (join->gate < 0)
        return true;
    while (flock(join->gate, LOCK_EX) != 0 && errno == EINTR) {
    }
    return is_alone(join);
}

/* A task that ends before the next one begins has a mount of its own. Without this, each task of a
 * large job would print the same message. */
bool bale_join_said(struct bale_join *join, const char *text)
{
    char now[256], before[sizeof now] = "";
    struct stat st;

    if (join->gate < 0)
        return false;
    int fd = open_own(join, "said", O_RDWR | O_CREAT, S_IFREG);
    int length = snprintf(now, sizeof now, "%d %s", (int)getsid(0), text);
    bool said = fd >= 0 && pread(fd, before, sizeof before - 1, 0) > 0 &&
                strcmp(before, now) == 0 && fstat(fd, &st) == 0 &&
                time(NULL) - st.st_mtime < SAID_SECONDS;
    if (fd >= 0 && !said) {
        (void)!ftruncate(fd, 0);
        (void)!pwrite(fd, now, (size_t)length, 0);
    }
    if (fd >= 0)
        close(fd);
    return said;
}

static void close_all(struct bale_join *join)
{
    for (int *fd =
             (int[]){join->users, join->lifeline, join->reader, join->gate, join->directory, -2};
         *fd != -2; fd++)
        if (*fd >= 0)
            close(*fd);
    join->directory = join->gate = join->users = join->reader = join->lifeline = -1;
}

void bale_join_close(struct bale_join *join)
{
    if (join->gate >= 0)
        flock(join->gate, LOCK_UN);
    close_all(join);
}

void bale_join_forget(struct bale_join *join)
{
    int reader = join->reader;

    join->reader = -1;
    close_all(join);
    join->reader = reader;
}
