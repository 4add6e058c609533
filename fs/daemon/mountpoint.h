/* A mount made by somebody else, who hands over the open /dev/fuse: /dev/fd/N as mount point, as a
 * container's runtime and mount.fuse3(8) do it. */
#ifndef BALE_FS_DAEMON_MOUNTPOINT_H
#define BALE_FS_DAEMON_MOUNTPOINT_H

#include <stdbool.h>

#include "format/reason.h"

/* mountpoint is /dev/fd/N. */
bool bale_passed_fd_is_path(const char *mountpoint);

/* Makes such a descriptor fit for the session: it blocks, and no program we start has it. 0 or a
 * negative bale_err, and why: nothing is mounted with it. */
int bale_passed_fd_prepare(const char *mountpoint, struct bale_reason *why);

#endif
