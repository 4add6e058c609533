/* Taking, releasing and querying a store's lock. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/holder.h"
#include "fs/store/internal.h"
#include "fs/store/lock_directory.h"
#include "fs/store/lock_file.h"

#define LOCK_PATH BALE_STORE_DIR "/" BALE_LOCK
#define TRIES 5 /* when others make and remove the lock at the same time */

static int report_taken(const struct bale_store *store, bool by_writer, struct bale_reason *why)
{
    return bale_lock_report_taken(store->path, store->dir_fd,
                                  &(struct bale_lock_other){.writer = by_writer}, why);
}

static int refuse(const struct bale_store *store, const struct bale_holder *holder,
                  enum bale_verdict verdict, struct bale_reason *why)
{
    if (verdict == BALE_HOLDER_RUNS)
        return report_taken(store, true, why);
    return bale_store_fail(why, BALE_E_BUSY,
                           "%s: was left locked by %s, and its file system does not tell whether "
                           "that still has it: unmount it there, or only if that is known to have "
                           "ended, or if this is a copy, mount with -o takeover=%s",
                           store->path, holder->who, bale_holder_boot(holder));
}

bool bale_lock_is_certain(const struct bale_store *store)
{
    return store->lock.directory >= 0 && !bale_platform_is_network(store->root_fd);
}

/* ---- With flock ------------------------------------------------------------------------------ */

/* Gives a writer the lock, whose file we have flocked. Two kinds of files are replaced: one that
 * has another name as well, because anybody may have that; and one whose holder was cut off,
 * because that holder must find, when it comes back, that the lock is not its own any more. */
static int claim_file(struct bale_store *store, bool replace, struct bale_reason *why)
{
    struct stat st;
    int fd;
    int err;

    if (!replace && fstat(store->lock.fd, &st) == 0 && st.st_nlink == 1) {
        err = bale_lock_write_text(store->lock.fd);
        /* The flocks are enough here. A failure would keep the user from mounting, and so from
         * deleting something. */
        if (err && (errno == ENOSPC || errno == EDQUOT) && bale_lock_is_certain(store))
            err = 0;
    } else {
        err = bale_lock_make(store->dir_fd, true, true, &fd);
        if (!err) {
            close(store->lock.fd);
            store->lock.fd = fd;
        }
    }
    if (err)
        return bale_store_fail_errno(why, store->path, LOCK_PATH, "written");
    store->lock.text = true;
    return 0;
}

static int claim_flocked(struct bale_store *store, struct bale_reason *why)
{
    struct bale_lock_view view;
    struct bale_holder holder;
    enum bale_verdict verdict;

    if (bale_holder_read(store->dir_fd, &holder) < 0)
        return bale_store_fail_errno(why, store->path, LOCK_PATH, "read");
    bale_lock_look_at(store->dir_fd, true, &view);
    verdict = bale_holder_judge(&holder, &view);
    if (!bale_holder_may_replace(&holder, &view, store->takeover))
        return refuse(store, &holder, verdict, why);
    if (store->access != BALE_STORE_WRITE)
        return 0;
    return claim_file(store, verdict != BALE_HOLDER_GONE, why);
}

/* ---- Without flock: the name is the lock ----------------------------------------------------- */

static int claim_by_name(struct bale_store *store, struct bale_reason *why)
{
    struct bale_lock_view view;
    struct bale_holder holder;
    int err = bale_holder_read(store->dir_fd, &holder);

    bale_lock_look_at(store->dir_fd, false, &view);
    if (err && err != BALE_E_NOENT)
        return bale_store_fail_errno(why, store->path, LOCK_PATH, "read");
    if (!bale_holder_may_replace(&holder, &view, store->takeover))
        return refuse(store, &holder, bale_holder_judge(&holder, &view), why);
    if (store->access != BALE_STORE_WRITE)
        return 0;
    err = err == BALE_E_NOENT ? 0 : bale_lock_move_stale(store->dir_fd, store->takeover);
    if (!err)
        err = bale_lock_make(store->dir_fd, false, false, &store->lock.fd);
    if (err == BALE_E_BUSY)
        return bale_store_fail(why, BALE_E_BUSY,
                               "%s: another process is just taking it: unmount it there first",
                               store->path);
    if (err)
        return bale_store_fail(why, err, "%s/" LOCK_PATH ": cannot be made: %s", store->path,
                               bale_err_text(err));
    store->lock.text = true;
    store->lock.link = true;
    return 0;
}

/* ---- Taking and releasing -------------------------------------------------------------------- */

static void close_lock(struct bale_store *store)
{
    if (store->lock.fd >= 0)
        close(store->lock.fd);
    if (store->lock.second >= 0)
        close(store->lock.second);
    if (store->lock.directory >= 0)
        close(store->lock.directory);
    store->lock.fd = store->lock.second = store->lock.directory = -1;
    store->lock.text = store->lock.link = false;
}

/* Opens and flocks the file that has the name. BALE_E_STALE: it has lost it meanwhile. */
static int take_file(struct bale_store *store, struct bale_reason *why)
{
    bool write = store->access == BALE_STORE_WRITE;
    int err = bale_lock_open(store->dir_fd, BALE_LOCK, write ? O_RDWR : O_RDONLY, &store->lock.fd);
    int e;

    if (err == BALE_E_NOENT) /* a reader, and no writer ever opened this store */
        return 0;
    if (err)
        return bale_store_fail_errno(why, store->path, LOCK_PATH, "opened");
    if (bale_flock(store->lock.fd, write ? LOCK_EX : LOCK_SH) == 0) {
        if (bale_lock_named(store->dir_fd, BALE_LOCK, store->lock.fd) != BALE_NAMED)
            return BALE_E_STALE;
        store->abilities.flock = true;
        return claim_flocked(store, why);
    }
    e = errno;
    if (e == EWOULDBLOCK)
        return report_taken(store, bale_flock_by_writer(store->lock.fd), why);
    if (!bale_flock_missing(e))
        return bale_store_fail_errno(why, store->path, LOCK_PATH, "locked");
    close(store->lock.fd);
    store->lock.fd = -1;
    return claim_by_name(store, why);
}

int bale_lock_begin(struct bale_store *store, struct bale_reason *why)
{
    bool write = store->access == BALE_STORE_WRITE;
    struct bale_lock_other other;
    int err;

    if (store->lock.directory >= 0)
        return 0;
    err = bale_lock_take_directory(store->root_fd, write, &store->lock.directory, &other);
    if (err == BALE_E_BUSY)
        return bale_lock_report_taken(store->path, store->dir_fd, &other, why);
    if (err)
        return bale_store_fail_errno(why, store->path, "", "locked");
    if (other.stranger && write)
        bale_log(BALE_LOG_WARNING,
                 "%s: is locked by a process of a user who cannot write to it: that does not "
                 "count: chmod go-r %s keeps others from it",
                 store->path, store->path);
    return 0;
}

static int take_second(struct bale_store *store, struct bale_reason *why)
{
    bool by_writer = true;
    int err = bale_lock_take_second(store->dir_fd, store->access == BALE_STORE_WRITE,
                                    &store->lock.second, &by_writer);

    if (err == BALE_E_BUSY)
        return report_taken(store, by_writer, why);
    if (err)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_SECOND_LOCK,
                                     "locked");
    return 0;
}

int bale_lock_take(struct bale_store *store, struct bale_reason *why)
{
    int err = bale_lock_begin(store, why);

    if (!err && !bale_lock_is_certain(store)) {
        if (store->access == BALE_STORE_WRITE)
            bale_lock_await_holder(store->dir_fd);
        err = take_second(store, why);
    }
    if (err)
        goto out;
    for (int tries = 1;; tries++) {
        err = take_file(store, why);
        if (err != BALE_E_STALE || tries == TRIES)
            break;
        close(store->lock.fd);
        store->lock.fd = -1;
    }
    if (err == BALE_E_STALE)
        err = bale_store_fail(why, BALE_E_BUSY, "%s/" LOCK_PATH ": is removed again and again",
                              store->path);
    atomic_store(&store->lock.looked, bale_platform_now());
out:
    if (err)
        close_lock(store);
    return err;
}

/* Does nothing to a lock that belongs to somebody else by now. */
void bale_lock_release(struct bale_store *store)
{
    bool ours =
        store->lock.text && bale_lock_named(store->dir_fd, BALE_LOCK, store->lock.fd) == BALE_NAMED;

    if (ours && store->lock.link)
        unlinkat(store->dir_fd, BALE_LOCK, 0);
    else if (ours && bale_lock_clear(store->lock.fd) < 0)
        bale_log(BALE_LOG_WARNING,
                 "%s/" LOCK_PATH ": cannot be emptied: %s: another host that mounts the store "
                 "will ask for -o takeover",
                 store->path, strerror(errno));
    close_lock(store);
}

/* ---- Querying -------------------------------------------------------------------------------- */

/* writers: readers do not count. */
static bool find_lock_holder(int dir, int fd, bool writers, struct bale_holder *holder)
{
    bool text = bale_holder_read(dir, holder) == 0 && holder->present;
    int e = bale_store_platform.flock(fd, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
    struct bale_lock_view view;

    bale_lock_look_at(dir, e == 0, &view);
    if (view.flocked) {
        if (text && bale_holder_judge(holder, &view) != BALE_HOLDER_GONE)
            return true;
        /* We have it shared: only readers may have it too. */
        snprintf(holder->who, sizeof holder->who, "a balefs fsck or export");
        return !writers && bale_store_platform.flock(fd, LOCK_EX | LOCK_NB) < 0 &&
               errno == EWOULDBLOCK;
    }
    if (e == EWOULDBLOCK) {
        if (!text)
            snprintf(holder->who, sizeof holder->who, "another process");
        return true;
    }
    return text && bale_holder_judge(holder, &view) != BALE_HOLDER_GONE;
}

/* The files may be missing. */
static bool find_directory_holder(int root, struct bale_holder *holder)
{
    struct bale_lock_other other;
    int fd;
    int err = bale_lock_take_directory(root, false, &fd, &other);

    if (fd >= 0)
        close(fd);
    snprintf(holder->who, sizeof holder->who,
             other.pid ? "process %ld on this host" : "another process", (long)other.pid);
    return err == BALE_E_BUSY;
}

/* writers: readers do not count. False: the store is not locked. */
static bool find_holder(const char *path, bool writers, struct bale_holder *holder)
{
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int dir = -1;
    int fd = -1;
    bool locked = false;

    if (root >= 0 && bale_store_directory_open(root, &dir) == 0 &&
        bale_store_file_open(dir, BALE_LOCK, O_RDONLY, &fd) == 0)
        locked = find_lock_holder(dir, fd, writers, holder);
    locked = locked || (root >= 0 && find_directory_holder(root, holder));
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    if (root >= 0)
        close(root);
    return locked;
}

bool bale_store_locked_by(const char *path, char *name, size_t size)
{
    struct bale_holder holder;
    bool locked = find_holder(path, false, &holder);

    if (locked)
        snprintf(name, size, "%s", holder.who);
    return locked;
}

pid_t bale_store_locked_here(const char *path)
{
    const struct bale_lock_view by_text = {.flocked = false};
    struct bale_holder holder = {.present = false};

    return find_holder(path, true, &holder) &&
                   bale_holder_judge(&holder, &by_text) == BALE_HOLDER_RUNS
               ? holder.pid
               : 0;
}

bool bale_store_written_by(const char *path, char *name, size_t size)
{
    struct bale_holder holder;
    bool locked = find_holder(path, true, &holder);

    if (locked)
        snprintf(name, size, "%s", holder.who);
    return locked;
}
