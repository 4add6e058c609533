/* Freezing a mount: requests that change the store are kept back until the thaw, except those that
 * only make a name. (The volume keeps back the data that is written meanwhile:
 * fs/cache/volume.h.) */
#ifndef BALE_FS_FUSE_FREEZE_H
#define BALE_FS_FUSE_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/base/memory.h"

struct bale_freezer;

int bale_freezer_create(struct bale_memory *memory, struct bale_freezer **freezer);
void bale_freezer_destroy(struct bale_freezer *freezer); /* NULL is fine */

/* Handles a request that was kept back, as if it came from the kernel now. In the thread that calls
 * bale_freezer_thaw, without locks. request belongs to the freezer, until the callback returns. */
typedef void bale_freezer_handle(void *arg, void *request, size_t size);
/* The daemon's session sets it, before the first freeze. */
void bale_freezer_set_handler(struct bale_freezer *freezer, bale_freezer_handle *handle, void *arg);

/* Whether a request, as read from the kernel, changes the store. RELEASE does: closing a container
 * may trim it. */
bool bale_freezer_is_change(const void *request, size_t size);

/* A request as read from the kernel. True: handle it now, and call request_end in the same thread
 * after its handler has returned. False: a copy is kept back until the thaw. */
bool bale_freezer_request_begin(struct bale_freezer *freezer, const void *request, size_t size);
void bale_freezer_request_end(struct bale_freezer *freezer);
/* Around a change that goes on after its handler has returned; begin is called in the handler, end
 * in any thread. */
void bale_freezer_change_begin(struct bale_freezer *freezer);
void bale_freezer_change_end(struct bale_freezer *freezer);

/* Keeps changes back from now on. quiesced is called once, without locks, when no change is under
 * way any more: before the return, or in the thread that ends the last one. False: the mount is
 * frozen already, and quiesced is not called. */
bool bale_freezer_freeze(struct bale_freezer *freezer, void (*quiesced)(void *arg), void *arg);
bool bale_freezer_is_frozen(struct bale_freezer *freezer);
uint64_t bale_freezer_waiting(struct bale_freezer *freezer); /* how many are kept back */
/* Drops a request that was kept back, so that its program can be killed. False: it is not there. */
bool bale_freezer_drop_request(struct bale_freezer *freezer, uint64_t unique);
/* Handles the requests that were kept back, in the order they came; new requests pass at once. */
void bale_freezer_thaw(struct bale_freezer *freezer);

#endif
