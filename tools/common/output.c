#include "tools/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/same_inode.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/output_path.h"

#define BLOCK 4096

/* the file that a signal handler removes, or NULL; and its directory */
static char *volatile unfinished;
static volatile int unfinished_dir;

static void output_interrupted(int number)
{
    char *name = unfinished;

    if (name)
        unlinkat(unfinished_dir, name, 0);
    raise(number); /* again, now with the default action */
}

/* Signals that are ignored, as under nohup, stay ignored. */
static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ, SIGXCPU};
    struct sigaction action = {.sa_handler = output_interrupted, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && bale_same_inode(a, b);
}

void bale_output_source(const char *path, struct stat *st)
{
    struct bale_location location;
    struct stat store;
    bool missing;

    if (stat(path, st) != 0) {
        *st = (struct stat){0};
        return;
    }
    if (bale_location_around(path, &location, &missing) == BALE_OK && location.mounted &&
        location.store && stat(location.store, &store) == 0)
        st->st_dev = store.st_dev;
    bale_location_free(&location);
}

/* Whether the output is one of the sources; prints a message if it is. */
static bool is_source(const char *name, const struct stat *st,
                      const struct bale_output_rules *rules)
{
    struct stat stored;

    bale_output_source(name, &stored);
    for (size_t i = 0; i < rules->count; i++)
        if (is_same_file(st, &rules->sources[i]) || is_same_file(&stored, &rules->sources[i])) {
            bale_message("%s: input and output are the same file: give another output", name);
            return true;
        }
    return false;
}

/* True if the file is empty or begins as our pictures do. */
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

static bool cannot(const struct bale_output *output, int error)
{
    if (error != EPIPE)
        bale_message("%s: cannot be written: %s", output->name, strerror(error));
    return false;
}

/* Creates a file of a new name in the directory. -1: errno is set. */
static int make_temporary(struct bale_output *output)
{
    uint64_t random;

    for (int tries = 100; tries > 0; tries--) {
        free(output->temporary);
        output->temporary = NULL;
        if (getrandom(&random, sizeof random, 0) != sizeof random ||
            asprintf(&output->temporary, ".%.200s.%08x", output->base, (unsigned)random) < 0)
            return -1;
        int fd =
            openat(output->dir, output->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Creates a hidden file in the directory of path, whose name tells which file it would become. The
 * directory is opened once: somebody who may rename it cannot have another one written to. */
static bool open_temporary(struct bale_output *output, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    sigset_t all, before;
    int error;

    output->base = strdup(slash ? slash + 1 : path);
    output->dir = above && output->base ? open(above, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    error = errno;
    free(above);
    if (output->dir < 0)
        return cannot(output, error);
    /* block signals, so that none arrives before the file is noted */
    catch_signals();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    output->fd = make_temporary(output);
    error = errno;
    unfinished_dir = output->dir;
    unfinished = output->fd >= 0 ? output->temporary : NULL;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return output->fd >= 0 || cannot(output, error);
}

/* Whether something that is no regular file has the name; prints a message if so. */
static bool is_something_else(const struct bale_output *output)
{
    struct stat st;

    if (lstat(output->name, &st) != 0 || S_ISREG(st.st_mode))
        return false;
    bale_message("%s: is %s: give -o with the name of the output", output->name,
                 S_ISLNK(st.st_mode) ? "a symbolic link" : "no regular file");
    return true;
}

/* A device or a pipe, as /dev/null, is written in place. A link leads to the file that is replaced.
 */
static bool open_path(struct bale_output *output, const struct bale_output_rules *rules)
{
    struct stat st;
    bool there = stat(output->name, &st) == 0;

    if (!*output->name)
        return cannot(output, ENOENT);
    if (rules->beside && is_something_else(output))
        return false;
    if (there && is_source(output->name, &st, rules))
        return false;
    if (there && !S_ISREG(st.st_mode)) {
        output->fd = open(output->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return output->fd >= 0 || cannot(output, errno);
    }
    if (bale_output_path_check_stores(output->name) != BALE_OK)
        return false;
    if (!there)
        return open_temporary(output, output->name);
    output->replace = rules->replace || (rules->picture && is_picture(output->name));
    if (!output->replace) {
        bale_message("%s: exists: -f replaces it", output->name);
        return false;
    }
    char *real = rules->beside ? strdup(output->name) : realpath(output->name, NULL);
    bool good = real ? open_temporary(output, real) : cannot(output, errno);
    free(real);
    return good;
}

bool bale_output_open(const char *path, const struct bale_output_rules *rules,
                      struct bale_output *output)
{
    struct stat st;

    *output = (struct bale_output){.fd = -1, .dir = -1};
    output->name = path ? path : "standard output";
    if (path && !open_path(output, rules)) {
        bale_output_drop(output);
        return false;
    }
    if (!path) {
        output->fd = STDOUT_FILENO;
        if (fstat(STDOUT_FILENO, &st) == 0 && is_source(output->name, &st, rules))
            return false;
    }
    output->holes = rules->holes && output->temporary;
    return true;
}

static bool write_all(struct bale_output *output, const uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(output->fd, bytes, length);
        if (wrote < 0 && errno != EINTR)
            return cannot(output, errno);
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

/* The number of bytes, in whole blocks, that are zeros; or, with zeros false, that are in blocks
 * with data. */
static size_t run_length(const uint8_t *bytes, size_t length, bool zeros)
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

static bool leave_out(struct bale_output *output, uint64_t length)
{
    if (lseek(output->fd, (off_t)length, SEEK_CUR) < 0)
        return cannot(output, errno);
    output->size += length;
    return true;
}

bool bale_output_write(struct bale_output *output, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;

    while (length > 0) {
        size_t zeros = output->holes ? run_length(at, length, true) : 0;
        size_t data = output->holes ? run_length(at + zeros, length - zeros, false) : length;
        if ((zeros > 0 && !leave_out(output, zeros)) || !write_all(output, at + zeros, data))
            return false;
        output->size += data;
        at += zeros + data;
        length -= zeros + data;
    }
    return true;
}

bool bale_output_zeros(struct bale_output *output, uint64_t length)
{
    static const uint8_t zeros[64 * 1024];

    if (output->holes)
        return length == 0 || leave_out(output, length);
    while (length > 0) {
        size_t step = length < sizeof zeros ? (size_t)length : sizeof zeros;
        if (!write_all(output, zeros, step))
            return false;
        output->size += step;
        length -= step;
    }
    return true;
}

/* If this user may not give the file to the group of `like`, no other group gets the rights of that
 * group. */
static void take_after(int fd, const struct stat *like)
{
    struct timespec times[2] = {like->st_atim, like->st_mtim};
    mode_t mode = like->st_mode & 0777;

    if (fchown(fd, (uid_t)-1, like->st_gid) != 0)
        mode &= ~(mode_t)070;
    /* if this user may not give the file away, it stays the user's */
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

/* Gives the file its name, unless somebody else took that name meanwhile. */
static bool give_name(struct bale_output *output)
{
    unsigned flags = output->replace ? 0 : RENAME_NOREPLACE;
    int got = renameat2(output->dir, output->temporary, output->dir, output->base, flags);

    if (got != 0 && errno == EINVAL && flags) /* not every file system has it */
        got = renameat(output->dir, output->temporary, output->dir, output->base);
    if (got != 0)
        return cannot(output, errno);
    unfinished = NULL;
    free(output->temporary);
    output->temporary = NULL;
    return true;
}

bool bale_output_finish(struct bale_output *output, const struct stat *like)
{
    bool good = true;
    int fd = output->fd;

    if (output->temporary) {
        if (output->holes && ftruncate(fd, (off_t)output->size) != 0)
            good = cannot(output, errno);
        if (like)
            take_after(fd, like);
        else
            take_default_mode(fd);
    }
    if (output->fd != STDOUT_FILENO) {
        output->fd = -1;
        if (close(fd) != 0)
            good = cannot(output, errno);
    }
    if (good && output->temporary)
        good = give_name(output);
    bale_output_drop(output);
    return good;
}

bool bale_output_draw(struct bale_output *output, void (*draw)(const void *arg, FILE *out),
                      const void *arg)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool good = out != NULL;

    if (out) {
        draw(arg, out);
        good = fclose(out) == 0;
    }
    if (!good)
        bale_message("%s: out of memory", output->name);
    good = good && bale_output_write(output, text, length);
    free(text);
    return good && bale_output_finish(output, NULL);
}

void bale_output_drop(struct bale_output *output)
{
    if (output->fd >= 0 && output->fd != STDOUT_FILENO)
        close(output->fd);
    if (output->temporary && unfinished)
        unlinkat(output->dir, output->temporary, 0);
    unfinished = NULL;
    if (output->base && output->dir >= 0)
        close(output->dir);
    free(output->temporary);
    free(output->base);
    *output = (struct bale_output){.fd = -1, .dir = -1};
}
