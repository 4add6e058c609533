/* auto_unmount: a process that outlives the daemon, and unmounts what a killed daemon leaves. */
#ifndef BALE_FS_DAEMON_WATCHER_H
#define BALE_FS_DAEMON_WATCHER_H

#include "fs/daemon/unmount.h"

/* Starts the watcher of this process, which has no threads yet. *fd is the pipe to it: keep it open
 * until the end, for the functions below only. When it closes, the watcher unmounts what was
 * reported to it. 0 or a negative bale_err. */
int bale_watcher_start(const char *mountpoint, int *fd);

/* Reports the topmost mount at the mount point, made by this process; it is also returned in
 * *mount. */
void bale_watcher_report_mount(int fd, const char *mountpoint, struct bale_mount_identity *mount);

/* The connection with the kernel has ended: ends the watcher, if the mount is gone from its path
 * too. */
void bale_watcher_report_end(int fd, const char *mountpoint,
                             const struct bale_mount_identity *mount);

#endif
