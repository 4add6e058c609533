/* Reading ahead of streams, in batches through the engine. All under file->lock. */
#ifndef BALE_FS_CACHE_READAHEAD_H
#define BALE_FS_CACHE_READAHEAD_H

#include "fs/cache/internal.h"

/* A read of [offset, end) was asked for: recognises streams and starts reading what comes next. */
void bale_readahead_note(struct bale_file *file, uint64_t offset, uint64_t end);

/* The blocks of the chunks that hold these blocks, as far as they are missing and there is room:
 * decoding yields whole chunks. Includes all of blocks that are missing. */
uint64_t bale_readahead_widen(const struct bale_extent *extent, uint64_t blocks);

#endif
