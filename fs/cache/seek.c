/* SEEK_DATA and SEEK_HOLE, over what is committed and what is dirty in the cache. */
#include "format/err.h"
#include "fs/cache/file_state.h"

/* The first data at or after offset among an extent's dirty blocks; UINT64_MAX: none. Under
 * file->lock. */
static uint64_t dirty_in_extent(const struct bale_extent *extent, uint64_t offset)
{
    const struct bale_file *file = extent->file;
    uint64_t blocks = extent->dirty | extent->flushing;
    uint64_t start = extent->number * file->extent;

    if (!blocks || start + file->extent <= offset)
        return UINT64_MAX;
    blocks &= offset > start ? bale_blocks(file, offset - start, file->extent) : UINT64_MAX;
    if (!blocks)
        return UINT64_MAX;
    uint64_t at = start + (uint64_t)__builtin_ctzll(blocks) * file->block;
    return at > offset ? at : offset;
}

/* The first data at or after offset in the cache's dirty extents; UINT64_MAX: none. A program that
 * walks through a file finds the next ones near: so try each number in turn, at most as many as
 * there are extents, before searching the whole table. Under file->lock. */
static uint64_t dirty_data(struct bale_file *file, uint64_t offset)
{
    uint64_t best = UINT64_MAX;
    uint64_t number = offset / file->extent;

    for (size_t i = 0; i < file->table.count; i++) {
        const struct bale_extent *extent = bale_extent_find(&file->table, number + i);
        uint64_t at = extent ? dirty_in_extent(extent, offset) : UINT64_MAX;
        if (at != UINT64_MAX)
            return at;
    }
    for (const struct bale_extent *extent = bale_extent_next(&file->table, NULL); extent;
         extent = bale_extent_next(&file->table, extent)) {
        uint64_t at = dirty_in_extent(extent, offset);
        best = at < best ? at : best;
    }
    return best;
}

static bool is_data(const struct bale_segment *segment)
{
    return !(segment->flags & BALE_SEGMENT_UNWRITTEN);
}

/* The first committed data at or after offset; UINT64_MAX: none. */
static int committed_data(struct bale_file *file, uint64_t offset, uint64_t *found)
{
    struct bale_segment segment;
    int err;

    *found = UINT64_MAX;
    for (uint64_t at = offset;; at = segment.offset + segment.length) {
        err = bale_container_map(file->container, at, &segment);
        if (err != BALE_OK)
            return err == BALE_E_NOENT ? BALE_OK : err;
        if (is_data(&segment)) {
            *found = segment.offset > offset ? segment.offset : offset;
            return BALE_OK;
        }
    }
}

/* The end of the data that offset lies in. */
static int committed_end(struct bale_file *file, uint64_t offset, uint64_t *end)
{
    struct bale_segment segment;

    *end = offset;
    for (;;) {
        int err = bale_container_map(file->container, *end, &segment);
        if (err == BALE_E_NOENT ||
            (err == BALE_OK && (segment.offset > *end || !is_data(&segment))))
            return BALE_OK;
        if (err != BALE_OK)
            return err;
        *end = segment.offset + segment.length;
    }
}

static int64_t find(struct bale_file *file, uint64_t offset, bool data)
{
    for (;;) {
        uint64_t committed, end;
        pthread_mutex_lock(&file->lock);
        uint64_t size = file->size;
        uint64_t dirty = dirty_data(file, offset);
        pthread_mutex_unlock(&file->lock);
        if (offset >= size)
            return BALE_E_NOENT;
        int err = committed_data(file, offset, &committed);
        if (err != BALE_OK)
            return err;
        uint64_t first = dirty < committed ? dirty : committed;
        if (data)
            return first < size ? (int64_t)first : BALE_E_NOENT;
        if (first > offset)
            return (int64_t)offset;
        err = committed_end(file, offset, &end);
        if (err != BALE_OK)
            return err;
        if (dirty == offset) {
            uint64_t block = (offset % file->extent / file->block + 1) * file->block;
            uint64_t after =
                offset - offset % file->extent + (block < file->extent ? block : file->extent);
            end = end > after ? end : after;
        }
        if (end >= size)
            return (int64_t)size;
        offset = end;
    }
}

int64_t bale_file_seek(struct bale_file *file, uint64_t offset, bool data)
{
    unsigned tries = 0;
    uint64_t epoch;
    int64_t found;

    do {
        pthread_mutex_lock(&file->lock);
        bale_file_catch_up(file);
        epoch = file->epoch;
        pthread_mutex_unlock(&file->lock);
        found = find(file, offset, data);
    } while (bale_container_epoch(file->container, NULL) != epoch && ++tries < BALE_MOVED_TRIES);
    return found;
}
