/* The names by which mount(8) and umount(8) call the program. */
#ifndef BALE_TOOLS_MOUNT_HELPER_NAME_H
#define BALE_TOOLS_MOUNT_HELPER_NAME_H

#include <stdbool.h>

/* The name without its directory. */
const char *bale_mount_helper_name(const char *program);
/* True if the program was called by a name of bale_mount_helper. */
bool bale_is_mount_helper(const char *program);

#endif
