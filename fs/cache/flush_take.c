/* Which dirty extents a flush takes, and the size that the file then has in the commit. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/extent.h"
#include "fs/cache/flush_plan.h"
#include "fs/cache/rounds.h"

static bool is_stream(const struct bale_flush *flush)
{
    return flush->change->kind == BALE_CHANGE_FLUSH_STREAM;
}

/* Whether a stream's flush may take the extent: it is whole, nobody writes to it, and what the
 * flush took before has no older bytes of it. */
static bool is_left_behind(const struct bale_file *file, const struct bale_extent *extent)
{
    return extent->dirty == bale_blocks(file, 0, file->extent) && !extent->filling &&
           !extent->flushing;
}

/* For a stream: the committed size ends where the first extent that stays dirty begins, so that a
 * commit never shows zeros where data was written. */
static uint64_t stream_size(const struct bale_file *file, uint64_t committed)
{
    uint64_t size = file->size;

    for (struct bale_extent *extent = file->dirty_first; extent; extent = extent->dirty_next) {
        uint64_t start = extent->number * file->extent;
        uint64_t end = start + file->extent;
        if (!is_left_behind(file, extent) && end > committed && start < size)
            size = start > committed ? start : committed;
    }
    return size;
}

/* The size that the commit gives the file. What an earlier take has counts as committed. */
static uint64_t size_of_commit(const struct bale_flush *flush)
{
    const struct bale_file *file = flush->change->file;
    struct bale_container_attr attr;

    if (!is_stream(flush))
        return file->size;
    bale_container_attr(file->container, &attr);
    return stream_size(file, flush->size > attr.size ? flush->size : attr.size);
}

static bool is_selected(const struct bale_flush *flush, const struct bale_extent *extent)
{
    const struct bale_file *file = flush->change->file;

    return !is_stream(flush) ||
           (is_left_behind(file, extent) && (extent->number + 1) * file->extent <= flush->size);
}

/* Waits until no selected extent is filling, and counts those. Waiting drops file->lock. */
static size_t await_selected(struct bale_flush *flush)
{
    struct bale_file *file = flush->change->file;
    size_t count;
    struct bale_extent *extent;

again:
    count = 0;
    flush->size = size_of_commit(flush);
    for (extent = file->dirty_first; extent; extent = extent->dirty_next) {
        bool selected = is_selected(flush, extent);
        if (selected && extent->filling) {
            bale_fill_await(file, extent);
            goto again;
        }
        count += selected;
    }
    return count;
}

static struct bale_take *create_take(size_t parts)
{
    struct bale_take *take = calloc(1, sizeof *take);

    if (!take)
        return NULL;
    take->parts = calloc(parts ? parts : 1, sizeof *take->parts);
    if (take->parts)
        return take;
    free(take);
    return NULL;
}

int bale_flush_take(struct bale_flush *flush, struct bale_take **taken)
{
    struct bale_file *file = flush->change->file;
    size_t count = await_selected(flush);
    struct bale_take *take = NULL;

    *taken = NULL;
    if (count > 0 || !is_stream(flush)) {
        take = create_take(count);
        if (!take)
            return BALE_E_NOMEM;
    }
    for (struct bale_extent *extent = take ? file->dirty_first : NULL, *next; extent;
         extent = next) {
        next = extent->dirty_next;
        if (is_selected(flush, extent)) {
            take->parts[take->part_count++] = (struct bale_part){
                extent, extent->buffer, extent->number, extent->valid, extent->dirty};
            bale_extent_buffer_ref(extent->buffer);
            bale_extent_start_flush(extent);
        }
    }
    file->passed_over = file->dirty - file->flushing;
    if (!take)
        return BALE_OK;
    take->setting = bale_rounds_setting(file);
    flush->mtime = file->mtime;
    flush->rounds = bale_rounds_record(file);
    flush->greatest_step = file->greatest_step;
    *taken = take;
    return BALE_OK;
}

void bale_take_release(struct bale_file *file, struct bale_take *take, bool stored)
{
    for (size_t i = 0; i < take->part_count; i++) {
        bale_extent_end_flush(take->parts[i].extent, stored);
        bale_extent_buffer_unref(take->parts[i].buffer);
    }
    for (size_t i = 0; i < take->piece_count; i++) {
        bale_memory_free(file->volume->memory, take->pieces[i].assembled,
                         take->pieces[i].item.item.frame.raw_length);
    }
    free(take->parts);
    free(take->pieces);
    free(take);
}
