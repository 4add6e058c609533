/* Serving a mount in this process. */
#ifndef BALE_FS_FUSE_SERVE_H
#define BALE_FS_FUSE_SERVE_H

#include "fs/fuse/daemon.h"

/* As bale_daemon_run in the foreground. ready is called once, when the mount answers. */
int bale_daemon_serve(const struct bale_mount_options *options, char *why, void (*ready)(void *arg),
                      void *arg);

#endif
