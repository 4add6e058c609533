/* Replacing a file of .balefs, also where no space is left. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/write_all.h"
#include "fs/store/file.h"

#define NAME_SIZE 64
#define PLACE 4096

int bale_sync_directory(int fd)
{
    int rc;

    do
        rc = fsync(fd);
    while (rc != 0 && errno == EINTR);
    if (rc == 0 || errno == EINVAL || errno == ENOTSUP)
        return 0;
    return bale_err_from_errno(errno);
}

void bale_store_file_keep_place(int fd)
{
    struct statfs fs;
    int flags;

    if (fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC &&
        ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
        flags |= FS_NOCOW_FL;
        if (ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0)
            (void)fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, PLACE);
    }
}

/* Opens the file that has the place for the next contents, or makes it. One that is not the
 * directory's owner's alone may be anybody's. */
static int open_new(int dir, const char *name, bool spare, int *fd)
{
    struct stat st, owner;

    if (bale_store_file_open(dir, name, O_RDWR, fd) == 0) {
        if (fstat(*fd, &st) == 0 && fstat(dir, &owner) == 0 && st.st_nlink == 1 &&
            st.st_uid == owner.st_uid)
            return 0;
        close(*fd);
    }
    if ((unlinkat(dir, name, 0) < 0 && errno != ENOENT) ||
        bale_store_file_create(dir, name, fd) < 0)
        return bale_err_from_errno(errno);
    if (spare)
        bale_store_file_keep_place(*fd);
    return 0;
}

/* In place: what a file has is not given up, because it may not be had again. errno is set. */
static bool fill(int fd, const char *text, size_t length)
{
    return bale_write_all(fd, text, length, 0) == 0 && ftruncate(fd, (off_t)length) == 0 &&
           fchmod(fd, 0644) == 0 && fsync(fd) == 0;
}

/* *exchanged: new_name has the old contents now, and otherwise it is gone. errno is set. */
static bool give_name(int dir, const char *new_name, const char *name, bool exchange,
                      bool *exchanged)
{
    *exchanged = exchange && renameat2(dir, new_name, dir, name, RENAME_EXCHANGE) == 0;
    return *exchanged || renameat(dir, new_name, dir, name) == 0;
}

/* The next replacement finds its place in it. Without it, that needs space. */
static void make_spare(int dir, const char *name, const char *text, size_t length)
{
    int fd;

    if (bale_store_file_create(dir, name, &fd) < 0)
        return;
    bale_store_file_keep_place(fd);
    (void)bale_write_all(fd, text, length, 0);
    close(fd);
}

int bale_store_file_replace(int dir, const char *name, const char *text, size_t length, bool spare)
{
    char new_name[NAME_SIZE];
    bool exchanged = false;
    int fd;
    int e;

    snprintf(new_name, sizeof new_name, "%s.new", name);
    if (open_new(dir, new_name, spare, &fd) < 0)
        return bale_err_from_errno(errno);
    if (fill(fd, text, length) && give_name(dir, new_name, name, spare, &exchanged)) {
        close(fd);
        if (spare && !exchanged)
            make_spare(dir, new_name, text, length);
        return bale_sync_directory(dir);
    }
    e = errno;
    close(fd);
    if (!spare)
        unlinkat(dir, new_name, 0);
    errno = e;
    return bale_err_from_errno(e);
}

int bale_store_file_replace_json(int dir, const char *name, const json_t *json, bool spare)
{
    char *text = json_dumps(json, JSON_INDENT(2));
    int err;

    if (!text) {
        errno = ENOMEM;
        return BALE_E_NOMEM;
    }
    err = bale_store_file_replace(dir, name, text, strlen(text), spare);
    free(text);
    return err;
}
