#include "fs/base/sync.h"

#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define GONE " (deleted)"

/* Whether the name that the descriptor was opened by is gone, or never was (O_TMPFILE), so that the
 * file may have another one. Also true if the name only ends as that of a removed file does, or if
 * the name cannot be read. */
static bool has_other_name(int fd)
{
    char link[32], name[PATH_MAX];
    struct stat st;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name);
    bool gone = length < 0 || ((size_t)length >= strlen(GONE) &&
                               memcmp(name + length - strlen(GONE), GONE, strlen(GONE)) == 0);
    return gone && fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static bool is_btrfs(int fd)
{
    struct statfs fs;

    return fstatfs(fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
}

/* For a file with one name, the fsync of btrfs also makes new directories durable, but only those
 * above the name that the descriptor was opened by. Where that is not the file's name any more, the
 * file can be lost together with a new directory that it is in (seen on Linux 6.18). */
int bale_sync_file(int fd)
{
    if (fsync(fd) != 0)
        return -1;
    return has_other_name(fd) && is_btrfs(fd) ? syncfs(fd) : 0;
}
