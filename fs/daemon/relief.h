/* Keeps a mount answering while the handlers of requests stall in calls on the store: a thread that
 * never makes such a call itself. It reads requests when all session threads are stuck, gives up
 * requests whose callers are being killed, and has users take turns when one floods the mount. */
#ifndef BALE_FS_DAEMON_RELIEF_H
#define BALE_FS_DAEMON_RELIEF_H

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/daemon/lanes.h"
#include "fs/fuse/in_flight.h"

/* Called without locks. */
struct bale_relief_ops {
    /* On the relief's thread: reads one request and passes it on, without making any call that may
     * stall. False: the connection is gone. */
    bool (*receive)(void *arg);
    /* On any thread: answers the request with an errno. */
    void (*answer)(void *arg, uint64_t unique, int e);
};

struct bale_relief;
/* fd: /dev/fuse. lanes and in_flight must outlive it. 0 or BALE_E_NOMEM. */
int bale_relief_create(int fd, struct bale_lanes *lanes, struct bale_in_flight *in_flight,
                       const struct bale_relief_ops *ops, void *arg, struct bale_relief **relief);
/* Starts and ends the thread; wake is a signal that interrupts read(). 0 or BALE_E_NOMEM. */
int bale_relief_start(struct bale_relief *relief);
void bale_relief_stop(struct bale_relief *relief, int wake);
void bale_relief_destroy(struct bale_relief *relief); /* NULL is fine */

/* Around read() on a session thread. */
void bale_relief_read_begin(struct bale_relief *relief);
void bale_relief_read_end(struct bale_relief *relief);

/* On a session thread, for each request that was read. True: requests of several users wait for the
 * session threads, so this one is to go through the lanes if its handler takes time. */
bool bale_relief_is_crowded(struct bale_relief *relief, const struct fuse_in_header *in);

/* The kernel interrupts a request. If that waits for a thread, or its handler runs, and its caller
 * is being killed, the caller is answered at once; the kernel interrupts only once, so others are
 * looked at again until they have ended. */
void bale_relief_interrupt(struct bale_relief *relief, uint64_t unique);

#endif
