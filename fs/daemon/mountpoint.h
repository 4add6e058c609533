/* The mount point: a directory; or /dev/fd/N, an open /dev/fuse with which another program has
 * mounted and which it passes on, as container runtimes and mount.fuse3(8) do. */
#ifndef BALE_FS_DAEMON_MOUNTPOINT_H
#define BALE_FS_DAEMON_MOUNTPOINT_H

#include <stdbool.h>

#include "format/reason.h"

/* Checks what the user gave. *mountpoint, which the caller frees, is the absolute path of the
 * directory; or /dev/fd/N, and then the descriptor has been made fit for the session: reads from
 * it block, and programs started here do not inherit it. unmounts: the name of an option with
 * which this process is to unmount, or NULL. 0 or a negative bale_err, and usually why. */
int bale_mountpoint_find(const char *given, const char *unmounts, char **mountpoint,
                         struct bale_reason *why);

/* Whether the mount point is /dev/fd/N. */
bool bale_mountpoint_is_passed(const char *mountpoint);

/* Once requests are handled: has the kernel ask for the attributes of the mount's root. Until then
 * it takes root for its owner, and refuses a chmod by the true one. Does nothing for /dev/fd/N. */
void bale_mountpoint_show(const char *mountpoint);

#endif
