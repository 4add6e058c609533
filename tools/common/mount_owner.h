/* Whose a mount is. */
#ifndef BALE_TOOLS_COMMON_MOUNT_OWNER_H
#define BALE_TOOLS_COMMON_MOUNT_OWNER_H

#include <stdbool.h>

#include "tools/common/mounts.h"

/* "root", or "1000" where there is no name. Valid until the next call. */
const char *bale_owner_name(const struct bale_mount_line *mount);

/* The kernel keeps everybody but the owner out of a mount without allow_other, root too. If path
 * lies in such a mount, says so with bale_message. */
bool bale_owner_keeps_out(const char *path);

#endif
