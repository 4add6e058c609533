#include "tools/transfer/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/store/platform.h"

static void name_it(struct bale_atomic_file *file)
{
    static atomic_uint last;

    snprintf(file->temporary, sizeof file->temporary, ".balefs-new.%ld.%u", (long)getpid(),
             atomic_fetch_add(&last, 1));
}

int bale_atomic_file_open(struct bale_atomic_file *file, int dir)
{
    *file = (struct bale_atomic_file){.dir = dir, .fd = -1};
    errno = EOPNOTSUPP;
    if (bale_platform_keeps_tmpfile(dir))
        file->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return file->fd < 0 ? errno : 0;
    do {
        name_it(file);
        file->fd = openat(dir, file->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    } while (file->fd < 0 && errno == EEXIST);
    if (file->fd < 0)
        file->temporary[0] = '\0';
    return file->fd < 0 ? errno : 0;
}

int bale_atomic_file_publish(struct bale_atomic_file *file, const char *name)
{
    char path[40];

    if (!file->temporary[0]) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
        if (linkat(AT_FDCWD, path, file->dir, name, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            return errno;
        do {
            name_it(file);
        } while (linkat(AT_FDCWD, path, file->dir, file->temporary, AT_SYMLINK_FOLLOW) != 0 &&
                 errno == EEXIST);
    }
    if (renameat(file->dir, file->temporary, file->dir, name) != 0)
        return errno;
    file->temporary[0] = '\0';
    return 0;
}

void bale_atomic_file_close(struct bale_atomic_file *file)
{
    if (file->temporary[0])
        unlinkat(file->dir, file->temporary, 0);
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
