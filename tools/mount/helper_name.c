#include "tools/mount/helper_name.h"

#include <string.h>

const char *bale_mount_helper_name(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

bool bale_is_mount_helper(const char *program)
{
    const char *name = bale_mount_helper_name(program);

    return strcmp(name, "mount.balefs") == 0 || strcmp(name, "mount.fuse.balefs") == 0 ||
           strcmp(name, "umount.fuse.balefs") == 0;
}
