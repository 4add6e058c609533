#include "fs/store/lock_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/holder.h"
#include "fs/store/internal.h"
#include "fs/store/lock_directory.h"
#include "fs/store/lock_file.h"

#define AGAIN_MS 100

/* What one look has made again, for the log. */
struct look {
    struct bale_store *store;
    char made[160];
    bool replaced;            /* .balefs is another directory now */
    bool sessions;            /* sessions.json is to be made again */
    struct bale_holder other; /* with BALE_E_BUSY: who has the lock */
};

static void note_made(struct look *look, const char *name)
{
    size_t used = strlen(look->made);

    snprintf(look->made + used, sizeof look->made - used, "%s%s", used ? ", " : "", name);
}

/* Makes fd refer to the file of `from`, at once, so that the rest of the store goes on with the
 * same number. */
static int replace_fd(int fd, int from)
{
    int e = dup3(from, fd, O_CLOEXEC) < 0 ? errno : 0;

    close(from);
    errno = e;
    return e ? bale_err_from_errno(e) : 0;
}

/* ---- The store's directory ------------------------------------------------------------------- */

/* Locks the directory if another process had it locked and has gone. If it is still locked, that
 * process may only be looking whether the store is in use; the other locks tell. */
static int lock_directory(struct look *look)
{
    struct bale_store *store = look->store;
    struct bale_lock_other other;

    if (store->lock.directory >= 0)
        return 0;
    int err = bale_lock_take_directory(store->root_fd, true, &store->lock.directory, &other);
    return err == BALE_E_BUSY ? 0 : err;
}

/* ---- The second lock ------------------------------------------------------------------------- */

/* BALE_E_BUSY: a writer has it. BALE_E_IO: a reader has it, which keeps writers out as it keeps us
 * out; whether a writer comes when it has gone is not known. */
static int take_second(int dir, int *fd)
{
    bool by_writer = true;
    int err = bale_lock_take_second(dir, true, fd, &by_writer);

    return err == BALE_E_BUSY && !by_writer ? BALE_E_IO : err;
}

static int look_at_second(struct look *look)
{
    struct bale_store *store = look->store;
    int fd;
    int err;

    if (store->lock.second < 0 ||
        bale_lock_named(store->dir_fd, BALE_SECOND_LOCK, store->lock.second) == BALE_NAMED)
        return 0;
    err = take_second(store->dir_fd, &fd);
    if (err || fd < 0)
        return err;
    note_made(look, BALE_SECOND_LOCK);
    return replace_fd(store->lock.second, fd);
}

/* ---- .balefs itself -------------------------------------------------------------------------- */

static int make_directory(const struct bale_store *store)
{
    struct stat st;

    if (fstat(store->dir_fd, &st) < 0)
        return bale_err_from_errno(errno);
    if (mkdirat(store->root_fd, BALE_STORE_DIR, 0700) < 0)
        return errno == EEXIST ? 0 : bale_err_from_errno(errno);
    if ((geteuid() == 0 &&
         fchownat(store->root_fd, BALE_STORE_DIR, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0) ||
        fchmodat(store->root_fd, BALE_STORE_DIR, st.st_mode & 07777, 0) < 0)
        return bale_err_from_errno(errno);
    return 0;
}

/* Goes on with the directory that has the name now. */
static int change_directory(struct look *look)
{
    struct bale_store *store = look->store;
    int second = -1;
    int dir;
    int err = bale_store_directory_open(store->root_fd, &dir);

    if (err)
        return err;
    if (!bale_lock_is_certain(store))
        err = take_second(dir, &second);
    if (err) {
        (void)bale_holder_read(dir, &look->other);
        close(dir);
        return err;
    }
    pthread_mutex_lock(&store->change);
    err = replace_fd(store->dir_fd, dir);
    pthread_mutex_unlock(&store->change);
    if (store->lock.second >= 0)
        close(store->lock.second);
    store->lock.second = second;
    return err;
}

static int look_at_directory(struct look *look)
{
    struct bale_store *store = look->store;
    enum bale_named named = bale_lock_named(store->root_fd, BALE_STORE_DIR, store->dir_fd);
    int err = 0;

    if (named == BALE_NAMED_UNKNOWN)
        return BALE_E_IO;
    if (named == BALE_NAMED)
        return 0;
    look->replaced = true;
    if (named == BALE_NAMED_NONE) {
        err = make_directory(store);
        note_made(look, BALE_STORE_DIR);
    }
    return err ? err : change_directory(look);
}

/* Finds a writer that came while this process was suspended, even if it has gone again. */
static int look_at_sessions(struct look *look)
{
    struct bale_store *store = look->store;

    pthread_mutex_lock(&store->change);
    int err = bale_sessions_look(store, &look->sessions);
    pthread_mutex_unlock(&store->change);
    if (err == BALE_E_BUSY) {
        look->other.present = true;
        snprintf(look->other.who, sizeof look->other.who, "another process, now or meanwhile,");
    }
    return err;
}

/* ---- The lock -------------------------------------------------------------------------------- */

/* Judges the flock that somebody else has of fd, the file that has the lock's name now; named: the
 * holder in its text. A process that only looks or reads has the flock shared, or alone for a
 * moment. A writer has it alone, and the text names it. BALE_E_BUSY: a writer has it. Otherwise the
 * next look decides: 0 if our other locks keep writers away. */
static int judge_flocked(const struct bale_store *store, int fd, const struct bale_holder *named)
{
    const struct bale_lock_view by_text = {.flocked = false};

    if (bale_flock_by_writer(fd) && !bale_holder_is_self(named) &&
        bale_holder_judge(named, &by_text) != BALE_HOLDER_GONE)
        return BALE_E_BUSY;
    return bale_lock_is_certain(store) ? 0 : BALE_E_IO;
}

/* Another file has the lock's name. If nobody holds it, it becomes ours. */
static int adopt_lock(struct look *look)
{
    struct bale_store *store = look->store;
    bool flocks = !store->lock.link;
    struct bale_lock_view view;
    struct stat st;
    int fd;
    int err = bale_store_file_open(store->dir_fd, BALE_LOCK, O_RDWR, &fd);

    if (err)
        return err == BALE_E_NOENT ? 0 : err;     /* the next look makes it */
    if (fstat(fd, &st) < 0 || st.st_nlink == 0) { /* a name that the kernel remembers */
        close(fd);
        return BALE_E_IO;
    }
    bale_lock_look_at(store->dir_fd, flocks, &view);
    int e = flocks && bale_flock(fd, LOCK_EX) < 0 ? errno : 0;
    /* Read it only now: a writer may have come while the flock was tried. */
    (void)bale_holder_read(store->dir_fd, &look->other);
    if (e) {
        err = e == EWOULDBLOCK ? judge_flocked(store, fd, &look->other) : bale_err_from_errno(e);
        close(fd);
        return err;
    }
    if (!bale_holder_is_self(&look->other) && !bale_holder_may_replace(&look->other, &view, NULL))
        err = BALE_E_BUSY;
    else
        err = bale_lock_write_text(fd);
    if (err)
        close(fd);
    else
        err = replace_fd(store->lock.fd, fd);
    note_made(look, BALE_LOCK);
    return err;
}

static int look_at_lock(struct look *look)
{
    struct bale_store *store = look->store;
    int fd;
    int err;

    switch (bale_lock_named(store->dir_fd, BALE_LOCK, store->lock.fd)) {
    case BALE_NAMED:
        return 0;
    case BALE_NAMED_UNKNOWN:
        return BALE_E_IO;
    case BALE_NAMED_OTHER:
        return adopt_lock(look);
    case BALE_NAMED_NONE:
        break;
    }
    err = bale_lock_make(store->dir_fd, !store->lock.link, false, &fd);
    if (err == BALE_E_BUSY) /* another process has just made one */
        return adopt_lock(look);
    if (err)
        return err;
    note_made(look, BALE_LOCK);
    return replace_fd(store->lock.fd, fd);
}

/* ---- The other files ------------------------------------------------------------------------- */

static bool top_is_lost(const struct bale_store *store)
{
    enum bale_named named;

    if (store->top_fd < 0)
        return false;
    named = bale_lock_named(store->dir_fd, BALE_TOP, store->top_fd);
    return named == BALE_NAMED_NONE || named == BALE_NAMED_OTHER;
}

static int look_at_files(struct look *look)
{
    struct bale_store *store = look->store;
    int err = 0;

    pthread_mutex_lock(&store->change);
    if (look->replaced || bale_lock_is_missing(store->dir_fd, BALE_VOLUME) ||
        bale_lock_is_missing(store->dir_fd, BALE_VOLUME_COPY)) {
        err = bale_config_restore(store);
        note_made(look, BALE_VOLUME);
    }
    if (!err && look->sessions) {
        err = bale_sessions_write(store, &store->sessions.list);
        note_made(look, BALE_SESSIONS);
    }
    if (!err && top_is_lost(store)) {
        err = bale_top_restore(store);
        note_made(look, BALE_TOP);
    }
    pthread_mutex_unlock(&store->change);
    return err;
}

/* ---- Looking --------------------------------------------------------------------------------- */

static void stop_look(struct look *look)
{
    struct bale_store *store = look->store;

    atomic_store(&store->stopped, true);
    bale_log(BALE_LOG_ERROR,
             "%s: %s has taken the store although it is mounted here: nothing is written here any "
             "more: unmount, and check the store with balefs fsck when nobody has it mounted",
             store->path, look->other.present ? look->other.who : "another process");
}

static void report(struct look *look, int err)
{
    struct bale_store *store = look->store;
    bool trouble = err != 0;

    if (look->made[0] && !err)
        bale_log(BALE_LOG_WARNING,
                 "%s/" BALE_STORE_DIR
                 ": files were removed or replaced, and are made again: %s: exclude it from "
                 "what cleans up",
                 store->path, look->made);
    if (trouble && !store->lock.trouble)
        bale_log(BALE_LOG_WARNING,
                 "%s/" BALE_STORE_DIR ": cannot be looked after: %s: another mount may get in",
                 store->path, bale_err_text(err));
    store->lock.trouble = trouble;
}

/* Under looking. Whether it is known now that nobody else has the store. */
static bool look_once(struct bale_store *store)
{
    struct look look = {.store = store};
    int64_t began = bale_platform_now();
    int err;

    if (atomic_load(&store->stopped))
        return false;
    err = lock_directory(&look);
    if (!err)
        err = look_at_directory(&look);
    if (!err)
        err = look_at_sessions(&look);
    if (!err)
        err = look_at_lock(&look);
    if (!err)
        err = look_at_second(&look);
    if (!err)
        err = look_at_files(&look);
    if (err == BALE_E_BUSY)
        stop_look(&look);
    else
        report(&look, err);
    /* Without space nothing is made again, and nothing was found either. */
    if (err && err != BALE_E_NOSPACE && err != BALE_E_DQUOT)
        return false;
    atomic_store(&store->lock.looked, began);
    return true;
}

void bale_lock_look(struct bale_store *store)
{
    if (store->access != BALE_STORE_WRITE)
        return;
    pthread_mutex_lock(&store->lock.looking);
    look_once(store);
    pthread_mutex_unlock(&store->lock.looking);
}

bool bale_lock_look_surely(struct bale_store *store)
{
    const struct timespec pause = {.tv_nsec = AGAIN_MS * 1000000L};
    bool known = false;

    if (store->access != BALE_STORE_WRITE)
        return true;
    for (int ms = 0; !known && ms < BALE_LOCK_PAUSE_MS && !atomic_load(&store->stopped);
         ms += AGAIN_MS) {
        if (ms > 0)
            nanosleep(&pause, NULL);
        pthread_mutex_lock(&store->lock.looking);
        known = look_once(store);
        pthread_mutex_unlock(&store->lock.looking);
    }
    return known;
}
