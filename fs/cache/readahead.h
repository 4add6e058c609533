/* Reading ahead of streams, in batches through the engine. All under file->lock. */
#ifndef BALE_FS_CACHE_READAHEAD_H
#define BALE_FS_CACHE_READAHEAD_H

#include "fs/cache/file_state.h"

/* A read of [offset, end) was asked for: recognises streams and starts reading what comes next. */
void bale_readahead_note(struct bale_file *file, uint64_t offset, uint64_t end);

#endif
