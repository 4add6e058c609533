/* Comparing the two trees. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/mount/model.h"

struct walk {
    unsigned differences;
    uint8_t *buffer[SIDES];
};

static void differ(struct walk *walk, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void differ(struct walk *walk, const char *path, const char *format, ...)
{
    va_list arguments;

    walk->differences++;
    fprintf(stderr, "model: %s: ", path);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static bool all_zero(const uint8_t *bytes, size_t length)
{
    return length == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, length - 1) == 0);
}

/* The offset of the next data on either side, or size. */
static uint64_t next_data(const int *fds, uint64_t at, uint64_t size)
{
    uint64_t least = size;

    for (unsigned side = 0; side < SIDES; side++) {
        off_t data = lseek(fds[side], (off_t)at, SEEK_DATA);
        if (data >= 0 && (uint64_t)data < least)
            least = (uint64_t)data;
    }
    return least;
}

static void compare_contents(struct walk *walk, const char *path, const int *fds,
                             const struct stat *st)
{
    uint64_t size = (uint64_t)st[MOUNT].st_size;
    bool data = false;

    for (uint64_t at = next_data(fds, 0, size); at < size; at = next_data(fds, at, size)) {
        size_t step = size - at < MODEL_BUFFER ? (size_t)(size - at) : MODEL_BUFFER;
        for (unsigned side = 0; side < SIDES; side++) {
            ssize_t got = pread(fds[side], walk->buffer[side], step, (off_t)at);
            if (got != (ssize_t)step) {
                differ(walk, path, "%s: read at %ju: %zd of %zu: %s",
                       side == MOUNT ? "mount" : "plain", (uintmax_t)at, got, step,
                       got < 0 ? strerror(errno) : "short");
                return;
            }
        }
        if (memcmp(walk->buffer[MOUNT], walk->buffer[PLAIN], step) != 0) {
            size_t i = 0, last = step - 1;
            while (walk->buffer[MOUNT][i] == walk->buffer[PLAIN][i])
                i++;
            while (walk->buffer[MOUNT][last] == walk->buffer[PLAIN][last])
                last--;
            differ(walk, path, "contents: bytes %ju to %ju of %ju differ: mount %#x, plain %#x",
                   (uintmax_t)(at + i), (uintmax_t)(at + last), (uintmax_t)size,
                   (unsigned)walk->buffer[MOUNT][i], (unsigned)walk->buffer[PLAIN][i]);
            return;
        }
        data = data || !all_zero(walk->buffer[MOUNT], step);
        at += step;
    }
    if (data && st[MOUNT].st_blocks == 0)
        differ(walk, path, "has data, but no blocks");
}

static void compare_xattr(struct walk *walk, const char *path, const int *fds)
{
    uint64_t value[SIDES] = {0};
    ssize_t length[SIDES];

    for (unsigned side = 0; side < SIDES; side++)
        length[side] = fgetxattr(fds[side], "user.model", &value[side], sizeof value[side]);
    if (length[MOUNT] != length[PLAIN] || value[MOUNT] != value[PLAIN])
        differ(walk, path, "user.model: mount %zd %jx, plain %zd %jx", length[MOUNT],
               (uintmax_t)value[MOUNT], length[PLAIN], (uintmax_t)value[PLAIN]);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_named(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           strcmp(entry->d_name, "lost+found") != 0;
}

static void compare_directory(struct walk *walk, const char *path, const int *roots, bool times);

static void compare_entry(struct walk *walk, const char *path, const int *parents, const char *name,
                          bool times)
{
    struct stat st[SIDES];
    int fds[SIDES] = {-1, -1};

    for (unsigned side = 0; side < SIDES; side++) {
        if (fstatat(parents[side], name, &st[side], AT_SYMLINK_NOFOLLOW) != 0) {
            differ(walk, path, "%s: %s", side == MOUNT ? "mount" : "plain", strerror(errno));
            return;
        }
    }
    bool regular = S_ISREG(st[PLAIN].st_mode);
    if (st[MOUNT].st_mode != st[PLAIN].st_mode || st[MOUNT].st_uid != st[PLAIN].st_uid ||
        (!S_ISDIR(st[PLAIN].st_mode) &&
         (st[MOUNT].st_nlink != st[PLAIN].st_nlink || st[MOUNT].st_size != st[PLAIN].st_size))) {
        differ(walk, path, "mount mode %o, links %ju, size %jd; plain %o, %ju, %jd",
               st[MOUNT].st_mode, (uintmax_t)st[MOUNT].st_nlink, (intmax_t)st[MOUNT].st_size,
               st[PLAIN].st_mode, (uintmax_t)st[PLAIN].st_nlink, (intmax_t)st[PLAIN].st_size);
        return;
    }
    /* Times that were set lie in the past. */
    time_t least = st[MOUNT].st_mtim.tv_sec < st[PLAIN].st_mtim.tv_sec ? st[MOUNT].st_mtim.tv_sec
                                                                       : st[PLAIN].st_mtim.tv_sec;
    if (times && regular && least < MODEL_PAST &&
        (st[MOUNT].st_mtim.tv_sec != st[PLAIN].st_mtim.tv_sec ||
         st[MOUNT].st_mtim.tv_nsec != st[PLAIN].st_mtim.tv_nsec))
        differ(walk, path, "mtime: mount %jd.%09ld, plain %jd.%09ld",
               (intmax_t)st[MOUNT].st_mtim.tv_sec, st[MOUNT].st_mtim.tv_nsec,
               (intmax_t)st[PLAIN].st_mtim.tv_sec, st[PLAIN].st_mtim.tv_nsec);
    if (!regular && !S_ISDIR(st[PLAIN].st_mode))
        return;
    for (unsigned side = 0; side < SIDES; side++) {
        fds[side] = openat(parents[side], name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fds[side] < 0)
            differ(walk, path, "%s: open: %s", side == MOUNT ? "mount" : "plain", strerror(errno));
    }
    if (fds[MOUNT] >= 0 && fds[PLAIN] >= 0) {
        if (regular) {
            compare_contents(walk, path, fds, st);
            compare_xattr(walk, path, fds);
        } else {
            compare_directory(walk, path, fds, times);
        }
    }
    for (unsigned side = 0; side < SIDES; side++)
        if (fds[side] >= 0)
            close(fds[side]);
}

static void compare_directory(struct walk *walk, const char *path, const int *roots, bool times)
{
    struct dirent **lists[SIDES];
    int counts[SIDES], i[SIDES] = {0, 0};

    for (unsigned side = 0; side < SIDES; side++) {
        counts[side] = scandirat(roots[side], ".", &lists[side], is_named, compare_names);
        if (counts[side] < 0) {
            perror("model: scandir");
            abort();
        }
    }
    while (i[MOUNT] < counts[MOUNT] || i[PLAIN] < counts[PLAIN]) {
        const char *a = i[MOUNT] < counts[MOUNT] ? lists[MOUNT][i[MOUNT]]->d_name : NULL;
        const char *b = i[PLAIN] < counts[PLAIN] ? lists[PLAIN][i[PLAIN]]->d_name : NULL;
        int order = !a ? 1 : !b ? -1 : strcmp(a, b);
        char below[4096];
        snprintf(below, sizeof below, "%s/%s", path, order > 0 ? b : a);
        if (order != 0)
            differ(walk, below, "only in the %s directory", order < 0 ? "mounted" : "plain");
        else
            compare_entry(walk, below, roots, a, times);
        i[MOUNT] += order <= 0;
        i[PLAIN] += order >= 0;
    }
    for (unsigned side = 0; side < SIDES; side++) {
        for (int j = 0; j < counts[side]; j++)
            free(lists[side][j]);
        free(lists[side]);
    }
}

unsigned model_compare(int mount, int plain, bool times)
{
    struct walk walk = {0};

    for (unsigned side = 0; side < SIDES; side++) {
        walk.buffer[side] = malloc(MODEL_BUFFER);
        if (!walk.buffer[side])
            abort();
    }
    compare_directory(&walk, ".", (int[]){mount, plain}, times);
    free(walk.buffer[MOUNT]);
    free(walk.buffer[PLAIN]);
    return walk.differences;
}
