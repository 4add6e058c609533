/* The requests that are being handled, and giving up one whose handler stalls in a call on the
 * store.
 *
 * The caller gets EINTR at once, and the handler goes on: its own reply fails as one whose caller
 * is gone, and is undone by the handler. Until then the directories and files that the request
 * changes are locked: requests that name something in them, or change them, are held back, as the
 * kernel itself would have held them back while the caller waited. So what the handler does late
 * never meets a name that was made again, or data that was written later. Then the kernel is told
 * that it no longer knows these names, or what these files contain.
 *
 * A request is in flight on the thread of its handler. If it goes on after its handler, it is
 * detached from that thread: what it uses then, it holds itself. */
#ifndef BALE_FS_FUSE_IN_FLIGHT_H
#define BALE_FS_FUSE_IN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/fuse/mount.h"
#include "fs/fuse/queued.h"

/* Called with a request that was held back, which it then owns, to be dispatched again. On any
 * thread, without locks; must not wait. */
typedef void bale_in_flight_resume(void *arg, struct bale_queued *queued);

struct bale_in_flight;
/* mount->session must be set before the first request. The volume may end before this. */
int bale_in_flight_create(struct bale_mount *mount, struct bale_in_flight **out);
/* Before the first request. */
void bale_in_flight_start(struct bale_in_flight *in_flight, bale_in_flight_resume *resume,
                          void *arg);
/* When no handler runs any more: forgets what is held back, and resume is not called from then on.
 * Requests that were detached may still end. */
void bale_in_flight_stop(struct bale_in_flight *in_flight);
void bale_in_flight_destroy(struct bale_in_flight *in_flight); /* NULL is fine */

/* Around all requests of a thread. enter: 0 or BALE_E_NOMEM. */
int bale_in_flight_enter(struct bale_in_flight *in_flight);
void bale_in_flight_leave(struct bale_in_flight *in_flight);
/* Around the handler of one request, on a thread that has entered. end returns whether the request
 * was given up in it. */
void bale_in_flight_begin(const void *request, size_t size);
bool bale_in_flight_end(struct bale_in_flight *in_flight, const void *request);
/* The kernel does not know whether a request that was given up was done: tells it to forget the
 * names, which waits for the kernel's locks of the directories, or, without waiting, what it knows
 * of the file. */
void bale_in_flight_tell_kernel(struct bale_in_flight *in_flight, const void *request, size_t size);

/* In a handler: the request goes on after it, until complete is called, by any thread, after the
 * reply. NULL: no memory, or the thread has not entered; then it is in flight until the handler
 * returns. */
struct bale_request *bale_in_flight_detach(struct bale_in_flight *in_flight);
/* Whether it was given up: then nothing of what is not done yet should be done. NULL is fine. */
bool bale_in_flight_is_given_up(const struct bale_request *request);
/* If it was given up, the kernel is then told to forget the names, or what it knows of the file,
 * without waiting for it. */
void bale_in_flight_complete(struct bale_in_flight *in_flight,
                             struct bale_request *request); /* NULL is fine */

/* True: the request names or changes something that is locked, and was copied. */
bool bale_in_flight_hold_back(struct bale_in_flight *in_flight, const void *request, size_t size);
/* The number of requests that have been in flight for ms or longer, and of those that are held
 * back; *longest_ms: since when the first of them has been in flight, or 0. */
uint64_t bale_in_flight_stalled(struct bale_in_flight *in_flight, uint64_t ms,
                                uint64_t *longest_ms);
/* A value that changes when any thread begins or ends a request. */
uint64_t bale_in_flight_progress(struct bale_in_flight *in_flight);

/* Whether the request is in flight or held back; *pid: its caller. */
bool bale_in_flight_find(struct bale_in_flight *in_flight, uint64_t unique, uint32_t *pid);
/* Forgets a request that is held back, or gives up one that is in flight. False: it is neither, or
 * cannot be given up. The caller of this function answers it. */
bool bale_in_flight_give_up(struct bale_in_flight *in_flight, uint64_t unique);

#endif
