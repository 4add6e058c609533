/* How long a freeze may last. It ends by itself, so that a script that died never keeps a mount
 * frozen. Its number tells the caller of the thaw whether it lasted until then. Any thread; a lock
 * of its own, held over nothing else. */
#ifndef BALE_FS_DAEMON_FREEZE_LIMIT_H
#define BALE_FS_DAEMON_FREEZE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#include "fs/fuse/mount.h"

struct bale_freeze_limit;

/* Starts a thread, which thaws the mount when a freeze has lasted too long. 0 or a negative
 * bale_err. */
int bale_freeze_limit_create(struct bale_mount *mount, struct bale_freeze_limit **limit);
void bale_freeze_limit_destroy(
    struct bale_freeze_limit *limit); /* NULL is fine; waits for its thaw */

/* A freeze begins, for so many seconds. Its number; 0: one lasts already. */
uint64_t bale_freeze_limit_begin(struct bale_freeze_limit *limit, uint32_t seconds);
/* It may last so many seconds from now. False: no freeze of that number lasts. */
bool bale_freeze_limit_extend(struct bale_freeze_limit *limit, uint64_t number, uint32_t seconds);
/* The seconds that the freeze may still last, rounded up; 0: none lasts. */
uint64_t bale_freeze_limit_left(struct bale_freeze_limit *limit);
/* Ends a freeze. number: the one that is to end, or 0: any. False: it had ended by itself, or
 * another has begun; the caller of that freeze is told so once. */
bool bale_freeze_limit_end(struct bale_freeze_limit *limit, uint64_t number);

/* Lets all changes of the mount go on, also those that were kept back, which are handled here. */
void bale_thaw(struct bale_mount *mount);

#endif
