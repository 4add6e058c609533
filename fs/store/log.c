/* Files of a daemon's log, in the store or in a directory of the user. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

#define NAME_SIZE 64

int bale_store_log_directory(const struct bale_store *store)
{
    return store->access == BALE_STORE_WRITE ? fcntl(store->dir_fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Whether it is a file that this function has made: others may have put something in its place. */
static bool is_own(int dir, int fd)
{
    struct stat owner, st;

    return fstat(dir, &owner) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 1 &&
           (st.st_uid == geteuid() || st.st_uid == owner.st_uid);
}

int bale_store_log_open(int dir, const char *name, bool renew, int *fd)
{
    char old[NAME_SIZE];
    int err;

    snprintf(old, sizeof old, "%s.1", name);
    if (renew)
        (void)renameat(dir, name, dir, old);
    err = bale_store_file_open(dir, name, O_WRONLY | O_APPEND, fd);
    if (err == 0 && is_own(dir, *fd)) {
        (void)fchmod(*fd, 0600);
        return 0;
    }
    if (err == 0)
        close(*fd);
    if (err != BALE_E_NOENT)
        (void)unlinkat(dir, name, 0);
    err = bale_store_file_create(dir, name, fd);
    if (err == 0 && fcntl(*fd, F_SETFL, O_APPEND) < 0) {
        err = bale_err_from_errno(errno);
        close(*fd);
        *fd = -1;
    }
    return err;
}
