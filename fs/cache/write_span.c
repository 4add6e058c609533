#include "fs/cache/write_span.h"

#include <string.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/evict.h"
#include "fs/cache/fill.h"
#include "fs/cache/rounds.h"
#include "kernels/round/piece.h"

/* Copies this small are cheaper under the lock than without it. */
#define COPY_LOCKED ((size_t)16 << 10)

/* The blocks at the ends of [from, to) that the write covers only in part, whose other bytes lie in
 * the file (beyond its end they are zeros) and are not valid yet. */
static uint64_t missing_edges(struct bale_extent *extent, uint64_t from, uint64_t to)
{
    struct bale_file *file = extent->file;
    uint64_t start = extent->number * file->extent;
    uint64_t edges = 0;

    if (from % file->block)
        edges |= bale_blocks(file, from, from + 1);
    if (to % file->block && start + to < file->size)
        edges |= bale_blocks(file, to - 1, to);
    edges &= ~extent->valid;
    uint64_t inside =
        file->size > start
            ? bale_blocks(file, 0,
                          file->size - start < file->extent ? file->size - start : file->extent)
            : 0;
    return edges & inside;
}

/* Blocks beyond the committed size are zeros: makes them valid without reading. Returns the
 * others. */
static uint64_t zero_uncommitted(struct bale_extent *extent, uint64_t missing)
{
    const struct bale_file *file = extent->file;
    uint64_t start = extent->number * file->extent;
    struct bale_container_attr attr;

    bale_container_attr(file->container, &attr);
    for (uint64_t left = missing; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (start + (uint64_t)i * file->block >= attr.size) {
            memset(extent->buffer->data + (size_t)i * file->block, 0, file->block);
            extent->valid |= (uint64_t)1 << i;
        }
    }
    return missing & ~extent->valid;
}

/* Clears the bytes around the written ones in blocks that are not valid. */
static void clear_edges(struct bale_extent *extent, uint64_t from, uint64_t to)
{
    size_t block = extent->file->block;
    uint64_t first = from - from % block, last = (to + block - 1) / block * block;
    uint8_t *data = extent->buffer->data;

    if (from > first && !(extent->valid & bale_blocks(extent->file, first, first + 1)))
        memset(data + first, 0, from - first);
    if (last > to && !(extent->valid & bale_blocks(extent->file, last - 1, last)))
        memset(data + to, 0, last - to);
}

/* Under file->lock. */
static void note_change(struct bale_file *file, uint64_t end)
{
    if (end > file->size)
        file->size = end;
    file->mtime = file->ctime = bale_file_now_locked(file);
    file->attr_dirty = true;
}

/* Logs it once, as programs try again. Under file->lock, for the label. */
static void warn_too_wide(const struct bale_file *file)
{
    uint64_t cap = bale_memory_cap(file->volume->memory);

    if (!atomic_exchange(&file->volume->warned_too_wide, true)) {
        bale_log(BALE_LOG_ERROR,
                 "%s: its extents of %u KiB do not fit into half of the memory of %llu MiB: "
                 "writing fails: mount with -o memory=%lluM",
                 file->label, file->extent >> 10, (unsigned long long)cap >> 20,
                 (2ull * file->extent + (1u << 20) - 1) >> 20);
    }
}

/* Makes the blocks at the ends valid if the write needs that. Under file->lock. */
static enum bale_write_progress fill_edges(struct bale_extent *extent, uint64_t from, uint64_t to,
                                           struct bale_scratch *scratch, int *err)
{
    uint64_t missing = missing_edges(extent, from, to);

    missing = missing ? zero_uncommitted(extent, missing) : 0;
    if (!missing)
        return BALE_WRITE_DONE;
    if (!scratch) {
        bale_lru_add_idle(extent);
        return BALE_WRITE_NEEDS_THREAD;
    }
    *err = bale_extent_fill(extent, missing, scratch);
    if (*err != BALE_OK && *err != BALE_E_STALE)
        return BALE_WRITE_DONE;
    *err = BALE_OK;
    return BALE_WRITE_RETRY;
}

/* False: the extent was detached meanwhile. Under file->lock, which a long copy drops. */
static bool copy_in(struct bale_extent *extent, const struct bale_write_span *span)
{
    struct bale_file *file = extent->file;
    const uint64_t blocks = bale_blocks(file, span->from, span->to);
    const uint64_t at = span->number * file->extent + span->from;
    const size_t length = span->to - span->from;
    uint8_t *out = extent->buffer->data + span->from;
    struct bale_field rounded = {0};

    if (!span->exact)
        rounded = bale_rounds_field(file);
    clear_edges(extent, span->from, span->to);
    if (length <= COPY_LOCKED) {
        bale_round_written(&rounded, at, out, span->data, length);
        return true;
    }
    bale_fill_begin(extent, blocks);
    pthread_mutex_unlock(&file->lock);
    bale_round_written(&rounded, at, out, span->data, length);
    pthread_mutex_lock(&file->lock);
    return bale_fill_end(extent, blocks, BALE_OK) == BALE_OK;
}

/* Reads the file's first bytes if they decide what is rounded. */
static enum bale_write_progress load_begin(struct bale_file *file, struct bale_scratch *scratch,
                                           int *err)
{
    if (bale_rounds_is_pending(file) && !scratch)
        return BALE_WRITE_NEEDS_THREAD;
    *err = bale_rounds_load(file, scratch);
    return BALE_WRITE_DONE;
}

/* Under file->lock. BALE_WRITE_RETRY: it was dropped, and the extent is to be found again. */
static enum bale_write_progress try_span(struct bale_file *file, const struct bale_write_span *span,
                                         struct bale_scratch *scratch, int *err)
{
    const uint64_t number = span->number, from = span->from, to = span->to;
    uint64_t blocks = bale_blocks(file, from, to);
    struct bale_extent *extent = bale_extent_find(&file->table, number);

    if (extent && extent->filling &&
        ((extent->filling & blocks) || extent->shared || !bale_extent_has_room(extent, to))) {
        if (!scratch)
            return BALE_WRITE_NEEDS_THREAD;
        bale_fill_await(file, extent);
        return BALE_WRITE_RETRY;
    }
    extent = bale_extent_get(file, number, to);
    if (!extent && to > bale_memory_cap(file->volume->memory) / 2) {
        warn_too_wide(file);
        *err = BALE_E_NOMEM; /* waiting does not help: growing needs the old buffer and the new */
        return BALE_WRITE_DONE;
    }
    if (!extent || bale_extent_own(extent) != BALE_OK)
        return BALE_WRITE_MUST_WAIT;
    enum bale_write_progress progress = fill_edges(extent, from, to, scratch, err);
    if (progress != BALE_WRITE_DONE || *err != BALE_OK)
        return progress;
    *err = bale_rounds_note(extent, from, span->data, to - from);
    if (*err != BALE_OK)
        return BALE_WRITE_DONE;
    if (!copy_in(extent, span))
        return BALE_WRITE_RETRY;
    bale_extent_mark_dirty(extent, blocks);
    note_change(file, number * file->extent + to);
    return BALE_WRITE_DONE;
}

static bool is_given_up(const struct bale_write_span *span)
{
    return span->given_up && atomic_load(span->given_up);
}

enum bale_write_progress bale_write_span(struct bale_file *file, const struct bale_write_span *span,
                                         struct bale_scratch *scratch, int *err)
{
    uint32_t unit = file->extent;
    enum bale_write_progress progress = BALE_WRITE_RETRY;

    while (progress == BALE_WRITE_RETRY) {
        progress = load_begin(file, scratch, err);
        if (progress == BALE_WRITE_DONE && *err == BALE_OK && is_given_up(span))
            *err = BALE_E_CANCELLED;
        if (progress == BALE_WRITE_DONE && *err == BALE_OK)
            progress =
                file->extent == unit ? try_span(file, span, scratch, err) : BALE_WRITE_RESIZED;
    }
    return progress;
}
