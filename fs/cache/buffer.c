/* The memory of cached extents. */
#include <stdlib.h>

#include "fs/cache/internal.h"

void bale_extent_buffer_ref(struct bale_extent_buffer *buffer)
{
    atomic_fetch_add(&buffer->refs, 1);
}

void bale_extent_buffer_set_unevictable(struct bale_extent_buffer *buffer, bool held)
{
    if (buffer->unevictable != held) {
        buffer->unevictable = held;
        atomic_fetch_add(&buffer->volume->unevictable, held ? buffer->capacity : -buffer->capacity);
    }
}

void bale_extent_buffer_unref(struct bale_extent_buffer *buffer)
{
    if (buffer && atomic_fetch_sub(&buffer->refs, 1) == 1) {
        bale_extent_buffer_set_unevictable(buffer, false);
        atomic_fetch_sub(&buffer->volume->stats.cached, buffer->capacity);
        if (buffer->quarantined)
            bale_memory_quarantine(buffer->volume->memory, buffer->data, buffer->capacity);
        else
            bale_memory_free(buffer->volume->memory, buffer->data, buffer->capacity);
        free(buffer);
    }
}

struct bale_extent_buffer *bale_extent_buffer_create(struct bale_file *file, size_t capacity)
{
    struct bale_extent_buffer *buffer = malloc(sizeof *buffer);

    if (!buffer)
        return NULL;
    buffer->data = bale_volume_take_memory(file->volume, capacity, file);
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    buffer->unevictable = buffer->quarantined = false;
    buffer->volume = file->volume;
    buffer->capacity = capacity;
    atomic_init(&buffer->refs, 1);
    atomic_fetch_add(&file->volume->stats.cached, capacity);
    return buffer;
}
