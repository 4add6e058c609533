/* Talking to a mount's daemon (fs/daemon/control.h). */
#ifndef BALE_TOOLS_COMMON_CONTROL_H
#define BALE_TOOLS_COMMON_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/daemon/control.h"

/* Opens the root of the mount that holds path, for BALE_IOC_*. *fd: to be closed. Says what is
 * wrong with bale_message. 0 or a negative bale_err. */
int bale_control_open(const char *path, int *fd);

/* Asks fd, the root of a mount, for its status; says nothing. False and errno: it is none of ours,
 * or not ours to ask: only root and the mount's owner may. */
bool bale_control_status(int fd, struct bale_control_status *status);

/* The same of the mount at mnt, which is open no longer than that. */
bool bale_control_status_at(const char *mnt, struct bale_control_status *status);

/* The same of the mount that path lies in by its name, so that nothing is waited for. */
bool bale_control_status_by_name(const char *path, struct bale_control_status *status);

/* Warns, if extents so large cannot be written in the mount: memory is its cap, or 0 where no mount
 * is known. */
void bale_control_warn_extent(const char *path, uint32_t extent, uint64_t memory);

#endif
