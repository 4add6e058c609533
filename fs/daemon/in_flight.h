/* What each thread handles, and giving up a request whose handler stalls in a call on the store.
 *
 * The caller gets EINTR at once, and the handler goes on: its own reply fails as one whose caller is
 * gone, and is undone by the handler. Until then the directories that the request names are locked:
 * requests that name something in them are held back, as the kernel itself would have held them back
 * while the caller waited. So what the handler does late never meets a name that was made again. Then the
 * kernel is told that it no longer knows these names. */
#ifndef BALE_FS_DAEMON_IN_FLIGHT_H
#define BALE_FS_DAEMON_IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/daemon/lanes.h"
#include "fs/fuse/mount.h"

struct bale_in_flight;
/* mount->session must be set before the first request. */
int bale_in_flight_create(struct bale_mount *mount, struct bale_in_flight **out);
void bale_in_flight_destroy(struct bale_in_flight *in_flight); /* NULL is fine */

/* Around all requests of a thread. enter: 0 or BALE_E_NOMEM. */
int bale_in_flight_enter(struct bale_in_flight *in_flight);
void bale_in_flight_leave(struct bale_in_flight *in_flight);
/* Around the handler of one request, on a thread that has entered. end returns whether the request was
 * given up. Then *back is what was held back, linked by next, to be dispatched again. */
void bale_in_flight_begin(const void *request, size_t size);
bool bale_in_flight_end(struct bale_in_flight *in_flight, const void *request,
                        struct bale_queued **back);
/* The kernel does not know whether a request that was given up was done: tells it to forget the names.
 * Call it when *back has been dispatched: it waits for the kernel's locks of the directories, which
 * callers of these requests may have. */
void bale_in_flight_tell_kernel(struct bale_in_flight *in_flight, const void *request, size_t size);

/* True: the request names something in a directory that is locked, and was copied. */
bool bale_in_flight_hold_back(struct bale_in_flight *in_flight, const void *request, size_t size);
/* A value that changes when any thread begins or ends a request. */
uint64_t bale_in_flight_progress(struct bale_in_flight *in_flight);

/* Whether the request is being handled or held back; *pid: its caller. */
bool bale_in_flight_find(struct bale_in_flight *in_flight, uint64_t unique, uint32_t *pid);
/* Forgets a request that is held back, or gives up one that is being handled. False: it is neither, or
 * cannot be given up. The caller of this function answers it. */
bool bale_in_flight_give_up(struct bale_in_flight *in_flight, uint64_t unique);

#endif
