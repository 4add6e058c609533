/* The memory of cached extents. */
#include <stdlib.h>

#include "fs/cache/internal.h"

void bale_buffer_ref(struct bale_buffer *buffer)
{
    atomic_fetch_add(&buffer->refs, 1);
}

void bale_buffer_hold(struct bale_buffer *buffer, bool held)
{
    if (buffer->held != held) {
        buffer->held = held;
        atomic_fetch_add(&buffer->volume->held, held ? buffer->capacity : -buffer->capacity);
    }
}

void bale_buffer_unref(struct bale_buffer *buffer)
{
    if (buffer && atomic_fetch_sub(&buffer->refs, 1) == 1) {
        bale_buffer_hold(buffer, false);
        atomic_fetch_sub(&buffer->volume->stats.cached, buffer->capacity);
        if (buffer->late)
            bale_memory_quarantine(buffer->volume->memory, buffer->data, buffer->capacity);
        else
            bale_memory_free(buffer->volume->memory, buffer->data, buffer->capacity);
        free(buffer);
    }
}

struct bale_buffer *bale_buffer_create(struct bale_file *file, size_t capacity)
{
    struct bale_buffer *buffer = malloc(sizeof *buffer);

    if (!buffer)
        return NULL;
    buffer->data = bale_volume_take(file->volume, capacity, file);
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    buffer->held = buffer->late = false;
    buffer->volume = file->volume;
    buffer->capacity = capacity;
    atomic_init(&buffer->refs, 1);
    atomic_fetch_add(&file->volume->stats.cached, capacity);
    return buffer;
}
