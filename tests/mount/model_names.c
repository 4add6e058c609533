/* Operations on names, done on both sides and compared. An actor uses only names of its own. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/model.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1u
#define RENAME_EXCHANGE 2u
#endif

enum name_operation {
    OPEN,
    RENAME,
    UNLINK,
    LINK,
    CHMOD,
    TIMES,
    TRUNCATE,
    STAT,
    SYMLINK,
    XATTR,
};

static int64_t do_one(const struct model_actor *actor, enum name_operation operation, unsigned side,
                      const char *a, const char *b, uint64_t argument)
{
    int root = actor->root[side];
    struct stat st;
    int64_t result = -1;

    switch (operation) {
    case RENAME: {
        static const unsigned flags[] = {0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
        result = syscall(SYS_renameat2, root, a, root, b, flags[argument % 5]);
        break;
    }
    case UNLINK:
        result = unlinkat(root, a, 0);
        break;
    case LINK:
        result = linkat(root, a, root, b, 0);
        break;
    case CHMOD:
        result = fchmodat(root, a, (mode_t)(0400 | (argument & 0377)), 0);
        break;
    case TIMES: {
        struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                    {.tv_sec = (time_t)(argument >> 30) % MODEL_PAST,
                                     .tv_nsec = (long)(argument % 1000000000)}};
        result = utimensat(root, a, times, AT_SYMLINK_NOFOLLOW);
        break;
    }
    case TRUNCATE: {
        int fd = openat(root, a, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        result = fd < 0 ? -1 : ftruncate(fd, (off_t)(argument % 1000000));
        if (fd >= 0)
            close(fd);
        break;
    }
    case STAT:
        result = fstatat(root, a, &st, AT_SYMLINK_NOFOLLOW);
        if (result == 0)
            result = (int64_t)st.st_mode << 32 | (int64_t)(st.st_nlink << 16) |
                     (S_ISLNK(st.st_mode) ? st.st_size : 0);
        break;
    case SYMLINK:
        result = symlinkat("nowhere", root, a);
        break;
    case XATTR: {
        int fd = openat(root, a, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        result = fd < 0 ? -1 : fsetxattr(fd, "user.model", &argument, sizeof argument, 0);
        if (fd >= 0)
            close(fd);
        break;
    }
    case OPEN:
        break;
    }
    return result;
}

static void on_both(struct model_actor *actor, enum name_operation operation, const char *a,
                    const char *b, uint64_t argument)
{
    static const char *const texts[] = {"open",  "rename",   "unlink", "link",    "chmod",
                                        "times", "truncate", "stat",   "symlink", "xattr"};
    int64_t value[SIDES];
    int error[SIDES];

    model_note(actor, "%s %s %s %ju", texts[operation], a, b, (uintmax_t)argument);
    for (unsigned side = 0; side < SIDES; side++) {
        errno = 0;
        value[side] = do_one(actor, operation, side, a, b, argument);
        error[side] = value[side] < 0 ? errno : 0;
    }
    if (value[MOUNT] != value[PLAIN] || error[MOUNT] != error[PLAIN])
        model_fail(actor, "%s %s %s: mount %jx (%s), plain %jx (%s)", texts[operation], a, b,
                   (uintmax_t)value[MOUNT], strerror(error[MOUNT]), (uintmax_t)value[PLAIN],
                   strerror(error[PLAIN]));
}

/* Times that a mapping's dirty pages will not change. */
static void write_back(struct model_actor *actor, const char *name)
{
    int fd = openat(actor->root[MOUNT], name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0) {
        if (fsync(fd) != 0)
            model_fail(actor, "fsync %s: %s", name, strerror(errno));
        close(fd);
    }
}

void model_names(struct model_actor *actor)
{
    static const int flags[] = {O_RDWR | O_CREAT,
                                O_RDWR | O_CREAT,
                                O_RDWR | O_CREAT,
                                O_RDWR | O_CREAT | O_APPEND,
                                O_RDWR | O_CREAT | O_TRUNC,
                                O_RDWR | O_CREAT | O_EXCL,
                                O_RDWR};
    const char *a = actor->names[model_random(actor, MODEL_NAMES)];
    const char *b = actor->names[model_random(actor, MODEL_NAMES)];
    struct model_handle *handle = &actor->handles[model_random(actor, MODEL_HANDLES)];
    uint64_t argument = model_random(actor, (uint64_t)1 << 60);
    unsigned kind = (unsigned)model_random(actor, 100);

    if (kind < 45) {
        int how = flags[argument % (sizeof flags / sizeof *flags)] | O_NOFOLLOW;
        (void)model_handle_open(actor, handle, a, how);
    } else if (kind < 60) {
        on_both(actor, RENAME, a, b, argument);
    } else if (kind < 68) {
        on_both(actor, UNLINK, a, "", argument);
    } else if (kind < 74) {
        on_both(actor, LINK, a, b, argument);
    } else if (kind < 80) {
        on_both(actor, CHMOD, a, "", argument);
    } else if (kind < 84) {
        write_back(actor, a);
        on_both(actor, TIMES, a, "", argument);
    } else if (kind < 90) {
        on_both(actor, TRUNCATE, a, "", argument);
    } else if (kind < 96) {
        on_both(actor, STAT, a, "", argument);
    } else if (kind < 97) {
        on_both(actor, SYMLINK, a, "", argument);
    } else {
        on_both(actor, XATTR, a, "", argument);
    }
}
