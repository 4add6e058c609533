#include "fs/store/lock_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/write_all.h"
#include "fs/store/file.h"
#include "fs/store/holder.h"

#define NAME_SIZE 32

/* ---- flock ----------------------------------------------------------------------------------- */

bool bale_flock_missing(int e)
{
    return e == ENOSYS || e == ENOTSUP || e == ENOLCK;
}

int bale_flock(int fd, int operation)
{
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};

    for (int tries = 20;; tries--) {
        if (bale_store_platform.flock(fd, operation | LOCK_NB) == 0)
            return 0;
        if (errno != EINTR && (errno != EWOULDBLOCK || tries <= 0))
            return -1;
        nanosleep(&pause, NULL);
    }
}

bool bale_flock_by_writer(int fd)
{
    if (bale_store_platform.flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    (void)bale_store_platform.flock(fd, LOCK_UN);
    return false;
}

/* ---- The file -------------------------------------------------------------------------------- */

int bale_lock_open(int dir, const char *name, int flags, int *fd)
{
    int err = bale_store_file_open(dir, name, flags, fd);

    if (err != BALE_E_NOENT || flags == O_RDONLY)
        return err;
    err = bale_store_file_create(dir, name, fd);
    if (err && errno == EEXIST)
        return bale_store_file_open(dir, name, flags, fd);
    if (!err)
        bale_store_file_keep_place(*fd);
    return err;
}

/* Writes the text in place, because a lock keeps the space that it has on a full disk. errno is set
 * on failure. */
static int put_text(int fd, const char *text)
{
    size_t length = strlen(text);

    if (bale_write_all(fd, text, length, 0) < 0 || ftruncate(fd, (off_t)length) < 0 ||
        fsync(fd) < 0)
        return bale_err_from_errno(errno);
    return 0;
}

int bale_lock_write_text(int fd)
{
    char *text = bale_holder_self(fd);
    int err = BALE_E_NOMEM;

    errno = ENOMEM;
    if (text)
        err = put_text(fd, text);
    free(text);
    return err;
}

int bale_lock_clear(int fd)
{
    return put_text(fd, "\n");
}

static bool unique_name(char name[static NAME_SIZE])
{
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(name, NAME_SIZE, BALE_LOCK ".%016" PRIx64, random);
    return true;
}

/* Gives the file name the name of the lock. */
static int give_name(int dir, const char *name, bool replace)
{
    if (replace)
        return renameat(dir, name, dir, BALE_LOCK) < 0 ? bale_err_from_errno(errno) : 0;
    if (linkat(dir, name, dir, BALE_LOCK, 0) < 0)
        return errno == EEXIST ? BALE_E_BUSY : bale_err_from_errno(errno);
    unlinkat(dir, name, 0);
    return 0;
}

int bale_lock_make(int dir, bool flocked, bool replace, int *fd)
{
    char name[NAME_SIZE];
    int err, e;

    *fd = -1;
    if (!unique_name(name))
        return BALE_E_IO;
    err = bale_store_file_create(dir, name, fd);
    if (err)
        return err;
    bale_store_file_keep_place(*fd);
    if (flocked && bale_flock(*fd, LOCK_EX) < 0)
        err = bale_err_from_errno(errno);
    if (!err)
        err = bale_lock_write_text(*fd);
    if (!err)
        err = give_name(dir, name, replace);
    if (!err)
        return 0;
    e = errno;
    unlinkat(dir, name, 0);
    close(*fd);
    *fd = -1;
    errno = e;
    return err;
}

/* Two processes may remove it at once, so the text that was moved away is read again: if its holder
 * may still run, it is put back. */
int bale_lock_move_stale(int dir, const char *takeover)
{
    struct bale_lock_view view;
    struct bale_holder moved;
    char name[NAME_SIZE];
    char *text;
    size_t length;
    int err = 0;

    if (!unique_name(name))
        return BALE_E_IO;
    if (renameat(dir, BALE_LOCK, dir, name) < 0)
        return errno == ENOENT ? 0 : bale_err_from_errno(errno);
    if (bale_store_file_read(dir, name, BALE_HOLDER_MAX, &text, &length) == 0) {
        bale_holder_parse(text, length, &moved);
        free(text);
        bale_lock_look_at(dir, false, &view);
        if (!bale_holder_may_replace(&moved, &view, takeover)) {
            err = BALE_E_BUSY;
            if (linkat(dir, name, dir, BALE_LOCK, 0) < 0)
                err = bale_err_from_errno(errno);
        }
    }
    unlinkat(dir, name, 0);
    return err;
}

/* ---- The name -------------------------------------------------------------------------------- */

enum bale_named bale_lock_named(int dir, const char *name, int fd)
{
    const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_FORCE_SYNC;
    struct statx held, named;

    if (statx(dir, name, flags, STATX_INO, &named) < 0)
        return errno == ENOENT || errno == ESTALE ? BALE_NAMED_NONE : BALE_NAMED_UNKNOWN;
    /* Where another host has removed it, the number may have been given to a new file. */
    if (statx(fd, "", flags | AT_EMPTY_PATH, STATX_INO | STATX_NLINK, &held) < 0)
        return errno == ESTALE || errno == ENOENT ? BALE_NAMED_OTHER : BALE_NAMED_UNKNOWN;
    /* The kernel may believe a name for longer than it is right. */
    if ((held.stx_mask & STATX_NLINK) && held.stx_nlink == 0)
        return BALE_NAMED_OTHER;
    return held.stx_ino == named.stx_ino && held.stx_dev_major == named.stx_dev_major &&
                   held.stx_dev_minor == named.stx_dev_minor
               ? BALE_NAMED
               : BALE_NAMED_OTHER;
}

/* ---- The second lock ------------------------------------------------------------------------- */

int bale_lock_take_second(int dir, bool write, int *fd, bool *by_writer)
{
    int err = bale_lock_open(dir, BALE_SECOND_LOCK, write ? O_RDWR : O_RDONLY, fd);
    int e;

    if (err == BALE_E_NOENT || (err && !write && errno == EACCES))
        return 0; /* a reader, who does not need it */
    if (err)
        return err;
    if (bale_flock(*fd, write ? LOCK_EX : LOCK_SH) == 0)
        return 0;
    e = errno;
    if (e == EWOULDBLOCK)
        *by_writer = bale_flock_by_writer(*fd);
    close(*fd);
    *fd = -1;
    if (bale_flock_missing(e))
        return 0;
    errno = e;
    return e == EWOULDBLOCK ? BALE_E_BUSY : bale_err_from_errno(e);
}

/* ---- Before a mount -------------------------------------------------------------------------- */

bool bale_lock_is_missing(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Whether the lock has a text, as the server of a network file system sees it. A lock that no
 * writer has is empty, or one line feed. */
static bool has_text(int dir, const char *name)
{
    struct statx st;

    return statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_STATX_FORCE_SYNC, STATX_SIZE, &st) == 0 &&
           st.stx_size > 1;
}

void bale_lock_await(int dir, const char *name)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000000L};

    for (unsigned ms = 0; ms < bale_store_platform.await_ms && !has_text(dir, name); ms += 50)
        nanosleep(&pause, NULL);
}

/* Whether a session is listed that has not ended cleanly; missing: if there is no list. */
static bool lists_uncertain(int dir, bool missing)
{
    json_t *json;
    bool any;

    if (bale_store_file_read_json(dir, "", BALE_SESSIONS, &json, NULL) < 0)
        return missing;
    any = json_array_size(json_object_get(json, "uncertain")) > 0;
    json_decref(json);
    return any;
}

/* A mount that ends cleanly leaves an empty lock and nothing in the list; a crash leaves the lock's
 * text. So a listed session without that text may be one that still runs. */
void bale_lock_await_holder(int dir)
{
    bool missing = bale_lock_is_missing(dir, BALE_LOCK);

    if (has_text(dir, BALE_LOCK))
        return;
    if (lists_uncertain(dir, missing) || (missing && bale_lock_is_missing(dir, BALE_SECOND_LOCK)))
        bale_lock_await(dir, BALE_LOCK);
}
