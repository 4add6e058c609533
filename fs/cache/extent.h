/* The life of a cached extent: created, filled, dirty, flushing, clean, detached. All under
 * file->lock. */
#ifndef BALE_FS_CACHE_EXTENT_H
#define BALE_FS_CACHE_EXTENT_H

#include "fs/cache/buffer.h"
#include "fs/cache/file_state.h"

/* Finds or creates one with room for its first length bytes; growing keeps its contents. Not while
 * it is filling, unless it has the room (bale_extent_has_room). NULL: no memory. */
struct bale_extent *bale_extent_get(struct bale_file *file, uint64_t number, size_t length);
/* Whether its buffer can take bytes up to length that are not valid yet. */
static inline bool bale_extent_has_room(const struct bale_extent *extent, size_t length)
{
    return extent->buffer->capacity >= length && !extent->buffer->quarantined;
}
/* Makes the buffer writable in place: copies it if the running commit reads it. BALE_E_NOMEM. */
int bale_extent_own(struct bale_extent *extent);

/* The blocks become valid and dirty. */
void bale_extent_mark_dirty(struct bale_extent *extent, uint64_t blocks);
/* The dirty blocks become flushing ones. Takes the extent off the dirty list. */
void bale_extent_start_flush(struct bale_extent *extent);
/* stored: the flushing blocks are in the container now; else they are dirty again. */
void bale_extent_end_flush(struct bale_extent *extent, bool stored);

/* Reserves these blocks for a fill or a copy without the lock, until bale_fill_end; the extent
 * stays in memory. */
void bale_fill_begin(struct bale_extent *extent, uint64_t blocks);
/* Ends filling: the blocks become valid if err is BALE_OK. Returns err, or BALE_E_STALE if the
 * extent was detached meanwhile, when it may be freed, or the container has moved. */
int bale_fill_end(struct bale_extent *extent, uint64_t blocks, int err);
/* The same for who gives the lock up next: adds to the list those who wait for it, to be woken
 * after that, because they want the lock at once. */
int bale_fill_end_quietly(struct bale_extent *extent, uint64_t blocks, int err,
                          struct bale_fill_waiter **waiters);
void bale_fill_wake(struct bale_fill_waiter *waiters); /* with or without the lock */
/* Drops the lock and waits until some blocks of the extent, or with NULL of any, have been filled.
 * The extent may be gone then: the caller finds it again. */
void bale_fill_await(struct bale_file *file, const struct bale_extent *extent);

/* Takes the extent out of the table and drops its dirty data; frees it now or when filling ends. */
void bale_extent_detach(struct bale_extent *extent);
void bale_extents_detach(struct bale_file *file, uint64_t first, uint64_t last); /* numbers */
/* Drops what the cache has from that byte of the file on; the rest of its block becomes zeros.
 * Drops the lock while extents are filling. */
void bale_extents_cut(struct bale_file *file, uint64_t size);
/* Clears bytes [offset, end) of cached extents; what was written around them stays. Drops the lock
 * while extents are filling. */
void bale_extents_clear(struct bale_file *file, uint64_t offset, uint64_t end);

#endif
