#include "fs/fuse/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "fs/base/open.h"

struct bale_proc_path bale_proc_path(int fd)
{
    struct bale_proc_path path;

    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

int bale_backing_open(const char *path, int flags)
{
    int fd = bale_open_now(path, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? bale_open_now(path, flags) : fd;
}

bool bale_backing_retry(struct bale_mount *mount, int fd)
{
    return fd < 0 && (errno == EMFILE || errno == ENFILE) && bale_nodes_evict(mount->nodes);
}
