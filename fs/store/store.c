#include "fs/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "fs/store/lock_file.h"
#include "fs/store/lock_watch.h"
#include "kernels/base/cond.h"

#define RESERVE "reserve"

struct bale_store *bale_store_new(enum bale_store_access access)
{
    struct bale_store *store = calloc(1, sizeof *store);
    pthread_rwlockattr_t attr;

    if (!store)
        return NULL;
    store->repair = access == BALE_STORE_REPAIR;
    store->access = store->repair ? BALE_STORE_WRITE : access;
    store->root_fd = store->dir_fd = store->top_fd = store->reserve_fd = -1;
    store->lock.directory = store->lock.fd = store->lock.second = -1;
    pthread_mutex_init(&store->lock.looking, NULL);
    bale_cond_init(&store->lock.ended);
    atomic_flag_clear(&store->bad_setting_reported);
    pthread_mutex_init(&store->change, NULL);
    pthread_mutex_init(&store->sessions.lock, NULL);
    /* Roots are written, with this lock shared, all the time: prefer a checkpoint, which writes. */
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&store->sessions.roll, &attr);
    pthread_rwlockattr_destroy(&attr);
    return store;
}

void bale_store_free(struct bale_store *store)
{
    bale_sessions_free(store);
    bale_config_free(store);
    bale_lock_release(store);
    if (store->reserve_fd >= 0)
        close(store->reserve_fd);
    if (store->top_fd >= 0)
        close(store->top_fd);
    if (store->dir_fd >= 0)
        close(store->dir_fd);
    if (store->root_fd >= 0)
        close(store->root_fd);
    pthread_rwlock_destroy(&store->sessions.roll);
    pthread_mutex_destroy(&store->sessions.lock);
    pthread_mutex_destroy(&store->change);
    pthread_cond_destroy(&store->lock.ended);
    pthread_mutex_destroy(&store->lock.looking);
    free(store->path);
    free(store);
}

int bale_store_open_root(struct bale_store *store, const char *path, struct bale_reason *why)
{
    store->path = realpath(path, NULL);
    if (!store->path)
        return bale_store_fail_errno(why, path, "", "opened");
    store->root_fd = open(store->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return store->root_fd < 0 ? bale_store_fail_errno(why, store->path, "", "opened") : 0;
}

int bale_store_open_own(struct bale_store *store, struct bale_reason *why)
{
    if (bale_store_directory_open(store->root_fd, &store->dir_fd) == 0) {
        if (bale_store_subdirectory_open(store->dir_fd, BALE_TOP, &store->top_fd) < 0 &&
            errno != ENOENT)
            return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" BALE_TOP, "opened");
        store->believes_syncfs = bale_platform_believes_syncfs(store->dir_fd);
        return bale_store_check_case(store->path, store->root_fd, why);
    }
    if (errno == ENOENT)
        return bale_store_not_one(store->path, why);
    if (errno == EXDEV)
        return bale_store_fail(why, BALE_E_INVALID,
                               "%s/" BALE_STORE_DIR ": is on another mount: a store is on one",
                               store->path);
    if (errno == EACCES)
        return bale_store_fail(why, BALE_E_PERM,
                               "%s: is closed to user %lu: use its mount, or let the store's owner "
                               "do it",
                               store->path, (unsigned long)geteuid());
    return bale_store_fail_errno(why, store->path, BALE_STORE_DIR, "opened");
}

/* Opens and empties the reserve: if a kill left it filled, nothing needs its blocks any more. */
static int open_reserve(struct bale_store *store, struct bale_reason *why)
{
    struct stat st;
    int err;

    /* One that has another name may be anybody's file, or that of a copy made of hard links. */
    if (fstatat(store->dir_fd, RESERVE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink != 1)
        (void)unlinkat(store->dir_fd, RESERVE, 0);
    err = bale_store_file_open(store->dir_fd, RESERVE, O_RDWR, &store->reserve_fd);
    if (err == BALE_E_NOENT)
        err = bale_store_file_create(store->dir_fd, RESERVE, &store->reserve_fd);
    if (err && (errno == ENOSPC || errno == EDQUOT))
        return 0; /* there is no space for a file, so there is none for a reserve */
    if (err)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" RESERVE, "opened");
    if (fstat(store->reserve_fd, &st) == 0 && st.st_nlink != 1)
        return bale_store_fail(why, BALE_E_INVALID,
                               "%s/" BALE_STORE_DIR "/" RESERVE ": has another name: remove it",
                               store->path);
    if (ftruncate(store->reserve_fd, 0) < 0)
        return bale_store_fail_errno(why, store->path, BALE_STORE_DIR "/" RESERVE, "emptied");
    return 0;
}

/* Others could lock an older store's lock, and fill its reserve. Nothing more can be done if the
 * file system refuses. */
static void restrict_files(const struct bale_store *store)
{
    if (store->lock.fd >= 0)
        (void)fchmod(store->lock.fd, 0600);
    if (store->reserve_fd >= 0)
        (void)fchmod(store->reserve_fd, 0600);
}

/* Opens a store that has only its access mode. The caller frees it, also on failure. */
static int open_all(struct bale_store *store, const char *path, struct bale_reason *why)
{
    int err = bale_store_open_root(store, path, why);

    if (!err)
        err = bale_store_open_own(store, why);
    if (err)
        return err;
    err = bale_config_read(store, why); /* its errors say more than those of the lock */
    if (err)
        return err;
    if (store->access == BALE_STORE_WRITE || store->access == BALE_STORE_READONLY) {
        err = bale_lock_take(store, why);
        if (err)
            return err;
        err = bale_config_read(store, why); /* the lock's previous holder may have changed it */
        if (err)
            return err;
    }
    if (store->access == BALE_STORE_WRITE) {
        bale_config_keep_both(store);
        err = open_reserve(store, why);
        if (err)
            return err;
        restrict_files(store);
        /* A crash may have come between a change of the top and what follows from it. */
        (void)bale_store_top_inherit(store);
        bale_store_touch(store);
    }
    err = bale_sessions_open(store, why);
    if (err)
        return err;
    bale_store_probe(store);
    return 0;
}

int bale_store_open_takeover(const char *path, enum bale_store_access access, const char *takeover,
                             struct bale_store **result, struct bale_reason *why)
{
    struct bale_store *store = bale_store_new(access);
    int err;

    *result = NULL;
    if (!store)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    store->takeover = takeover;
    err = open_all(store, path, why);
    store->takeover = NULL;
    if (err) {
        bale_store_free(store);
        return err;
    }
    *result = store;
    return 0;
}

int bale_store_open(const char *path, enum bale_store_access access, struct bale_store **result,
                    struct bale_reason *why)
{
    return bale_store_open_takeover(path, access, NULL, result, why);
}

const struct bale_store_notice *bale_store_notice(const struct bale_store *store, unsigned i)
{
    for (unsigned n = 0; n < BALE_NOTICES; n++)
        if (store->notices[n].below && i-- == 0)
            return &store->notices[n];
    return NULL;
}

int bale_store_close(struct bale_store *store, bool clean, const char *result)
{
    int first = 0;
    int err;

    if (!store)
        return 0;
    bale_lock_watch_end(store);
    (void)bale_lock_look_surely(store);
    if (atomic_load(&store->stopped)) {
        first = BALE_E_IO; /* the other writer's files are left alone, the reserve too */
    } else if (store->access == BALE_STORE_WRITE) {
        if (store->reserve_fd >= 0 && ftruncate(store->reserve_fd, 0) < 0)
            first = bale_err_from_errno(errno);
        err = bale_sessions_close(store, clean);
        first = first ? first : err;
        err = result ? bale_store_write_result(store, clean && !err, result) : 0;
        first = first ? first : err;
    }
    bale_store_free(store);
    return first;
}

int bale_store_root_fd(const struct bale_store *store)
{
    return store->root_fd;
}

int bale_store_top_fd(const struct bale_store *store)
{
    return store->top_fd;
}

bool bale_store_believes_syncfs(const struct bale_store *store)
{
    return store->believes_syncfs;
}

const char *bale_store_path(const struct bale_store *store)
{
    return store->path;
}

const struct bale_store_abilities *bale_store_abilities(const struct bale_store *store)
{
    return &store->abilities;
}

static bool is_stopped(const void *store)
{
    /* What it changes has locks of its own. */
    return bale_store_is_stopped((struct bale_store *)store);
}

void bale_store_container_config(struct bale_store *store, struct bale_container_config *config)
{
    *config = (struct bale_container_config){
        .session = &store->sessions.current,
        .session_roll = &store->sessions.roll,
        .writable = store->access == BALE_STORE_WRITE,
        .follows = store->access == BALE_STORE_BESIDE,
        .remote = store->access == BALE_STORE_BESIDE && bale_platform_may_be_stale(store->dir_fd),
        .stopped = is_stopped,
        .modes_in_container = bale_store_config(store)->modes_in_container,
        .session_state = bale_session_state,
        .session_arg = store,
    };
}

void bale_store_defaults(const struct bale_store *store, struct bale_container_attr *attr)
{
    const struct bale_store_config *config = bale_store_config(store);

    *attr = (struct bale_container_attr){
        .extent = config->extent,
        .setting = config->setting,
        /* An empty container has no mode: permit only the owner. */
        .mode = config->modes_in_container ? BALE_ROOT_MODE_IN_CONTAINER | 0600 : 0,
    };
}
