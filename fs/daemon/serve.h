/* Serving a mount in this process. */
#ifndef BALE_FS_DAEMON_SERVE_H
#define BALE_FS_DAEMON_SERVE_H

#include "format/reason.h"
#include "fs/daemon/daemon.h"

/* As bale_daemon_run in the foreground. ready is called once, when the mount answers. */
int bale_daemon_serve(const struct bale_mount_options *options, struct bale_reason *why,
                      void (*ready)(void *arg), void *arg);

#endif
