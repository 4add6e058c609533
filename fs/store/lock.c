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
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/holder.h"
#include "fs/store/internal.h"

static int refuse(const struct bale_store *store, const struct bale_holder *holder,
                  enum bale_verdict verdict, struct bale_reason *why)
{
    if (verdict == BALE_HOLDER_RUNS)
        return bale_store_fail(why, BALE_E_BUSY, "%s: is mounted by %s: unmount it there first",
                               store->path, holder->who);
    return bale_store_fail(why, BALE_E_BUSY,
                           "%s: was left locked by %s, and its file system does not tell whether "
                           "that still runs: unmount it there, or if it is gone for good remove "
                           "%s/" BALE_STORE_DIR "/" BALE_LOCK,
                           store->path, holder->who, store->path);
}

/* ---- With flock ------------------------------------------------------------------------------ */

static bool is_flock_missing(int e)
{
    return e == ENOSYS || e == ENOTSUP || e == ENOLCK;
}

/* A process that only queries the lock's holder (bale_store_locked_by) locks it for a moment: retry
 * for 0.2 s, which is longer. */
static int flock_patiently(int fd, int operation)
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

static int open_lock(const struct bale_store *store, int flags, int *fd)
{
    int err = bale_store_file_open(store->dir_fd, BALE_LOCK, flags, fd);

    if (err != BALE_E_NOENT || flags == O_RDONLY)
        return err;
    err = bale_store_file_create(store->dir_fd, BALE_LOCK, fd);
    if (err && errno == EEXIST)
        err = bale_store_file_open(store->dir_fd, BALE_LOCK, flags, fd);
    return err;
}

static int write_text(int fd)
{
    char *text = bale_holder_self();
    int err = BALE_E_NOMEM;

    errno = ENOMEM;
    if (text)
        err = ftruncate(fd, 0) < 0 ? bale_err_from_errno(errno)
                                   : bale_write_all(fd, text, strlen(text));
    if (!err && fsync(fd) < 0) /* so that other hosts see it */
        err = bale_err_from_errno(errno);
    free(text);
    return err;
}

static int report_blocked(struct bale_store *store, struct bale_reason *why)
{
    struct bale_holder holder;

    if (bale_holder_read(store->dir_fd, &holder) == 0 && holder.present)
        return refuse(store, &holder, BALE_HOLDER_RUNS, why);
    return bale_store_fail(why, BALE_E_BUSY,
                           "%s: is mounted read-only by another process: unmount that first",
                           store->path);
}

/* Takes the lock whose file fd is flocked by us, unless its text names a holder that may still
 * run. */
static int claim_flocked(struct bale_store *store, int fd, struct bale_reason *why)
{
    struct bale_holder holder;
    struct stat st;
    enum bale_verdict verdict;

    if (fstat(fd, &st) < 0 || bale_holder_read(store->dir_fd, &holder) < 0)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_LOCK, "read");
    /* Refuse a lock that was removed meanwhile (0 names), and a file that has another name too. */
    if (st.st_nlink != 1)
        return bale_store_fail(why, BALE_E_BUSY,
                               "%s/" BALE_STORE_DIR "/" BALE_LOCK ": has %lu names: remove it",
                               store->path, (unsigned long)st.st_nlink);
    verdict = bale_holder_judge(&holder, true, bale_platform_is_network(store->dir_fd));
    if (verdict != BALE_HOLDER_GONE)
        return refuse(store, &holder, verdict, why);
    if (store->access != BALE_STORE_WRITE)
        return 0;
    if (write_text(fd) < 0)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_LOCK, "written");
    store->lock.text = true;
    return 0;
}

/* ---- Without flock: the name is the lock ----------------------------------------------------- */

static bool unique_name(char name[static 32])
{
    uint64_t random;

    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(name, 32, BALE_LOCK ".%016" PRIx64, random);
    return true;
}

/* Removes a stale text. Two processes may try that at once, so the text that was moved away is
 * checked again: if its holder may still run, it is put back. */
static int move_stale(const struct bale_store *store)
{
    struct bale_holder moved;
    char name[32];
    char *text;
    size_t length;
    int err = 0;

    if (!unique_name(name))
        return BALE_E_IO;
    if (renameat(store->dir_fd, BALE_LOCK, store->dir_fd, name) < 0)
        return errno == ENOENT ? 0 : bale_err_from_errno(errno);
    if (bale_store_file_read(store->dir_fd, name, BALE_HOLDER_MAX, &text, &length) == 0) {
        bale_holder_parse(text, length, &moved);
        free(text);
        if (bale_holder_judge(&moved, false, true) != BALE_HOLDER_GONE) {
            err = BALE_E_BUSY;
            if (linkat(store->dir_fd, name, store->dir_fd, BALE_LOCK, 0) < 0)
                err = bale_err_from_errno(errno);
        }
    }
    unlinkat(store->dir_fd, name, 0);
    return err;
}

/* Creates the lock with our text atomically, by linking a complete file to its name. */
static int link_text(struct bale_store *store)
{
    char name[32];
    int fd;
    int err;

    if (!unique_name(name))
        return BALE_E_IO;
    err = bale_store_file_create(store->dir_fd, name, &fd);
    if (err)
        return err;
    err = write_text(fd);
    if (!err && linkat(store->dir_fd, name, store->dir_fd, BALE_LOCK, 0) < 0)
        err = errno == EEXIST ? BALE_E_BUSY : bale_err_from_errno(errno);
    unlinkat(store->dir_fd, name, 0);
    close(fd);
    return err;
}

static int claim_by_name(struct bale_store *store, struct bale_reason *why)
{
    struct bale_holder holder;
    enum bale_verdict verdict;
    int err = bale_holder_read(store->dir_fd, &holder);

    if (err && err != BALE_E_NOENT)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_LOCK, "read");
    verdict = bale_holder_judge(&holder, false, true);
    if (verdict != BALE_HOLDER_GONE)
        return refuse(store, &holder, verdict, why);
    if (store->access != BALE_STORE_WRITE)
        return 0;
    err = err == BALE_E_NOENT ? 0 : move_stale(store);
    if (!err)
        err = link_text(store);
    if (err == BALE_E_BUSY)
        return bale_store_fail(why, BALE_E_BUSY,
                               "%s: another process is just taking it: unmount it there first",
                               store->path);
    if (err)
        return bale_store_fail(why, err, "%s/" BALE_STORE_DIR "/" BALE_LOCK ": cannot be made: %s",
                               store->path, bale_err_text(err));
    store->lock.text = true;
    store->lock.link = true;
    return 0;
}

/* ---- Taking and releasing -------------------------------------------------------------------- */

int bale_lock_take(struct bale_store *store, struct bale_reason *why)
{
    bool write = store->access == BALE_STORE_WRITE;
    int err = open_lock(store, write ? O_RDWR : O_RDONLY, &store->lock.fd);

    if (err == BALE_E_NOENT) /* no writer ever opened this store */
        return 0;
    if (err)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_LOCK, "opened");
    if (flock_patiently(store->lock.fd, write ? LOCK_EX : LOCK_SH) == 0) {
        store->abilities.flock = true;
        err = claim_flocked(store, store->lock.fd, why);
    } else if (errno == EWOULDBLOCK) {
        err = report_blocked(store, why);
    } else if (is_flock_missing(errno)) {
        close(store->lock.fd);
        store->lock.fd = -1;
        return claim_by_name(store, why);
    } else {
        err = bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_LOCK, "locked");
    }
    if (err) {
        close(store->lock.fd);
        store->lock.fd = -1;
    }
    return err;
}

void bale_lock_release(struct bale_store *store)
{
    if (store->lock.link)
        unlinkat(store->dir_fd, BALE_LOCK, 0);
    else if (store->lock.text && ftruncate(store->lock.fd, 0) < 0)
        bale_log(BALE_LOG_WARNING,
                 "%s/" BALE_STORE_DIR "/" BALE_LOCK
                 ": cannot be emptied: %s: remove it before another "
                 "host mounts the store",
                 store->path, strerror(errno));
    if (store->lock.fd >= 0)
        close(store->lock.fd);
    store->lock = (struct bale_store_lock){.fd = -1};
}

/* ---- Querying -------------------------------------------------------------------------------- */

static bool find_lock_holder(int dir, int fd, struct bale_holder *holder)
{
    bool text = bale_holder_read(dir, holder) == 0 && holder->present;

    if (bale_store_platform.flock(fd, LOCK_SH | LOCK_NB) == 0) {
        if (text &&
            bale_holder_judge(holder, true, bale_platform_is_network(dir)) != BALE_HOLDER_GONE)
            return true;
        /* We have it shared: only readers may have it too. */
        snprintf(holder->who, sizeof holder->who, "a read-only mount");
        return bale_store_platform.flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    }
    if (errno == EWOULDBLOCK) {
        if (!text)
            snprintf(holder->who, sizeof holder->who, "another process");
        return true;
    }
    return text && bale_holder_judge(holder, false, true) != BALE_HOLDER_GONE;
}

bool bale_store_locked_by(const char *path, char *name, size_t size)
{
    struct bale_holder holder;
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int dir = -1;
    int fd = -1;
    bool locked = false;

    if (root >= 0 && bale_store_directory_open(root, &dir) == 0 &&
        bale_store_file_open(dir, BALE_LOCK, O_RDONLY, &fd) == 0)
        locked = find_lock_holder(dir, fd, &holder);
    if (locked)
        snprintf(name, size, "%s", holder.who);
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    if (root >= 0)
        close(root);
    return locked;
}
