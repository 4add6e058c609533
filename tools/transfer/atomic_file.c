#include "tools/transfer/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void name_it(struct bale_fresh *fresh)
{
    static atomic_uint last;

    snprintf(fresh->temporary, sizeof fresh->temporary, ".balefs-new.%ld.%u", (long)getpid(),
             atomic_fetch_add(&last, 1));
}

int bale_fresh_open(struct bale_fresh *fresh, int dir)
{
    *fresh = (struct bale_fresh){.dir = dir};
    fresh->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fresh->fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fresh->fd < 0 ? errno : 0;
    do {
        name_it(fresh);
        fresh->fd = openat(dir, fresh->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    } while (fresh->fd < 0 && errno == EEXIST);
    if (fresh->fd < 0)
        fresh->temporary[0] = '\0';
    return fresh->fd < 0 ? errno : 0;
}

int bale_fresh_publish(struct bale_fresh *fresh, const char *name)
{
    char path[40];

    if (!fresh->temporary[0]) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fresh->fd);
        if (linkat(AT_FDCWD, path, fresh->dir, name, AT_SYMLINK_FOLLOW) == 0)
            return 0;
        if (errno != EEXIST)
            return errno;
        do {
            name_it(fresh);
        } while (linkat(AT_FDCWD, path, fresh->dir, fresh->temporary, AT_SYMLINK_FOLLOW) != 0 &&
                 errno == EEXIST);
    }
    if (renameat(fresh->dir, fresh->temporary, fresh->dir, name) != 0)
        return errno;
    fresh->temporary[0] = '\0';
    return 0;
}

void bale_fresh_close(struct bale_fresh *fresh)
{
    if (fresh->temporary[0])
        unlinkat(fresh->dir, fresh->temporary, 0);
    if (fresh->fd >= 0)
        close(fresh->fd);
    fresh->fd = -1;
}
