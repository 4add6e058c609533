/* Closing an open store to others. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

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
