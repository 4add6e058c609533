/* Holding back what would change the store while it is frozen. Data is parked by the volume;
 * here are the requests. */
#ifndef BALE_FS_FUSE_FREEZE_H
#define BALE_FS_FUSE_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/base/memory.h"

struct bale_freezer;

int bale_freezer_create(struct bale_memory *memory, struct bale_freezer **freezer);
void bale_freezer_destroy(struct bale_freezer *freezer);

/* A request as read from the kernel. True: it may be handled now, and leave is called after the
 * handler. False: it was put away, to be handled at the thaw. */
bool bale_freezer_request_begin(struct bale_freezer *freezer, const void *request, size_t size);
void bale_freezer_request_end(struct bale_freezer *freezer);
/* For a handler whose change to the store comes after its return: leave then counts for nothing,
 * done for it. */
void bale_freezer_change_begin(struct bale_freezer *freezer);
void bale_freezer_change_end(struct bale_freezer *freezer);

/* From now on changes are put away; idle is called when none is under way any more. False: it is
 * frozen already. */
bool bale_freezer_freeze(struct bale_freezer *freezer, void (*idle)(void *arg), void *arg);
/* Forgets a request put away, so that its program can be killed. False: it is not there. */
bool bale_freezer_drop_request(struct bale_freezer *freezer, uint64_t unique);
bool bale_freezer_is_frozen(struct bale_freezer *freezer);
/* Calls handle for each request put away, in the order they came, in this thread; requests that
 * come meanwhile pass. */
void bale_freezer_thaw(struct bale_freezer *freezer,
                       void (*handle)(void *arg, void *request, size_t size), void *arg);

#endif
