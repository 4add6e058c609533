#include "fs/store/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/open.h"
#include "fs/base/same_inode.h"
#include "fs/base/timespec.h"
#include "fs/store/store.h"

#define TRIES 100 /* to read a file that somebody replaces all the time */

/* Names and texts of a foreign store must not control the terminal. */
void bale_text_printable(char *text)
{
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

int bale_store_fail(struct bale_reason *why, int err, const char *format, ...)
{
    va_list args;

    if (!why)
        return err;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    bale_text_printable(why->text);
    return err;
}

int bale_store_fail_errno(struct bale_reason *why, const char *path, const char *name,
                          const char *what)
{
    int e = errno;
    const char *slash = name[0] ? "/" : "";

    if (e == ELOOP)
        return bale_store_fail(why, BALE_E_INVALID,
                               "%s%s%s: is a symbolic link: a store has none there", path, slash,
                               name);
    if (e == EACCES || e == EPERM)
        return bale_store_fail(why, BALE_E_PERM, "%s%s%s: cannot be %s: %s for user %lu", path,
                               slash, name, what, strerror(e), (unsigned long)geteuid());
    return bale_store_fail(why, bale_err_from_errno(e), "%s%s%s: cannot be %s: %s", path, slash,
                           name, what, strerror(e));
}

static int open_beneath(int dir, const char *name, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

/* Checks the type with O_PATH first: a fifo or a device must not even be opened. */
int bale_store_file_open(int dir, const char *name, int flags, int *fd)
{
    char path[32];
    struct stat st;
    int e = 0;
    int found = open_beneath(dir, name, O_PATH, 0);

    *fd = -1;
    if (found < 0)
        return bale_err_from_errno(errno);
    if (fstat(found, &st) < 0)
        e = errno;
    else if (!S_ISREG(st.st_mode))
        e = S_ISLNK(st.st_mode) ? ELOOP : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    if (e == 0) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", found);
        *fd = bale_open_now(path, flags);
        e = *fd < 0 ? errno : 0;
    }
    close(found);
    errno = e;
    return e ? bale_err_from_errno(e) : 0;
}

int bale_store_file_create(int dir, const char *name, int *fd)
{
    struct stat st;
    int e;

    *fd = open_beneath(dir, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (*fd < 0)
        return bale_err_from_errno(errno);
    if (fchmod(*fd, 0600) < 0)
        goto out;
    /* When root works in a user's store, its files must remain usable for the user. */
    if (geteuid() == 0 && (fstat(dir, &st) < 0 || (fchown(*fd, st.st_uid, st.st_gid) < 0 &&
                                                   errno != EPERM && errno != EINVAL)))
        goto out;
    return 0;
out:
    e = errno;
    close(*fd);
    unlinkat(dir, name, 0);
    *fd = -1;
    errno = e;
    return bale_err_from_errno(e);
}

static int open_directory(int dir, const char *name, int flags, int *fd)
{
    *fd = open_beneath(dir, name, flags | O_DIRECTORY, 0);
    if (*fd < 0 && errno == ENOTDIR) {
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
    }
    return *fd < 0 ? bale_err_from_errno(errno) : 0;
}

int bale_store_directory_open(int root, int *fd)
{
    if (open_directory(root, BALE_STORE_DIR, O_RDONLY, fd) < 0 && errno == EACCES)
        (void)open_directory(root, BALE_STORE_DIR, O_PATH, fd);
    return *fd < 0 ? bale_err_from_errno(errno) : 0;
}

int bale_store_subdirectory_open(int dir, const char *name, int *fd)
{
    return open_directory(dir, name, O_PATH, fd);
}

/* Whether the file has had the name ever since its attributes were st: while another one has it, the
 * file may be written to. It has the name now, and neither gets nor loses one without a change of
 * its ctime. This needs a ctime that differs with each change that comes after it was read, which
 * the usual file systems have with Linux 6.13 and later. Elsewhere changes within one tick of the
 * clock (1 to 10 ms) look the same, and only another length shows them. */
static bool was_named(int dir, const char *name, int fd, const struct stat *st)
{
    struct stat named, now;

    return fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &now) == 0 &&
           bale_same_inode(&named, st) && now.st_size == st->st_size &&
           bale_nanoseconds_of(now.st_ctim) == bale_nanoseconds_of(st->st_ctim);
}

static int read_once(int dir, const char *name, size_t max, char **text, size_t *length)
{
    struct stat st;
    char *buffer = NULL;
    size_t have = 0;
    int fd;
    int e = 0;

    *text = NULL;
    if (bale_store_file_open(dir, name, O_RDONLY, &fd) < 0)
        return bale_err_from_errno(errno);
    if (fstat(fd, &st) < 0) {
        e = errno;
        goto out;
    }
    if (st.st_size < 0 || (uint64_t)st.st_size > max) {
        e = EFBIG;
        goto out;
    }
    buffer = malloc((size_t)st.st_size + 1);
    if (!buffer) {
        e = ENOMEM;
        goto out;
    }
    while (have < (size_t)st.st_size) {
        ssize_t got = pread(fd, buffer + have, (size_t)st.st_size - have, (off_t)have);

        if (got < 0 && errno != EINTR) {
            e = errno;
            goto out;
        }
        if (got == 0)
            break;
        if (got > 0)
            have += (size_t)got;
    }
    if (have != (size_t)st.st_size || !was_named(dir, name, fd, &st)) {
        e = EAGAIN;
        goto out;
    }
    buffer[have] = '\0';
    *text = buffer;
    *length = have;
    buffer = NULL;
out:
    free(buffer);
    close(fd);
    errno = e;
    return e ? bale_err_from_errno(e) : 0;
}

int bale_store_file_read(int dir, const char *name, size_t max, char **text, size_t *length)
{
    int err = 0;

    for (int tries = 0; tries < TRIES; tries++) {
        err = read_once(dir, name, max, text, length);
        if (!err || errno != EAGAIN)
            break;
    }
    return err;
}

int bale_store_file_read_json(int dir, const char *path, const char *name, json_t **json,
                              struct bale_reason *why)
{
    json_error_t error;
    char label[64];
    char *text;
    size_t length = 0;

    snprintf(label, sizeof label, BALE_STORE_DIR "/%s", name);
    if (bale_store_file_read(dir, name, BALE_JSON_MAX, &text, &length) < 0) {
        if (errno == EFBIG)
            return bale_store_fail(
                why, BALE_E_CORRUPT,
                "%s/%s: is damaged: longer than %u bytes: see balefs fsck --repair", path, label,
                BALE_JSON_MAX);
        if (errno == EISDIR || errno == EINVAL)
            return bale_store_fail(why, BALE_E_INVALID, "%s/%s: is not a regular file: restore it",
                                   path, label);
        return bale_store_fail_errno(why, path, label, "read");
    }
    *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (!*json)
        return bale_store_fail(why, BALE_E_CORRUPT,
                               "%s/%s: is damaged: line %d: %s: see balefs fsck --repair", path,
                               label, error.line, error.text);
    if (!json_is_object(*json)) {
        json_decref(*json);
        *json = NULL;
        return bale_store_fail(why, BALE_E_CORRUPT,
                               "%s/%s: is damaged: not a JSON object: see balefs fsck --repair",
                               path, label);
    }
    return 0;
}
