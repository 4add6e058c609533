/* Taking a mount out of the tree. */
#ifndef BALE_TOOLS_MOUNT_UNMOUNT_H
#define BALE_TOOLS_MOUNT_UNMOUNT_H

#include <stdbool.h>

/* Exit codes of mount(8) and umount(8). */
enum { BALE_EXIT_UNMOUNT_USAGE = 1, BALE_EXIT_UNMOUNT_SYSTEM = 2, BALE_EXIT_UNMOUNT_FAILED = 32 };

/* As root, and in a user namespace of its own, with umount2, else with fusermount3. Says why not, and who uses a busy mount. Returns the
 * exit code. */
int bale_unmount(const char *point, bool lazy);

#endif
