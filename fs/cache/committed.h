/* Reading what is committed of a file, past the cache. */
#ifndef BALE_FS_CACHE_COMMITTED_H
#define BALE_FS_CACHE_COMMITTED_H

#include "fs/cache/file_state.h"

/* Reads bytes [from, to) of the committed file into out; holes are zeros. Logs damage, once for
 * each place. No lock is held. */
int bale_file_read_committed(struct bale_file *file, struct bale_scratch *scratch, uint64_t from,
                             uint64_t to, uint8_t *out);

#endif
