#include "fs/store/overlap.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/same_inode.h"
#include "fs/store/store.h"

/* Compares the inodes of path and of all directories above it: by path a bind mount would go
 * unnoticed. Ends where a directory may not be opened. */
static bool lies_in(const char *path, const struct stat *other)
{
    struct stat st, above;
    bool found = false;
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    while (fd >= 0 && fstat(fd, &st) == 0) {
        found = bale_same_inode(&st, other);
        int up = found ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = up;
        if (fd >= 0 && fstat(fd, &above) == 0 && bale_same_inode(&st, &above))
            break; /* "/" */
    }
    if (fd >= 0)
        close(fd);
    return found;
}

bool bale_overlap_lies_in(const char *path, const char *directory)
{
    struct stat st;

    return stat(directory, &st) == 0 && lies_in(path, &st);
}

const char *bale_overlap_find(const char *store, const char *directory)
{
    struct stat s, d;

    if (stat(store, &s) != 0 || stat(directory, &d) != 0)
        return NULL;
    return bale_same_inode(&s, &d)  ? "it is the store itself"
           : lies_in(directory, &s) ? "it lies inside the store"
           : lies_in(store, &d)     ? "the store lies inside it"
                                    : NULL;
}

int bale_overlap_check(const char *store, const char *mountpoint, struct bale_reason *why)
{
    const char *what = bale_overlap_find(store, mountpoint);

    if (!what)
        return BALE_OK; /* if it could not be determined, mounting reports the error */
    bale_reason_set(why, "%s: cannot be mounted on: %s (%s): mount somewhere else", mountpoint,
                    what, store);
    return BALE_E_INVALID;
}
