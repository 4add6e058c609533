#include "fs/cache/evict.h"

#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/lock.h"

struct bale_lru {
    pthread_mutex_t lock; /* guards the list and the extents' links; taken after file->lock */
    struct bale_extent *first, *last; /* first: most recently used */
};

/* ---- The LRU list ---- */

int bale_lru_create(struct bale_lru **out)
{
    struct bale_lru *lru = calloc(1, sizeof *lru);

    if (!lru)
        return BALE_E_NOMEM;
    bale_short_lock_init(&lru->lock);
    *out = lru;
    return BALE_OK;
}

void bale_lru_destroy(struct bale_lru *lru)
{
    if (lru) {
        pthread_mutex_destroy(&lru->lock);
        free(lru);
    }
}

static void lru_unlink(struct bale_lru *lru, struct bale_extent *extent)
{
    *(extent->lru_before ? &extent->lru_before->lru_next : &lru->first) = extent->lru_next;
    *(extent->lru_next ? &extent->lru_next->lru_before : &lru->last) = extent->lru_before;
    extent->on_lru = false;
}

static void lru_push(struct bale_lru *lru, struct bale_extent *extent)
{
    extent->lru_before = NULL;
    extent->lru_next = lru->first;
    *(extent->lru_next ? &extent->lru_next->lru_before : &lru->last) = extent;
    lru->first = extent;
    extent->on_lru = true;
}

void bale_lru_remove(struct bale_extent *extent)
{
    struct bale_lru *lru = extent->file->volume->lru;

    pthread_mutex_lock(&lru->lock);
    if (extent->on_lru)
        lru_unlink(lru, extent);
    pthread_mutex_unlock(&lru->lock);
}

void bale_lru_add_idle(struct bale_extent *extent)
{
    struct bale_lru *lru = extent->file->volume->lru;

    if (extent->detached || extent->dirty || extent->flushing || extent->filling)
        return;
    pthread_mutex_lock(&lru->lock);
    bool comes = !extent->on_lru;
    if (comes)
        lru_push(lru, extent);
    pthread_mutex_unlock(&lru->lock);
    if (comes)
        bale_memory_tell_room(extent->file->volume->memory);
}

bool bale_lru_is_empty(struct bale_volume *volume)
{
    struct bale_lru *lru = volume->lru;

    pthread_mutex_lock(&lru->lock);
    bool empty = !lru->last;
    pthread_mutex_unlock(&lru->lock);
    return empty;
}

/* ---- Eviction ---- */

/* Has the extent's file locked, which `locked` is already. False: others have its lock, or the
 * extent must stay. */
static bool lock_to_evict(const struct bale_extent *extent, const struct bale_file *locked)
{
    if (locked && extent->file == locked)
        return extent != locked->growing;
    return pthread_mutex_trylock(&extent->file->lock) == 0;
}

/* Takes one cold extent off the list, with its file locked; NULL: there is none. In the lock order
 * the list's lock comes after the file's, so this function only tries the file's lock. */
static struct bale_extent *take_cold(struct bale_lru *lru, struct bale_file *locked)
{
    pthread_mutex_lock(&lru->lock);
    struct bale_extent *extent = lru->last;
    for (struct bale_extent *stop = NULL; extent && extent != stop; extent = lru->last) {
        bool cold = !atomic_exchange(&extent->hot, false);
        bool taken = cold && lock_to_evict(extent, locked);
        lru_unlink(lru, extent);
        if (taken) {
            pthread_mutex_unlock(&lru->lock);
            return extent;
        }
        /* Go around the list once, and past hot extents a second time, because they are cold
         * then. */
        stop = stop ? stop : cold ? extent : NULL;
        lru_push(lru, extent);
    }
    pthread_mutex_unlock(&lru->lock);
    return NULL;
}

struct bale_file *bale_lru_cold_file(struct bale_volume *volume)
{
    struct bale_lru *lru = volume->lru;

    pthread_mutex_lock(&lru->lock);
    struct bale_extent *extent = lru->last;
    while (extent && !bale_file_ref_live(extent->file))
        extent = extent->lru_before;
    struct bale_file *file = extent ? extent->file : NULL;
    pthread_mutex_unlock(&lru->lock);
    return file;
}

bool bale_cache_evict(struct bale_volume *volume, struct bale_file *locked)
{
    struct bale_extent *extent = take_cold(volume->lru, locked);

    if (!extent)
        return false;
    struct bale_file *file = extent->file;
    bale_extent_remove(&file->table, extent);
    bale_extent_buffer_unref(extent->buffer);
    free(extent);
    if (file != locked)
        pthread_mutex_unlock(&file->lock);
    return true;
}

/* ---- Memory ---- */

void *bale_cache_allocate(struct bale_volume *volume, size_t size, struct bale_file *locked)
{
    void *block;

    while (!(block = bale_memory_allocate(volume->memory, size)))
        if (!bale_cache_evict(volume, locked))
            return NULL;
    return block;
}

void *bale_cache_allocate_or_heap(struct bale_volume *volume, size_t size, bool *heap)
{
    void *block = bale_cache_allocate(volume, size, NULL);

    *heap = !block;
    if (!block && (block = malloc(size)))
        bale_memory_count(volume->memory, (int64_t)size);
    return block;
}

void bale_cache_free(struct bale_volume *volume, void *block, size_t size, bool heap)
{
    if (!block)
        return;
    if (heap) {
        free(block);
        bale_memory_count(volume->memory, -(int64_t)size);
    } else {
        bale_memory_free(volume->memory, block, size);
    }
}

struct bale_extent_buffer *bale_extent_buffer_create(struct bale_file *file, size_t capacity)
{
    struct bale_extent_buffer *buffer = malloc(sizeof *buffer);

    if (!buffer)
        return NULL;
    buffer->data = bale_cache_allocate(file->volume, capacity, file);
    if (!buffer->data) {
        free(buffer);
        return NULL;
    }
    buffer->unevictable = buffer->quarantined = false;
    buffer->user = atomic_load(&file->user);
    buffer->volume = file->volume;
    buffer->capacity = capacity;
    atomic_init(&buffer->refs, 1);
    atomic_fetch_add(&file->volume->stats.cached, capacity);
    return buffer;
}
