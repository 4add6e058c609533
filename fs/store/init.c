#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "fs/store/lock_directory.h"
#include "fs/store/lock_file.h"

/* The absolute form of path, which need not exist, but whose parent must. NULL: errno is set, also
 * for an empty path. The caller frees it. */
static char *absolute_path(const char *path)
{
    char *real = realpath(path, NULL);
    char *copy;
    char *slash;
    char *parent;

    if (real || errno != ENOENT || path[0] == '\0')
        return real;
    copy = strdup(path);
    if (!copy)
        return NULL;
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = '\0';
    slash = strrchr(copy, '/');
    if (slash)
        *slash = '\0';
    parent = realpath(slash == copy ? "/" : slash ? copy : ".", NULL);
    if (parent && asprintf(&real, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
                           slash ? slash + 1 : copy) < 0)
        real = NULL;
    free(parent);
    free(copy);
    return real;
}

/* A store must not lie inside another one, nor in its .balefs: all files there are containers. */
static int check_location(const char *path, struct bale_reason *why)
{
    char above[PATH_MAX];
    char *slash;

    if (bale_store_exists(path, NULL))
        return bale_store_fail(why, BALE_E_INVALID,
                               "%s: is a store already: mount it, or choose another directory",
                               path);
    snprintf(above, sizeof above, "%s", path);
    while ((slash = strrchr(above, '/'))) {
        *slash = '\0';
        if (bale_store_exists(above, NULL))
            return bale_store_fail(why, BALE_E_INVALID,
                                   "%s: lies inside the store %s: choose a directory outside it",
                                   path, above[0] ? above : "/");
    }
    return 0;
}

static int check_empty(const char *path, int fd, struct bale_reason *why)
{
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    struct dirent *entry;
    int err = 0;

    if (!dir) {
        err = bale_store_fail_errno(why, path, "", "read");
        if (again >= 0)
            close(again);
        return err;
    }
    while (errno = 0, (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            break;
    if (entry)
        err = bale_store_fail(why, BALE_E_INVALID,
                              "%s: is not empty: it holds \"%s\": choose an empty or new directory",
                              path, entry->d_name);
    else if (errno)
        err = bale_store_fail_errno(why, path, "", "read");
    closedir(dir);
    return err;
}

/* Root's store is for root alone: what others may do is decided in the mount. In a directory of
 * another user that user decides. */
static bool is_roots(int root)
{
    struct stat st;

    return geteuid() == 0 && fstat(root, &st) == 0 && st.st_uid == 0;
}

/* Makes .balefs and what is in it; removes it again on failure. */
static int make_balefs(const char *path, int root, const json_t *volume, struct bale_reason *why)
{
    int dir = -1;
    int lock = -1;
    int err = 0;

    if (mkdirat(root, BALE_STORE_DIR, 0755) < 0)
        return bale_store_fail_errno(why, path, BALE_STORE_DIR, "made");
    /* Make the lock now, so that a read-only mount, which writes nothing, can lock it. */
    if (bale_store_directory_open(root, &dir) < 0 || fchmod(dir, 0711) < 0 ||
        bale_lock_open(dir, BALE_LOCK, O_RDWR, &lock) < 0 || bale_lock_clear(lock) < 0 ||
        bale_store_file_replace_json(dir, BALE_VOLUME_COPY, volume, false) < 0 ||
        bale_store_file_replace_json(dir, BALE_VOLUME, volume, false) < 0 ||
        (is_roots(root) && bale_top_close(root, dir) < 0) || bale_sync_directory(root) < 0)
        err = bale_store_fail_errno(why, path, BALE_STORE_DIR, "filled");
    if (err && dir >= 0) {
        unlinkat(dir, BALE_VOLUME, 0);
        unlinkat(dir, BALE_VOLUME_COPY, 0);
        unlinkat(dir, BALE_LOCK, 0);
        unlinkat(dir, BALE_TOP, AT_REMOVEDIR);
    }
    if (err)
        unlinkat(root, BALE_STORE_DIR, AT_REMOVEDIR);
    if (lock >= 0)
        close(lock);
    if (dir >= 0)
        close(dir);
    return err;
}

static int sync_parent(int root)
{
    int fd = openat(root, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err;

    /* If we may not read the parent, its owner's syncs must suffice. */
    if (fd < 0)
        return errno == EACCES ? 0 : bale_err_from_errno(errno);
    err = bale_sync_directory(fd);
    close(fd);
    return err;
}

/* An empty directory may be a mounted store whose .balefs was removed. */
static int lock_root(const char *path, int root, int *fd, struct bale_reason *why)
{
    struct bale_lock_other other;
    int err = bale_lock_take_directory(root, true, fd, &other);

    if (err == BALE_E_BUSY)
        return bale_lock_report_taken(path, -1, &other, why);
    return err ? bale_store_fail_errno(why, path, "", "locked") : 0;
}

static int make_store(const char *path, const json_t *volume, struct bale_reason *why)
{
    bool made = mkdir(path, 0755) == 0;
    int root = -1;
    int locked = -1;
    int err;

    if (!made && errno != EEXIST)
        return bale_store_fail_errno(why, path, "", "made");
    root = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0) {
        err = bale_store_fail_errno(why, path, "", "opened");
        goto out;
    }
    err = lock_root(path, root, &locked, why);
    if (err)
        goto out;
    err = check_empty(path, root, why);
    if (err)
        goto out;
    err = bale_store_check_case(path, root, why);
    if (err)
        goto out;
    err = make_balefs(path, root, volume, why);
    if (!err && sync_parent(root) < 0)
        err = bale_store_fail_errno(why, path, "", "synced");
out:
    if (locked >= 0)
        close(locked);
    if (root >= 0)
        close(root);
    if (err && made)
        rmdir(path);
    return err;
}

int bale_store_init(const char *path, const struct bale_store_config *config,
                    struct bale_reason *why)
{
    struct bale_store_config own = *config;
    json_t *volume;
    char *real = absolute_path(path);
    int err;

    if (!real && errno == ENOENT && path[0])
        return bale_store_fail(
            why, BALE_E_NOENT,
            "%s: cannot be made: the directory that it is to be in does not exist: make that "
            "first, or check the path",
            path);
    if (!real)
        return bale_store_fail_errno(why, path, "", "made");
    own.modes_in_container |= geteuid() != 0;
    err = check_location(real, why);
    if (err)
        goto out;
    err = bale_config_new(&own, real, &volume, why);
    if (err)
        goto out;
    err = make_store(real, volume, why);
    json_decref(volume);
out:
    free(real);
    return err;
}

int bale_store_init_missing(const char *path, struct bale_reason *why)
{
    const struct bale_store_config config = {
        .setting = {.codec = BALE_CODEC_AUTO},
        .extent = BALE_EXTENT_DEFAULT,
    };
    char inside[PATH_MAX];
    struct stat st;

    snprintf(inside, sizeof inside, "%s/" BALE_STORE_DIR, path);
    return lstat(inside, &st) == 0 ? BALE_OK : bale_store_init(path, &config, why);
}

/* ---- Closing --------------------------------------------------------------------------------- */

static int shut(struct bale_store *store, struct bale_reason *why)
{
    int root = openat(store->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (root < 0)
        return bale_store_fail_errno(why, store->path, "", "read");
    int err = fchmod(store->dir_fd, 0711) < 0 ? bale_err_from_errno(errno)
                                              : bale_top_close(root, store->dir_fd);
    if (err)
        err = bale_store_fail_errno(why, store->path, "", "closed to others");
    close(root);
    return err;
}

int bale_store_shut(const char *path, struct bale_reason *why)
{
    struct bale_store *store;
    int err = bale_store_open(path, BALE_STORE_WRITE, &store, why);

    if (err)
        return err;
    err = shut(store, why);
    int closed = bale_store_close(store, true, NULL);
    if (!err && closed)
        err = bale_store_fail(why, closed, "%s: cannot be closed to others: %s", path,
                              bale_err_text(closed));
    return err;
}
