/* Ending mounts, for the commands that do. */
#ifndef BALE_TOOLS_MOUNT_UMOUNT_H
#define BALE_TOOLS_MOUNT_UMOUNT_H

#include <jansson.h>
#include <stdbool.h>

/* Stores everything, unmounts, waits for the daemons' ends. The working directory becomes "/". Says
 * what is wrong. Returns the worst exit code, of umount(8). */
int bale_umount_all(int count, char **paths, bool force, bool lazy);

/* What the daemon that last had the store said at its end (FORMAT.md 2); NULL: nothing. */
json_t *bale_umount_result(const char *store);

#endif
