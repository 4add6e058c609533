/* Requests whose handlers may stall in a call on the store, or that came in a crowd, in a lane for
 * each user and kind: what one user's requests wait for delays only that user's, and changes that
 * stall delay no reads. Threads are made on demand. */
#ifndef BALE_FS_DAEMON_LANES_H
#define BALE_FS_DAEMON_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/base/memory.h"
#include "fs/fuse/queued.h"

/* Called on the threads of the lanes, without locks. */
struct bale_lanes_ops {
    void (*begin)(void *arg); /* a thread begins, before its first request */
    void (*handle)(void *arg, void *request, size_t size);
    void (*end)(void *arg);
};

struct bale_lanes;
int bale_lanes_create(struct bale_memory *memory, const struct bale_lanes_ops *ops, void *arg,
                      struct bale_lanes **lanes); /* 0 or BALE_E_NOMEM */
/* Takes over queued. False: there is no memory or no thread for it, or the lanes stop; it is gone,
 * and nothing answers it. */
bool bale_lanes_submit(struct bale_lanes *lanes, struct bale_queued *queued);
/* Whether a request waits in a lane. */
bool bale_lanes_have_waiting(struct bale_lanes *lanes);
/* Whether the request waits in a lane; *pid: its caller. */
bool bale_lanes_find(struct bale_lanes *lanes, uint64_t unique, uint32_t *pid);
/* Takes a request that waits out of its lane; nothing answers it. False: it does not wait. */
bool bale_lanes_drop(struct bale_lanes *lanes, uint64_t unique);
/* Drops what waits, and waits until the threads have ended. */
void bale_lanes_stop(struct bale_lanes *lanes);
void bale_lanes_destroy(struct bale_lanes *lanes); /* after stop; NULL is fine */

#endif
