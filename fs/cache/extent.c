/* Cached extents: the table of a file, the dirty list and eviction. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/internal.h"

static size_t bucket_of(const struct bale_file *file, uint64_t number)
{
    return (size_t)((number * 0x9e3779b97f4a7c15u) >> 32) & (file->buckets - 1);
}

struct bale_extent *bale_extent_find(struct bale_file *file, uint64_t number)
{
    if (file->buckets == 0)
        return NULL;
    struct bale_extent *extent = file->table[bucket_of(file, number)];
    while (extent && extent->number != number)
        extent = extent->hash_next;
    return extent;
}

static int grow_table(struct bale_file *file)
{
    if (file->extents < file->buckets)
        return BALE_OK;
    size_t old_buckets = file->buckets;
    struct bale_extent **old = file->table;
    size_t buckets = old_buckets ? old_buckets * 2 : 4;
    struct bale_extent **table = calloc(buckets, sizeof *table);
    if (!table)
        return BALE_E_NOMEM;
    file->table = table;
    file->buckets = buckets;
    for (size_t i = 0; i < old_buckets; i++) {
        for (struct bale_extent *e = old[i], *next; e; e = next) {
            next = e->hash_next;
            struct bale_extent **slot = &table[bucket_of(file, e->number)];
            e->hash_next = *slot;
            *slot = e;
        }
    }
    free(old);
    return BALE_OK;
}

/* Nothing else, as memory that was never touched would come into being. */
static void copy_valid(const struct bale_extent *extent, struct bale_extent_buffer *to)
{
    size_t block = extent->file->block;

    for (uint64_t left = extent->valid; left; left &= left - 1) {
        size_t at = (size_t)__builtin_ctzll(left) * block;
        memcpy(to->data + at, extent->buffer->data + at, block);
    }
}

/* Gives the extent a buffer of its own of that capacity, no less than the old, with what is valid in
 * the old. */
static int replace_buffer(struct bale_extent *extent, size_t capacity)
{
    struct bale_extent_buffer *buffer = bale_extent_buffer_create(extent->file, capacity);

    if (!buffer)
        return BALE_E_NOMEM;
    copy_valid(extent, buffer);
    bale_extent_buffer_set_unevictable(buffer, extent->dirty != 0);
    bale_extent_buffer_unref(extent->buffer);
    extent->buffer = buffer;
    extent->shared = false;
    return BALE_OK;
}

/* Doubling, so that a file that grows by small writes is copied a bounded number of times. What is large for
 * the memory does not grow: the old buffer beside the new one might never fit. */
static size_t capacity_for(const struct bale_file *file, size_t length)
{
    uint64_t cap = bale_memory_cap(file->volume->memory);
    size_t most = (file->extent + file->block - 1) / file->block * file->block;
    size_t capacity = file->block;

    if (most > cap / 8 && most <= cap / 2)
        return most;
    while (capacity < length)
        capacity *= 2;
    return capacity < most ? capacity : most;
}

int bale_extent_own(struct bale_extent *extent)
{
    return extent->shared ? replace_buffer(extent, extent->buffer->capacity) : BALE_OK;
}

/* ---- The LRU list: clean, idle extents ---- */

static void lru_unlink(struct bale_volume *volume, struct bale_extent *extent)
{
    *(extent->lru_before ? &extent->lru_before->lru_next : &volume->lru_first) = extent->lru_next;
    *(extent->lru_next ? &extent->lru_next->lru_before : &volume->lru_last) = extent->lru_before;
    extent->on_lru = false;
}

static void lru_push(struct bale_volume *volume, struct bale_extent *extent)
{
    extent->lru_before = NULL;
    extent->lru_next = volume->lru_first;
    *(extent->lru_next ? &extent->lru_next->lru_before : &volume->lru_last) = extent;
    volume->lru_first = extent;
    extent->on_lru = true;
}

static void lru_remove(struct bale_extent *extent)
{
    struct bale_volume *volume = extent->file->volume;

    pthread_mutex_lock(&volume->lru_lock);
    if (extent->on_lru)
        lru_unlink(volume, extent);
    pthread_mutex_unlock(&volume->lru_lock);
}

void bale_fill_begin(struct bale_extent *extent, uint64_t blocks)
{
    lru_remove(extent);
    extent->file->filling += !extent->filling;
    extent->filling |= blocks;
}

void bale_lru_add_idle(struct bale_extent *extent)
{
    struct bale_volume *volume = extent->file->volume;

    if (extent->detached || extent->dirty || extent->flushing || extent->filling)
        return;
    pthread_mutex_lock(&volume->lru_lock);
    if (!extent->on_lru)
        lru_push(volume, extent);
    pthread_mutex_unlock(&volume->lru_lock);
}

struct bale_extent *bale_extent_get(struct bale_file *file, uint64_t number, size_t length)
{
    struct bale_extent *extent = bale_extent_find(file, number);

    if (extent && bale_extent_has_room(extent, length))
        return extent;
    if (extent && extent->buffer->capacity > length)
        length = extent->buffer->capacity;
    size_t capacity = capacity_for(file, length);
    size_t least = (length + file->block - 1) / file->block * file->block;
    if (extent) {
        lru_remove(extent); /* or making room could evict it */
        int err = replace_buffer(extent, capacity);
        if (err != BALE_OK && least < capacity)
            err = replace_buffer(extent, least);
        bale_lru_add_idle(extent);
        return err == BALE_OK ? extent : NULL;
    }
    if (grow_table(file) != BALE_OK)
        return NULL;
    extent = calloc(1, sizeof *extent);
    if (!extent)
        return NULL;
    extent->file = file;
    extent->number = number;
    extent->buffer = bale_extent_buffer_create(file, capacity);
    if (!extent->buffer) {
        free(extent);
        return NULL;
    }
    struct bale_extent **slot = &file->table[bucket_of(file, number)];
    extent->hash_next = *slot;
    *slot = extent;
    file->extents++;
    return extent;
}

/* ---- Dirty extents ---- */

static void dirty_unlink(struct bale_extent *extent)
{
    struct bale_file *file = extent->file;

    *(extent->dirty_before ? &extent->dirty_before->dirty_next : &file->dirty_first) =
        extent->dirty_next;
    *(extent->dirty_next ? &extent->dirty_next->dirty_before : &file->dirty_last) =
        extent->dirty_before;
    extent->dirty_next = extent->dirty_before = NULL;
}

void bale_extent_mark_dirty(struct bale_extent *extent, uint64_t blocks)
{
    struct bale_file *file = extent->file;

    if (!extent->dirty) {
        lru_remove(extent);
        extent->dirtied_ms = bale_now_ms();
        extent->dirty_next = NULL;
        extent->dirty_before = file->dirty_last;
        *(file->dirty_last ? &file->dirty_last->dirty_next : &file->dirty_first) = extent;
        file->dirty_last = extent;
    }
    extent->valid |= blocks;
    bale_extent_buffer_set_unevictable(extent->buffer, true);
    /* A block that is dirty again while it is being flushed counts twice: it takes memory twice. */
    int64_t added = bale_blocks_bytes(file, blocks & ~extent->dirty);
    extent->dirty |= blocks;
    bale_volume_add_dirty(file, added);
}

void bale_extent_start_flush(struct bale_extent *extent)
{
    dirty_unlink(extent);
    extent->flushing = extent->dirty;
    extent->dirty = 0;
    extent->shared = true;
}

void bale_extent_end_flush(struct bale_extent *extent, bool stored)
{
    uint64_t blocks = extent->flushing;

    extent->flushing = 0;
    extent->shared = false;
    if (!stored) {
        uint64_t when = extent->dirty ? extent->dirtied_ms : bale_now_ms();
        bale_extent_mark_dirty(extent, blocks);
        extent->dirtied_ms = when;
    }
    bale_volume_add_dirty(extent->file, -bale_blocks_bytes(extent->file, blocks));
    bale_extent_buffer_set_unevictable(extent->buffer, extent->dirty != 0);
    bool whole = blocks == bale_blocks(extent->file, 0, extent->file->extent);
    if (extent->file->volume->options.caller_caches && stored && whole && !extent->dirty &&
        !extent->filling)
        bale_extent_detach(extent);
    else
        bale_lru_add_idle(extent);
}

/* ---- Going ---- */

static void remove_from_table(struct bale_extent *extent)
{
    struct bale_file *file = extent->file;
    struct bale_extent **slot = &file->table[bucket_of(file, extent->number)];

    while (*slot != extent)
        slot = &(*slot)->hash_next;
    *slot = extent->hash_next;
    file->extents--;
    extent->detached = true;
}

void bale_extent_detach(struct bale_extent *extent)
{
    lru_remove(extent);
    if (extent->dirty) {
        dirty_unlink(extent);
        bale_volume_add_dirty(extent->file, -bale_blocks_bytes(extent->file, extent->dirty));
        extent->dirty = 0;
    }
    remove_from_table(extent);
    if (!extent->filling) {
        bale_extent_buffer_unref(extent->buffer);
        free(extent);
    }
}

void bale_extents_detach(struct bale_file *file, uint64_t first, uint64_t last)
{
    for (size_t i = 0; i < file->buckets; i++) {
        for (struct bale_extent *e = file->table[i], *next; e; e = next) {
            next = e->hash_next;
            if (e->number >= first && e->number <= last)
                bale_extent_detach(e);
        }
    }
}

void bale_extent_cut(struct bale_extent *extent, uint64_t from)
{
    struct bale_file *file = extent->file;
    uint64_t whole = bale_blocks(file, (from + file->block - 1) / file->block * file->block,
                                 (uint64_t)BALE_BLOCKS * file->block);
    size_t over = from % file->block;

    if (over && from < extent->buffer->capacity)
        memset(extent->buffer->data + from, 0, file->block - over);
    if (extent->dirty & whole) {
        bale_volume_add_dirty(file, -bale_blocks_bytes(file, extent->dirty & whole));
        extent->dirty &= ~whole;
        if (!extent->dirty) {
            dirty_unlink(extent);
            bale_extent_buffer_set_unevictable(extent->buffer, extent->flushing != 0);
        }
    }
    extent->valid &= ~whole;
    bale_lru_add_idle(extent);
}

/* Takes one extent from the cold end. The extent's file comes after the list in the lock order,
 * hence trylock. */
static bool evict_one(struct bale_volume *volume, struct bale_file *held)
{
    pthread_mutex_lock(&volume->lru_lock);
    struct bale_extent *extent = volume->lru_last;
    for (struct bale_extent *stop = NULL; extent && extent != stop; extent = volume->lru_last) {
        struct bale_file *file = extent->file;
        bool cold = !atomic_exchange(&extent->hot, false);
        if (cold && (file == held || pthread_mutex_trylock(&file->lock) == 0)) {
            lru_unlink(volume, extent);
            pthread_mutex_unlock(&volume->lru_lock);
            remove_from_table(extent);
            bale_extent_buffer_unref(extent->buffer);
            free(extent);
            if (file != held)
                pthread_mutex_unlock(&file->lock);
            return true;
        }
        /* Once round the list; a second time only past what was hot. */
        stop = stop ? stop : cold ? extent : NULL;
        lru_unlink(volume, extent);
        lru_push(volume, extent);
    }
    pthread_mutex_unlock(&volume->lru_lock);
    return false;
}

void *bale_volume_take_memory(struct bale_volume *volume, size_t size, struct bale_file *held)
{
    void *block;

    while (!(block = bale_memory_allocate(volume->memory, size)))
        if (!evict_one(volume, held))
            return NULL;
    return block;
}

uint64_t bale_blocks(const struct bale_file *file, uint64_t from, uint64_t to)
{
    if (to <= from)
        return 0;
    unsigned first = (unsigned)(from / file->block);
    unsigned last = (unsigned)((to - 1) / file->block);
    uint64_t upto = last == 63 ? UINT64_MAX : ((uint64_t)1 << (last + 1)) - 1;
    return upto & ~(((uint64_t)1 << first) - 1);
}

int64_t bale_blocks_bytes(const struct bale_file *file, uint64_t blocks)
{
    return (int64_t)__builtin_popcountll(blocks) * file->block;
}
