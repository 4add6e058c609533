#include "tools/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "tools/common/location.h"
#include "tools/common/options.h"
#include "tools/common/output_path.h"

#define BLOCK 4096

/* The file that a signal takes away, or NULL. */
static char *volatile unfinished;

static void interrupted(int number)
{
    char *path = unfinished;

    if (path)
        unlink(path);
    raise(number); /* again, and this time for what it does by itself */
}

/* What is ignored, as under nohup, stays so. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGXCPU};
    struct sigaction action = {.sa_handler = interrupted, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

void bale_target_source(const char *path, struct stat *st)
{
    struct bale_place place;
    struct stat store;
    bool missing;

    if (stat(path, st) != 0) {
        *st = (struct stat){0};
        return;
    }
    if (bale_place_around(path, &place, &missing) == BALE_OK && place.mounted && place.store &&
        stat(place.store, &store) == 0)
        st->st_dev = store.st_dev;
    bale_place_free(&place);
}

/* Says so. */
static bool is_source(const char *name, const struct stat *st,
                      const struct bale_target_rules *rules)
{
    struct stat stored;

    bale_target_source(name, &stored);
    for (size_t i = 0; i < rules->count; i++)
        if (is_same_file(st, &rules->sources[i]) || is_same_file(&stored, &rules->sources[i])) {
            bale_complain("%s: input and output are the same file: give another output", name);
            return true;
        }
    return false;
}

/* Empty, or begun as our pictures are. */
static bool is_picture(const char *path)
{
    static const char begin[] = "<svg ";
    char found[sizeof begin - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t got = fd < 0 ? -1 : read(fd, found, sizeof found);

    if (fd >= 0)
        close(fd);
    return got == 0 || (got == (ssize_t)sizeof found && memcmp(found, begin, sizeof found) == 0);
}

static bool cannot(const struct bale_target *target, int error)
{
    if (error != EPIPE)
        bale_complain("%s: cannot be written: %s", target->name, strerror(error));
    return false;
}

/* In the directory of path, hidden, and with a name that tells what it was to become. */
static bool open_temporary(struct bale_target *target)
{
    const char *slash = strrchr(target->path, '/');
    const char *base = slash ? slash + 1 : target->path;
    sigset_t all, before;
    int error;

    if (asprintf(&target->temporary, "%.*s.%.200s.XXXXXX", (int)(base - target->path), target->path,
                 base) < 0) {
        target->temporary = NULL;
        return cannot(target, ENOMEM);
    }
    /* No signal between the file and the note of it. */
    catch_signals();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    target->fd = mkostemp(target->temporary, O_CLOEXEC);
    error = errno;
    unfinished = target->fd >= 0 ? target->temporary : NULL;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return target->fd >= 0 || cannot(target, error);
}

/* What is no regular file, /dev/null or a pipe, is written in place. A link leads to the file to
 * replace. */
static bool open_path(struct bale_target *target, const struct bale_target_rules *rules)
{
    struct stat st;
    bool there = stat(target->name, &st) == 0;

    if (!*target->name)
        return cannot(target, ENOENT);
    if (there && is_source(target->name, &st, rules))
        return false;
    if (there && !S_ISREG(st.st_mode)) {
        target->fd = open(target->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return target->fd >= 0 || cannot(target, errno);
    }
    if (bale_outside_stores(target->name) != BALE_OK)
        return false;
    if (!there) {
        target->path = strdup(target->name);
        return target->path ? open_temporary(target) : cannot(target, ENOMEM);
    }
    target->replace = rules->replace || (rules->picture && is_picture(target->name));
    if (!target->replace) {
        bale_complain("%s: is there already: -f replaces it", target->name);
        return false;
    }
    target->path = realpath(target->name, NULL);
    return target->path ? open_temporary(target) : cannot(target, errno);
}

bool bale_target_open(const char *path, const struct bale_target_rules *rules,
                      struct bale_target *target)
{
    struct stat st;

    *target = (struct bale_target){.fd = -1};
    target->name = path ? path : "standard output";
    if (path && !open_path(target, rules)) {
        bale_target_drop(target);
        return false;
    }
    if (!path) {
        target->fd = STDOUT_FILENO;
        if (fstat(STDOUT_FILENO, &st) == 0 && is_source(target->name, &st, rules))
            return false;
    }
    target->holes = rules->holes && target->temporary;
    return true;
}

static bool write_all(struct bale_target *target, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(target->fd, bytes, length);
        if (wrote < 0 && errno != EINTR)
            return cannot(target, errno);
        if (wrote > 0) {
            bytes += wrote;
            length -= (size_t)wrote;
        }
    }
    return true;
}

static bool is_zero(const uint8_t *bytes, size_t length)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0;
}

/* How many of the bytes, in whole blocks, are zeros (or, with zeros false, have none). */
static size_t run(const uint8_t *bytes, size_t length, bool zeros)
{
    size_t at = 0;

    while (at < length) {
        size_t step = length - at < BLOCK ? length - at : BLOCK;
        if (is_zero(bytes + at, step) != zeros)
            break;
        at += step;
    }
    return at;
}

static bool leave_out(struct bale_target *target, uint64_t length)
{
    if (lseek(target->fd, (off_t)length, SEEK_CUR) < 0)
        return cannot(target, errno);
    target->size += length;
    return true;
}

bool bale_target_write(struct bale_target *target, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    while (length > 0) {
        size_t zeros = target->holes ? run(at, length, true) : 0;
        size_t data = target->holes ? run(at + zeros, length - zeros, false) : length;
        if ((zeros > 0 && !leave_out(target, zeros)) || !write_all(target, at + zeros, data))
            return false;
        target->size += data;
        at += zeros + data;
        length -= zeros + data;
    }
    return true;
}

bool bale_target_zeros(struct bale_target *target, uint64_t length)
{
    static const uint8_t zeros[64 * 1024];

    if (target->holes)
        return length == 0 || leave_out(target, length);
    while (length > 0) {
        size_t step = length < sizeof zeros ? (size_t)length : sizeof zeros;
        if (!write_all(target, zeros, step))
            return false;
        target->size += step;
        length -= step;
    }
    return true;
}

/* Who may not give the file to the group does not give the group's rights to another. */
static void take_after(int fd, const struct stat *like)
{
    struct timespec times[2] = {like->st_atim, like->st_mtim};
    mode_t mode = like->st_mode & 0777;

    if (fchown(fd, (uid_t)-1, like->st_gid) != 0)
        mode &= ~(mode_t)070;
    /* An ordinary user's copy of another's file is the user's. */
    (void)!fchown(fd, like->st_uid, (gid_t)-1);
    fchmod(fd, mode);
    futimens(fd, times);
}

static void take_default_mode(int fd)
{
    mode_t mask = umask(0);

    umask(mask);
    fchmod(fd, 0666 & ~mask);
}

/* The name, if nobody else took it meanwhile. */
static bool give_name(struct bale_target *target)
{
    unsigned flags = target->replace ? 0 : RENAME_NOREPLACE;
    int got = renameat2(AT_FDCWD, target->temporary, AT_FDCWD, target->path, flags);

    if (got != 0 && errno == EINVAL && flags) /* not on every file system */
        got = rename(target->temporary, target->path);
    if (got != 0)
        return cannot(target, errno);
    unfinished = NULL;
    free(target->temporary);
    target->temporary = NULL;
    return true;
}

bool bale_target_finish(struct bale_target *target, const struct stat *like)
{
    bool good = true;
    int fd = target->fd;

    if (target->temporary) {
        if (target->holes && ftruncate(fd, (off_t)target->size) != 0)
            good = cannot(target, errno);
        if (like)
            take_after(fd, like);
        else
            take_default_mode(fd);
    }
    if (target->fd != STDOUT_FILENO) {
        target->fd = -1;
        if (close(fd) != 0)
            good = cannot(target, errno);
    }
    if (good && target->temporary)
        good = give_name(target);
    bale_target_drop(target);
    return good;
}

void bale_target_drop(struct bale_target *target)
{
    if (target->fd >= 0 && target->fd != STDOUT_FILENO)
        close(target->fd);
    if (target->temporary && unfinished)
        unlink(target->temporary);
    unfinished = NULL;
    free(target->temporary);
    free(target->path);
    *target = (struct bale_target){.fd = -1};
}
