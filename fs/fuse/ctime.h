/* Remembers for a while the ctime that was shown for a file, if its container was written after
 * that. */
#ifndef BALE_FS_FUSE_CTIME_H
#define BALE_FS_FUSE_CTIME_H

#include <stdint.h>
#include <time.h>

#include "fs/base/memory.h"

struct bale_ctimes;

/* 0 or BALE_E_NOMEM. Counted in memory, which may be gone when the table is destroyed. */
int bale_ctimes_create(struct bale_memory *memory, struct bale_ctimes **ctimes);
void bale_ctimes_destroy(struct bale_ctimes *ctimes); /* NULL is fine */

/* backing is the inode's ctime now; shown is the one to report instead. Any thread. */
void bale_ctimes_put(struct bale_ctimes *ctimes, uint64_t ino, const struct timespec *shown,
                     const struct timespec *backing);
/* Replaces *ctime, which the backing inode has now, by what is to be shown. Any thread. */
void bale_ctimes_get(struct bale_ctimes *ctimes, uint64_t ino, struct timespec *ctime);

#endif
