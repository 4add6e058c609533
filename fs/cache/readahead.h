/* Reading ahead of streams, in batches through the engine. */
#ifndef BALE_FS_CACHE_READAHEAD_H
#define BALE_FS_CACHE_READAHEAD_H

#include "fs/cache/file_state.h"

struct bale_fetch;

/* Reports a read of [offset, end): recognises streams and prepares to read what comes next. Under
 * file->lock. The caller passes the result, which may be NULL, to bale_readahead_submit as soon as
 * it has released that: others wait for what is to be fetched. */
struct bale_fetch *bale_readahead_note(struct bale_file *file, uint64_t offset, uint64_t end);
/* Starts reading ahead, on the fetchers' threads. */
void bale_readahead_submit(struct bale_volume *volume, struct bale_fetch *jobs);

#endif
