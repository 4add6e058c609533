/* The daemon that serves a mount, from its start to its end: what start.c, daemon.c and end.c
 * share. Only the main thread uses it. */
#ifndef BALE_FS_DAEMON_STATE_H
#define BALE_FS_DAEMON_STATE_H

#include "fs/cache/volume.h"
#include "fs/daemon/daemon.h"
#include "fs/daemon/session.h"
#include "fs/daemon/signals.h"
#include "fs/daemon/trust.h"
#include "fs/daemon/unmount.h"
#include "fs/fuse/mount.h"

struct bale_daemon {
    const struct bale_mount_options *options;
    char *mountpoint; /* absolute; or /dev/fd/N */
    struct bale_mount mount;
    struct bale_trust trust;
    struct bale_session *session;
    int store_fd; /* the store's directory, open for reading; or -1 */
    struct bale_daemon_signals signals;
    int watcher;                         /* the pipe to it, or -1 */
    struct bale_mount_identity identity; /* of the mount that was reported to the watcher */
    struct bale_volume_stats last;       /* when everything is stored */
    struct bale_volume_lost lost;        /* likewise */
    struct bale_reason *why;
};

/* Makes the mount usable. On failure what was made stays for bale_daemon_end, and why may say what
 * happened. */
int bale_daemon_start(struct bale_daemon *daemon);

/* Returns when the file system is gone, or has been asked to end and is detached. */
void bale_daemon_wait(struct bale_daemon *daemon);
/* Undoes what bale_daemon_start did, as far as it came. served: the mount has answered requests. 0,
 * or a negative bale_err: not everything is stored. */
int bale_daemon_end(struct bale_daemon *daemon, bool served);

#endif
