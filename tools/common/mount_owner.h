/* Who owns a mount. */
#ifndef BALE_TOOLS_COMMON_MOUNT_OWNER_H
#define BALE_TOOLS_COMMON_MOUNT_OWNER_H

#include <stdbool.h>

#include "tools/common/mounts.h"

/* "root", or "1000" if there is no name. Valid until the next call. */
const char *bale_owner_name(const struct bale_mount_line *mount);

/* Without allow_other, the kernel keeps everybody but the owner out of a mount, even root. If path
 * lies in such a mount, prints a message and returns true. */
bool bale_owner_keeps_out(const char *path);

#endif
