/* Talking to a mount's daemon (fs/control.h). */
#ifndef BALE_TOOLS_CONTROL_H
#define BALE_TOOLS_CONTROL_H

#include <stdbool.h>

#include "fs/control.h"

/* Opens the root of the mount that holds path, for BALE_IOC_*. *fd: to be closed. Says what is
 * wrong with bale_complain. 0 or a negative bale_err. */
int bale_control_open(const char *path, int *fd);

/* Asks fd, the root of a mount, for its status; says nothing. False and errno: it is none of ours,
 * or not ours to ask: only root and the mount's owner may. */
bool bale_control_status(int fd, struct bale_control_status *status);

#endif
