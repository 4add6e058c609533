/* Memory for the cache. It comes from the arena; when that is full, clean extents are evicted, the
 * least recently used first. */
#ifndef BALE_FS_CACHE_EVICT_H
#define BALE_FS_CACHE_EVICT_H

#include "fs/cache/buffer.h"
#include "fs/cache/file_state.h"

/* The extents that may be evicted: clean and idle ones. Safe from any thread. */
struct bale_lru;
int bale_lru_create(struct bale_lru **lru);  /* BALE_E_NOMEM */
void bale_lru_destroy(struct bale_lru *lru); /* NULL is fine */

/* Under file->lock. add_idle does nothing with an extent that is listed, dirty, flushing, filling
 * or detached. */
void bale_lru_add_idle(struct bale_extent *extent);
void bale_lru_remove(struct bale_extent *extent);
bool bale_lru_is_empty(struct bale_volume *volume);

/* A file with extents that may be evicted, the coldest first; it gets a reference, which the caller
 * gives up. NULL: there is none. */
struct bale_file *bale_lru_cold_file(struct bale_volume *volume);
/* Evicts an extent of any file whose lock is free, or of `locked`, as below. False: there is
 * none. */
bool bale_cache_evict(struct bale_volume *volume, struct bale_file *locked);

/* A block of the arena, for bale_memory_free or _quarantine. locked: the file whose lock the caller
 * has, or NULL; no other file's lock is held. NULL: no memory, and nothing to evict. */
void *bale_cache_allocate(struct bale_volume *volume, size_t size, struct bale_file *locked);

/* The same without a file's lock, and from the heap if the arena has none; the heap's bytes are
 * counted against the cap too. *heap: for bale_cache_free, like the size. */
void *bale_cache_allocate_or_heap(struct bale_volume *volume, size_t size, bool *heap);
void bale_cache_free(struct bale_volume *volume, void *block, size_t size, bool heap);

/* A buffer with one reference, for an extent of the file, whose lock is held. NULL: no memory. */
struct bale_extent_buffer *bale_extent_buffer_create(struct bale_file *file, size_t capacity);

#endif
