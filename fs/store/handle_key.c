/* handles: the key of the mounts' file handles. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

#define HANDLES "handles"
#define HANDLES_NEW "handles.new"

static int read_key(int dir, uint8_t *key, size_t size)
{
    struct stat st;
    int fd;
    int err = BALE_OK;

    if (bale_store_file_open(dir, HANDLES, O_RDONLY, &fd) < 0)
        return bale_err_from_errno(errno);
    if (fstat(fd, &st) != 0)
        err = bale_err_from_errno(errno);
    else if (st.st_uid != 0 || st.st_mode & 077 || st.st_nlink != 1)
        err = BALE_E_PERM;
    else if ((size_t)st.st_size != size || pread(fd, key, size, 0) != (ssize_t)size)
        err = BALE_E_CORRUPT;
    close(fd);
    return err;
}

static int make_key(int dir, uint8_t *key, size_t size)
{
    int fd;

    if (getrandom(key, size, 0) != (ssize_t)size ||
        (unlinkat(dir, HANDLES_NEW, 0) != 0 && errno != ENOENT) ||
        bale_store_file_create(dir, HANDLES_NEW, &fd) < 0)
        return bale_err_from_errno(errno);
    bool made = pwrite(fd, key, size, 0) == (ssize_t)size && fsync(fd) == 0 &&
                renameat(dir, HANDLES_NEW, dir, HANDLES) == 0 && bale_sync_directory(dir) == 0;
    int e = errno;
    close(fd);
    if (!made)
        (void)unlinkat(dir, HANDLES_NEW, 0);
    return made ? BALE_OK : bale_err_from_errno(e);
}

int bale_store_handle_key(struct bale_store *store, uint8_t *key, size_t size)
{
    struct stat st;

    if (geteuid() != 0 || fstat(store->root_fd, &st) != 0 || st.st_uid != 0)
        return BALE_E_PERM;
    int err = read_key(store->dir_fd, key, size);
    return err == BALE_OK || store->access != BALE_STORE_WRITE ? err
                                                               : make_key(store->dir_fd, key, size);
}
