/* auto_unmount: a process that outlives the daemon, and unmounts what a killed one leaves. */
#ifndef BALE_FS_DAEMON_WATCHER_H
#define BALE_FS_DAEMON_WATCHER_H

#include <stdbool.h>
#include <stdint.h>

/* What tells a mount from those before and after it at its place. */
struct bale_mount_identity {
    uint64_t id;     /* as statx says it */
    uint64_t device; /* 0: it cannot be said */
    bool unique;     /* id is never given to another mount (Linux 6.8) */
};

/* Of the mount on which fd, which may be O_PATH, or, if fd is AT_FDCWD, path lies. Asks no
 * daemon. */
struct bale_mount_identity bale_mount_identify(int fd, const char *path);

/* Starts the watcher of this process, which has no threads yet. It is told by *fd, to be kept open
 * until the end, of no use to others. 0 or a negative bale_err. */
int bale_watcher_start(const char *mountpoint, int *fd);

/* There is something to watch: the topmost mount at the mount point, by this process. */
void bale_watcher_report_mount(int fd, const char *mountpoint, struct bale_mount_identity *mount);

/* The connection has ended: if the mount is gone from its place too, so is the watcher. */
void bale_watcher_report_end(int fd, const char *mountpoint,
                             const struct bale_mount_identity *mount);

#endif
