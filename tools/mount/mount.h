/* Mounting a store, for the commands that do. */
#ifndef BALE_TOOLS_MOUNT_MOUNT_H
#define BALE_TOOLS_MOUNT_MOUNT_H

#include "fs/daemon/daemon.h"

/* Takes a dead mount away first, and refuses a place where a live one is. log: a file for the
 * daemon's log, or NULL; sets options->log. Says what is wrong. Returns the exit code of mount(8). */
int bale_mount_store(struct bale_mount_options *options, const char *log);

#endif
