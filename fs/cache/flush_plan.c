/* Which frames a flush makes of a dirty extent: one of the whole extent, or one of each dirty
 * run. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/cache/committed.h"
#include "fs/cache/evict.h"
#include "fs/cache/flush_plan.h"
#include "kernels/base/array.h"

/* What all steps of planning one take share. */
struct plan {
    struct bale_flush *flush;
    struct bale_take *take;
    struct bale_scratch *scratch;
};

static struct bale_piece *add_piece(const struct plan *plan, uint64_t offset, uint32_t length,
                                    uint8_t *raw)
{
    struct bale_take *take = plan->take;
    struct bale_piece *pieces =
        bale_array_grow(take->pieces, take->piece_count, &take->piece_room, sizeof *pieces);

    if (!pieces)
        return NULL;
    take->pieces = pieces;
    take->bytes += length;
    struct bale_piece *piece = &pieces[take->piece_count++];
    *piece = (struct bale_piece){.flush = plan->flush};
    piece->item.item.raw = raw;
    piece->item.item.frame.offset = offset;
    piece->item.item.frame.raw_length = length;
    piece->item.item.frame.chunk_log2 = BALE_CHUNK_LOG2_DEFAULT;
    piece->item.item.frame.generation = plan->flush->generation;
    return piece;
}

/* How many of the extent's blocks its largest frame would still provide if the dirty ones were
 * stored beside it. */
static unsigned base_blocks(const struct plan *plan, const struct bale_part *part)
{
    const struct bale_file *file = plan->flush->change->file;
    uint64_t start = part->number * file->extent, end = start + file->extent;
    struct {
        uint64_t position;
        uint64_t blocks;
    } frames[BALE_BLOCKS];
    unsigned count = 0, best = 0;
    struct bale_segment s;

    for (uint64_t at = start; at < end; at = s.offset + s.length) {
        if (bale_container_map(file->container, at, &s) != BALE_OK || s.offset >= end)
            break;
        if (s.flags & BALE_SEGMENT_UNWRITTEN)
            continue;
        uint64_t from = s.offset > start ? s.offset - start : 0;
        unsigned i = 0;
        while (i < count && frames[i].position != s.position)
            i++;
        if (i == BALE_BLOCKS)
            return 0;
        if (i == count) {
            frames[count].position = s.position;
            frames[count++].blocks = 0;
        }
        frames[i].blocks |= bale_blocks(file, from, s.offset + s.length - start);
        unsigned blocks = (unsigned)__builtin_popcountll(frames[i].blocks & ~part->dirty);
        best = blocks > best ? blocks : best;
    }
    return best;
}

/* Whether to store the whole extent, or only its dirty blocks beside the frames that are there. An
 * fsync is to write little. So is a close, but repeated appending must not leave many small frames.
 * In the background space matters more. On a full store there is space for what is dirty alone. */
static bool rewrites_whole(const struct plan *plan, const struct bale_part *part, uint64_t all)
{
    const struct bale_change *change = plan->flush->change;
    unsigned blocks = (unsigned)__builtin_popcountll(all);
    unsigned dirty = (unsigned)__builtin_popcountll(part->dirty & all);

    if (dirty == blocks)
        return true;
    if (change->sparing || atomic_load(&change->file->volume->full))
        return false;
    if (change->durable)
        return dirty * 2 >= blocks && (part->valid & all) == all;
    unsigned eighths = change->waiters ? 4 : 7;
    return base_blocks(plan, part) * 8 < eighths * blocks;
}

/* Assembles the whole extent's raw bytes in a block of the arena: valid blocks from the cache, the
 * rest from the container. NULL (no memory, damage): only the dirty blocks can be stored. */
static uint8_t *assemble(const struct plan *plan, const struct bale_part *part, uint32_t length)
{
    struct bale_file *file = plan->flush->change->file;
    uint64_t start = part->number * file->extent;
    uint8_t *raw = bale_cache_allocate(file->volume, length, NULL);

    if (!raw)
        return NULL;
    for (uint32_t at = 0; at < length;) {
        uint32_t end = at;
        bool valid = part->valid & bale_blocks(file, at, at + 1);
        while (end < length && valid == !!(part->valid & bale_blocks(file, end, end + 1)))
            end += file->block;
        end = end < length ? end : length;
        if (valid) {
            memcpy(raw + at, part->buffer->data + at, end - at);
        } else if (bale_file_read_committed(file, plan->scratch, start + at, start + end,
                                            raw + at) != BALE_OK) {
            bale_memory_free(file->volume->memory, raw, length);
            return NULL;
        }
        at = end;
    }
    return raw;
}

static int plan_runs(const struct plan *plan, const struct bale_part *part, uint32_t length)
{
    const struct bale_file *file = plan->flush->change->file;
    uint64_t start = part->number * file->extent;

    for (unsigned i = 0; i < BALE_BLOCKS; i++) {
        unsigned first = i;
        while (i < BALE_BLOCKS && (part->dirty >> i & 1))
            i++;
        uint64_t from = (uint64_t)first * file->block, to = (uint64_t)i * file->block;
        to = to < length ? to : length;
        if (from < to &&
            !add_piece(plan, start + from, (uint32_t)(to - from), part->buffer->data + from))
            return BALE_E_NOMEM;
    }
    return BALE_OK;
}

static int plan_part(const struct plan *plan, const struct bale_part *part)
{
    const struct bale_file *file = plan->flush->change->file;
    uint64_t start = part->number * file->extent;

    if (start >= plan->flush->size)
        return BALE_OK;
    uint64_t left = plan->flush->size - start;
    uint32_t length = left < file->extent ? (uint32_t)left : file->extent;
    uint64_t all = bale_blocks(file, 0, length);
    if (!rewrites_whole(plan, part, all))
        return plan_runs(plan, part, length);
    if ((part->valid & all) == all)
        return add_piece(plan, start, length, part->buffer->data) ? BALE_OK : BALE_E_NOMEM;
    uint8_t *raw = assemble(plan, part, length);
    if (!raw)
        return plan_runs(plan, part, length);
    struct bale_piece *piece = add_piece(plan, start, length, raw);
    if (!piece) {
        bale_memory_free(file->volume->memory, raw, length);
        return BALE_E_NOMEM;
    }
    piece->assembled = raw;
    return BALE_OK;
}

int bale_flush_plan(struct bale_flush *flush, struct bale_take *take, struct bale_scratch *scratch)
{
    const struct plan plan = {flush, take, scratch};
    int err = BALE_OK;

    for (size_t i = 0; i < take->part_count && err == BALE_OK; i++)
        err = plan_part(&plan, &take->parts[i]);
    return err;
}
