/* Cached extents and the table in which a file finds them by number. All under file->lock, except
 * where a member says otherwise. */
#ifndef BALE_FS_CACHE_EXTENT_TABLE_H
#define BALE_FS_CACHE_EXTENT_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_file;
struct bale_extent_buffer;

struct bale_extent {
    struct bale_file *file;
    uint64_t number; /* covers [number * file->extent, ...) */
    struct bale_extent_buffer *buffer;
    uint64_t valid; /* bit i: block i holds the file's bytes (zeros beyond size) */
    uint64_t dirty; /* the container does not have these blocks: subset of valid */
    /* Blocks that are being copied or read into the buffer, without the lock: nothing else touches
     * them, and the buffer is neither replaced nor flushed. */
    uint64_t filling;
    uint64_t flushing; /* in the running commit */
    bool shared;       /* the running commit reads this very buffer: writers copy it first */
    bool detached;     /* no longer in the table; freed when filling ends */
    atomic_bool hot;   /* used since eviction last looked at it; any thread */
    uint64_t dirtied_ms;
    struct bale_extent *hash_next;
    struct bale_extent *dirty_next, *dirty_before; /* file->dirty_first.., oldest first */
    /* Owned by evict.c, under its lock. */
    bool on_lru;
    struct bale_extent *lru_next, *lru_before;
};

/* A hash table; all zero: empty. The owner frees slots when the table is empty. */
struct bale_extent_table {
    struct bale_extent **slots;
    size_t buckets, count;
};

struct bale_extent *bale_extent_find(const struct bale_extent_table *table, uint64_t number);
/* The extent after this one in the table's order; NULL: the first. NULL: there is none. */
struct bale_extent *bale_extent_next(const struct bale_extent_table *table,
                                     const struct bale_extent *extent);
/* Makes room for one more. BALE_E_NOMEM. */
int bale_extent_table_grow(struct bale_extent_table *table);
/* The number must not be in the table, and the table must have room. */
void bale_extent_insert(struct bale_extent_table *table, struct bale_extent *extent);
/* Takes the extent out and marks it detached. */
void bale_extent_remove(struct bale_extent_table *table, struct bale_extent *extent);

#endif
