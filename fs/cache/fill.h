/* Filling cached extents with what is committed. Under file->lock. */
#ifndef BALE_FS_CACHE_FILL_H
#define BALE_FS_CACHE_FILL_H

#include "fs/cache/extent.h"

/* Makes blocks of an extent valid that are neither valid nor filling. Drops the lock for I/O.
 * BALE_E_STALE: the extent was detached meanwhile. */
int bale_extent_fill(struct bale_extent *extent, uint64_t blocks, struct bale_scratch *scratch);

/* The end, inside the extent and the file, of the chunk that byte to - 1 of the extent lies in: a
 * buffer with so much room keeps the whole chunk once it is decoded. No less than to. */
uint64_t bale_extent_chunk_end(const struct bale_file *file, uint64_t number, uint64_t to);

/* Widens blocks to those of whole chunks, because decoding yields whole chunks. Returns the blocks
 * to fill: those that are missing and fit into the buffer, among them all missing ones of
 * `blocks`. */
uint64_t bale_extent_widen(const struct bale_extent *extent, uint64_t blocks);

#endif
