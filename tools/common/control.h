/* Requests to the daemon of a mount (fs/daemon/control.h). */
#ifndef BALE_TOOLS_COMMON_CONTROL_H
#define BALE_TOOLS_COMMON_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/daemon/control.h"

/* Opens the root of the mount that path lies in, for BALE_IOC_*. The caller closes *fd. 0 or a
 * negative bale_err, after a message. */
int bale_control_open(const char *path, int *fd);

/* Requests the status of the mount whose root is fd. Prints nothing. False with errno: it is not a
 * balefs mount, or this user may not ask: only root and the owner of the mount may. */
bool bale_control_status(int fd, struct bale_control_status *status);

/* The same for the mount at mnt, which is open only during the call. */
bool bale_control_status_at(const char *mnt, struct bale_control_status *status);

/* The same for the mount that path lies in by its name alone: the path is not opened, so the call
 * does not wait for a frozen mount. */
bool bale_control_status_by_name(const char *path, struct bale_control_status *status);

/* Warns if extents of this size cannot be written in the mount. memory: the memory cap of the
 * mount, or 0 if no mount is known. */
void bale_control_warn_extent(const char *path, uint32_t extent, uint64_t memory);

#endif
