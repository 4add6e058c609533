/* Filling cached extents with what is committed. Under file->lock. */
#ifndef BALE_FS_CACHE_FILL_H
#define BALE_FS_CACHE_FILL_H

#include "fs/cache/extent.h"

/* Makes blocks of an extent valid that are neither valid nor filling. Drops the lock for I/O.
 * BALE_E_STALE: the extent was detached meanwhile. */
int bale_extent_fill(struct bale_extent *extent, uint64_t blocks, struct bale_scratch *scratch);

/* The blocks of the chunks that hold these blocks, as far as they are missing and there is room:
 * decoding yields whole chunks. Includes all of blocks that are missing. */
uint64_t bale_extent_widen(const struct bale_extent *extent, uint64_t blocks);

#endif
