#include "fs/cache/extent.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/evict.h"

/* Copies valid blocks alone: touching others would make the kernel provide their pages. */
static void copy_valid(const struct bale_extent *extent, struct bale_extent_buffer *to)
{
    size_t block = extent->file->block;

    for (uint64_t left = extent->valid; left; left &= left - 1) {
        size_t at = (size_t)__builtin_ctzll(left) * block;
        memcpy(to->data + at, extent->buffer->data + at, block);
    }
}

/* Gives the extent a buffer of its own with that capacity, no less than the old one's, and copies
 * the valid blocks. */
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

/* The capacity of a buffer for length bytes. It doubles, so that a file that grows by small writes
 * is copied a bounded number of times. An extent that takes much of the memory gets its whole size
 * at once: growing needs the old buffer beside the new one, and both might never fit. */
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

static struct bale_extent *create_extent(struct bale_file *file, uint64_t number, size_t capacity)
{
    if (bale_extent_table_grow(&file->table) != BALE_OK)
        return NULL;
    struct bale_extent *extent = calloc(1, sizeof *extent);
    if (!extent)
        return NULL;
    extent->file = file;
    extent->number = number;
    extent->buffer = bale_extent_buffer_create(file, capacity);
    if (!extent->buffer) {
        free(extent);
        return NULL;
    }
    bale_extent_insert(&file->table, extent);
    return extent;
}

struct bale_extent *bale_extent_get(struct bale_file *file, uint64_t number, size_t length)
{
    struct bale_extent *extent = bale_extent_find(&file->table, number);

    if (extent && bale_extent_has_room(extent, length))
        return extent;
    if (extent && extent->buffer->capacity > length)
        length = extent->buffer->capacity;
    size_t capacity = capacity_for(file, length);
    if (!extent)
        return create_extent(file, number, capacity);
    size_t least = (length + file->block - 1) / file->block * file->block;
    file->growing = extent;
    int err = replace_buffer(extent, capacity);
    if (err != BALE_OK && least < capacity)
        err = replace_buffer(extent, least);
    file->growing = NULL;
    return err == BALE_OK ? extent : NULL;
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
        bale_lru_remove(extent);
        extent->dirtied_ms = bale_now_ms();
        extent->dirty_next = NULL;
        extent->dirty_before = file->dirty_last;
        *(file->dirty_last ? &file->dirty_last->dirty_next : &file->dirty_first) = extent;
        file->dirty_last = extent;
    }
    extent->valid |= blocks;
    if (!extent->buffer->unevictable)
        extent->buffer->user = atomic_load(&file->user);
    bale_extent_buffer_set_unevictable(extent->buffer, true);
    /* A block that becomes dirty again while it is flushed counts twice: it takes memory twice. */
    int64_t added = bale_blocks_bytes(file, blocks & ~extent->dirty);
    extent->dirty |= blocks;
    bale_volume_add_dirty(file, added);
}

void bale_extent_start_flush(struct bale_extent *extent)
{
    dirty_unlink(extent);
    extent->flushing = extent->dirty;
    extent->file->flushing += (uint64_t)bale_blocks_bytes(extent->file, extent->flushing);
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
    int64_t bytes = bale_blocks_bytes(extent->file, blocks);
    extent->file->flushing -= (uint64_t)bytes;
    bale_volume_add_dirty(extent->file, -bytes);
    bale_extent_buffer_set_unevictable(extent->buffer, extent->dirty != 0);
    bool whole = blocks == bale_blocks(extent->file, 0, extent->file->extent);
    if (extent->file->volume->options.caller_caches && stored && whole && !extent->dirty &&
        !extent->filling)
        bale_extent_detach(extent);
    else
        bale_lru_add_idle(extent);
}

/* ---- Filling ---- */

/* Each thread is woken for its own extent alone: a stream has many on their way, with a reader for
 * each. It is on a list until filled is posted: the file's, then that of who wakes it. */
struct bale_fill_waiter {
    const struct bale_extent *extent; /* only compared; NULL: any */
    sem_t filled;
    struct bale_fill_waiter *next;
};

static void free_detached(struct bale_extent *extent)
{
    if (!extent->filling) {
        bale_extent_buffer_unref(extent->buffer);
        free(extent);
    }
}

void bale_fill_begin(struct bale_extent *extent, uint64_t blocks)
{
    bale_lru_remove(extent);
    extent->file->filling += !extent->filling;
    extent->filling |= blocks;
}

static void take_waiters(const struct bale_extent *extent, struct bale_fill_waiter **to)
{
    struct bale_fill_waiter **slot = &extent->file->fill_waiters, *waiter;

    while ((waiter = *slot)) {
        if (waiter->extent && waiter->extent != extent) {
            slot = &waiter->next;
            continue;
        }
        *slot = waiter->next;
        waiter->next = *to;
        *to = waiter;
    }
}

void bale_fill_wake(struct bale_fill_waiter *waiters)
{
    while (waiters) {
        struct bale_fill_waiter *next = waiters->next;
        sem_post(&waiters->filled); /* it may be gone then */
        waiters = next;
    }
}

int bale_fill_end(struct bale_extent *extent, uint64_t blocks, int err)
{
    struct bale_fill_waiter *waiters = NULL;

    err = bale_fill_end_quietly(extent, blocks, err, &waiters);
    bale_fill_wake(waiters);
    return err;
}

int bale_fill_end_quietly(struct bale_extent *extent, uint64_t blocks, int err,
                          struct bale_fill_waiter **waiters)
{
    struct bale_file *file = extent->file;

    if (err == BALE_OK && bale_file_is_behind(file))
        err = BALE_E_STALE;
    extent->filling &= ~blocks;
    file->filling -= !extent->filling;
    take_waiters(extent, waiters);
    if (extent->detached) {
        free_detached(extent);
        return err == BALE_OK ? BALE_E_STALE : err;
    }
    if (err == BALE_OK)
        extent->valid |= blocks;
    bale_lru_add_idle(extent);
    return err;
}

void bale_fill_await(struct bale_file *file, const struct bale_extent *extent)
{
    struct bale_fill_waiter self = {.extent = extent, .next = file->fill_waiters};

    sem_init(&self.filled, 0, 0);
    file->fill_waiters = &self;
    pthread_mutex_unlock(&file->lock);
    while (sem_wait(&self.filled) != 0) /* a signal */
        ;
    sem_destroy(&self.filled);
    pthread_mutex_lock(&file->lock);
}

/* ---- Detaching and cutting ---- */

void bale_extent_detach(struct bale_extent *extent)
{
    bale_lru_remove(extent);
    if (extent->dirty) {
        dirty_unlink(extent);
        bale_volume_add_dirty(extent->file, -bale_blocks_bytes(extent->file, extent->dirty));
        extent->dirty = 0;
    }
    bale_extent_remove(&extent->file->table, extent);
    free_detached(extent);
}

void bale_extents_detach(struct bale_file *file, uint64_t first, uint64_t last)
{
    for (struct bale_extent *extent = bale_extent_next(&file->table, NULL), *next; extent;
         extent = next) {
        next = bale_extent_next(&file->table, extent);
        if (extent->number >= first && extent->number <= last)
            bale_extent_detach(extent);
    }
}

/* Drops the bytes of an extent from this one on. It is owned and not filling. */
static void cut_extent(struct bale_extent *extent, uint64_t from)
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

void bale_extents_cut(struct bale_file *file, uint64_t size)
{
    bale_extents_detach(file, (size + file->extent - 1) / file->extent, UINT64_MAX);
    struct bale_extent *edge;
    while (size % file->extent && (edge = bale_extent_find(&file->table, size / file->extent))) {
        if (!edge->filling) {
            cut_extent(edge, size % file->extent);
            break;
        }
        bale_fill_await(file, edge);
    }
}

void bale_extents_clear(struct bale_file *file, uint64_t offset, uint64_t end)
{
again:
    for (struct bale_extent *extent = bale_extent_next(&file->table, NULL); extent;
         extent = bale_extent_next(&file->table, extent)) {
        uint64_t start = extent->number * file->extent, stop = start + extent->buffer->capacity;
        uint64_t from = offset > start ? offset : start, to = end < stop ? end : stop;
        if (from >= to)
            continue;
        if (extent->filling) {
            bale_fill_await(file, extent);
            goto again;
        }
        memset(extent->buffer->data + (from - start), 0, to - from);
    }
}
