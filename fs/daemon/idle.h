/* Unmounting a mount that nobody uses (-o idle). Only the daemon's main thread calls these. */
#ifndef BALE_FS_DAEMON_IDLE_H
#define BALE_FS_DAEMON_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/daemon/session.h"
#include "fs/fuse/mount.h"

struct bale_idle {
    struct bale_mount *mount;
    struct bale_session *session;
    const char *mountpoint;
    uint64_t device;   /* st_dev of the mount */
    uint64_t limit_ns; /* 0: it may stay unused for ever */
    uint64_t since;    /* by bale_clock_ns: no request was seen after it */
    bool marked;       /* the kernel has been asked to watch for uses that send no request */
};

/* What idle points to must outlive it. */
void bale_idle_begin(struct bale_idle *idle, struct bale_mount *mount, struct bale_session *session,
                     const char *mountpoint, unsigned seconds);
/* How long to wait before the next bale_idle_look, for poll. */
int bale_idle_pause_ms(const struct bale_idle *idle);
/* Unmounts if nobody has used the mount for so long, and no program uses it: has a file of it open
 * or works in it. If it is in use, or frozen, the time begins again. Must run beside threads that
 * handle requests. */
void bale_idle_look(struct bale_idle *idle);

#endif
