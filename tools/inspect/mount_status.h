/* The state of a mount, as its daemon reports it, and how that is printed. */
#ifndef BALE_TOOLS_INSPECT_MOUNT_STATUS_H
#define BALE_TOOLS_INSPECT_MOUNT_STATUS_H

#include <stdbool.h>

#include <jansson.h>

#include "tools/common/control.h"

/* Asks the daemon of the mount at path, a mount point, which may be a symbolic link to it. Reads no
 * directory, so that this does not wait for the store. False with errno: path is not the mount
 * point of a balefs, or its daemon does not answer (EPERM: not this user). */
bool bale_mount_status_get(const char *path, struct bale_control_status *status);

json_t *bale_mount_status_json(const struct bale_control_status *status);
void bale_mount_status_print(const struct bale_control_status *status);

#endif
