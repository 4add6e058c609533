/* Making the store's own files again when all that says what it is was lost. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "fs/store/lock_file.h"

int bale_store_check_volume(const char *path, struct bale_reason *why)
{
    struct bale_store *store = bale_store_new(BALE_STORE_UNLOCKED);
    int err;

    if (!store)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    err = bale_store_open_root(store, path, why);
    if (!err)
        err = bale_store_open_own(store, why);
    if (!err)
        err = bale_config_read(store, why);
    if (err == BALE_E_NOENT && store->root_fd >= 0) /* .balefs itself is lost */
        err = BALE_E_CORRUPT;
    bale_store_free(store);
    return err;
}

/* As the store's owner sees it: root may repair the store of a user. */
static int make_directory(const struct bale_store *store, struct bale_reason *why)
{
    struct stat st;
    int root = openat(store->root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int err = 0;

    if (root < 0)
        return bale_store_fail_errno(why, store->path, "", "opened");
    if (mkdirat(root, BALE_STORE_DIR, 0711) == 0) {
        if (fstat(root, &st) < 0 ||
            (geteuid() == 0 &&
             fchownat(root, BALE_STORE_DIR, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
             errno != EPERM && errno != EINVAL) ||
            bale_sync_directory(root) < 0)
            err = bale_store_fail_errno(why, store->path, BALE_STORE_DIR, "made");
    } else if (errno != EEXIST) {
        err = bale_store_fail_errno(why, store->path, BALE_STORE_DIR, "made");
    }
    close(root);
    return err;
}

int bale_store_remake(const char *path, const struct bale_store_config *config,
                      struct bale_reason *why)
{
    struct bale_store *store = bale_store_new(BALE_STORE_REPAIR);
    int err;

    if (!store)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    err = bale_store_open_root(store, path, why);
    if (!err)
        err = bale_lock_begin(store, why);
    /* If .balefs was just removed, a new one's lock would not tell that another host has the store
     * mounted. */
    if (!err && !bale_lock_is_certain(store))
        bale_lock_await(store->root_fd, BALE_STORE_DIR "/" BALE_LOCK);
    if (!err)
        err = make_directory(store, why);
    if (!err)
        err = bale_store_open_own(store, why);
    if (!err)
        err = bale_lock_take(store, why);
    /* The lock's holder until now may have made it. */
    if (!err && bale_config_read(store, NULL) != 0)
        err = bale_config_remake(store, config, why);
    bale_store_free(store);
    return err;
}
