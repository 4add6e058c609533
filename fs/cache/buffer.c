#include "fs/cache/buffer.h"

#include <stdlib.h>

void bale_extent_buffer_ref(struct bale_extent_buffer *buffer)
{
    atomic_fetch_add(&buffer->refs, 1);
}

void bale_extent_buffer_set_unevictable(struct bale_extent_buffer *buffer, bool unevictable)
{
    if (buffer->unevictable != unevictable) {
        uint64_t change = unevictable ? buffer->capacity : -buffer->capacity;
        buffer->unevictable = unevictable;
        atomic_fetch_add(&buffer->volume->unevictable, change);
        atomic_fetch_add(&buffer->volume->unevictable_of[buffer->user % BALE_TURNS], change);
    }
}

void bale_extent_buffer_unref(struct bale_extent_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub(&buffer->refs, 1) > 1)
        return;
    struct bale_volume *volume = buffer->volume;
    bale_extent_buffer_set_unevictable(buffer, false);
    atomic_fetch_sub(&volume->stats.cached, buffer->capacity);
    if (buffer->quarantined)
        bale_memory_quarantine(volume->memory, buffer->data, buffer->capacity);
    else
        bale_memory_free(volume->memory, buffer->data, buffer->capacity);
    free(buffer);
}
