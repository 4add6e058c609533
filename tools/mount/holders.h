/* Who keeps a file system mounted in other mount namespaces. */
#ifndef BALE_TOOLS_MOUNT_HOLDERS_H
#define BALE_TOOLS_MOUNT_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tools/common/mounts.h"

/* Lists a process of each other namespace that sees the mount's file system: "sleep (12), bash
 * (34)", as far as this user may see them. Leaves out the process except and those in its
 * namespace. False: there is none. */
bool bale_holders(const struct bale_mount_line *mount, pid_t except, char *text, size_t size);

#endif
