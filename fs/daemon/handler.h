/* What is done with each request that was read from /dev/fuse. */
#ifndef BALE_FS_DAEMON_HANDLER_H
#define BALE_FS_DAEMON_HANDLER_H

#include <stdatomic.h>

#include "fs/daemon/lanes.h"
#include "fs/daemon/relief.h"
#include "fs/fuse/mount.h"

/* Nothing but used changes while requests are handled. All belongs to the session. */
struct bale_handler {
    struct bale_mount *mount;
    struct fuse_session *fuse;
    int fd; /* /dev/fuse */
    struct bale_lanes *lanes;
    struct bale_relief *relief;
    atomic_bool used; /* a request came that some program has caused */
};

/* Replies to a request that libfuse has not seen. error: 0 or a positive errno. */
void bale_handler_reply(const struct bale_handler *handler, uint64_t unique, int error);
/* Hands a request that may go on now to libfuse. Also the callback of the freezer: see
 * fs/fuse/freeze.h. arg: a struct bale_handler. */
void bale_handler_handle(void *arg, void *request, size_t size);
/* Handles a request on this thread, unless it is frozen or held back; it may stall with the store.
 * request: size bytes, the caller's again when this returns. */
void bale_handler_dispatch(struct bale_handler *handler, void *request, size_t size);
/* bale_in_flight_resume: hands it to the lanes. arg: a struct bale_handler. */
void bale_handler_resume(void *arg, struct bale_queued *queued);
/* The same while the store stalls, or in a crowd: on this thread only if the store is asked for
 * nothing, otherwise a copy goes to the lanes. */
void bale_handler_relay(struct bale_handler *handler, void *request, size_t size);

#endif
