/* Reading ahead of streams, in batches through the engine. */
#ifndef BALE_FS_CACHE_READAHEAD_H
#define BALE_FS_CACHE_READAHEAD_H

#include "fs/cache/file_state.h"

/* Reports a read of [offset, end): recognises streams and starts reading what comes next, on the
 * fetchers' threads. Under file->lock. */
void bale_readahead_note(struct bale_file *file, uint64_t offset, uint64_t end);

#endif
