/* The memory of a cached extent. Readers and commits have references of their own, so that the
 * extent can be evicted, grown or given a copy meanwhile. evict.h creates buffers. */
#ifndef BALE_FS_CACHE_BUFFER_H
#define BALE_FS_CACHE_BUFFER_H

#include "fs/cache/volume_state.h"

struct bale_extent_buffer {
    struct bale_volume *volume;
    uint8_t *data;
    size_t capacity; /* whole blocks */
    uint32_t user;   /* who made it unevictable. Under file->lock */
    /* Counted in volume->unevictable and the user's part of it, as some block is dirty or flushing.
     * Under file->lock. */
    bool unevictable;
    /* A device may still write to blocks that are not valid: nothing else is put there. Under
     * file->lock. */
    bool quarantined;
    atomic_uint refs;
};

/* Any thread. The last reference frees the memory, or quarantines it. unref: NULL is fine. */
void bale_extent_buffer_ref(struct bale_extent_buffer *buffer);
void bale_extent_buffer_unref(struct bale_extent_buffer *buffer);

/* Under file->lock, or with the last reference. */
void bale_extent_buffer_set_unevictable(struct bale_extent_buffer *buffer, bool unevictable);

#endif
