/* bale_container_clone: sharing blocks of the backing file system between two containers. Positions
 * within a block are the same in both, so that all whole blocks of a run are shared. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/container/internal.h"

#define BLOCK 4096u /* the usual unit of sharing */
#define ALIGN 8u    /* of the positions of frames */
/* Generations grow with each commit: no honest container comes near. */
#define GENERATION_MOST ((uint64_t)1 << 62)

static uint64_t aligned(uint64_t position)
{
    return (position + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
}

static uint64_t end_of(const struct bale_segment *segment)
{
    return segment->position + segment->frame_length;
}

bool bale_container_adjoins(const struct bale_segment *before, const struct bale_segment *after)
{
    return before->position % ALIGN == 0 && after->position == aligned(end_of(before));
}

/* BALE_E_NOENT: the bytes between two frames, which belong to neither, are not zeros. They may be
 * what a file had there once, and must not be cloned with the frames. */
static int gaps_are_zero(struct bale_container *from, const struct bale_segment *segments,
                         size_t count)
{
    uint8_t gap[ALIGN];
    size_t got = 0;

    for (size_t i = 0; i + 1 < count && bale_container_has_slack(from); i++) {
        size_t length = (size_t)(segments[i + 1].position - end_of(&segments[i]));
        int err = length > 0
                      ? from->io->ops->read(from->io, gap, length, end_of(&segments[i]), &got)
                      : BALE_OK;
        for (size_t j = 0; j < length && j < got && err == BALE_OK; j++)
            err = gap[j] == 0 ? BALE_OK : BALE_E_NOENT;
        if (err != BALE_OK)
            return err;
    }
    return BALE_OK;
}

/* Takes over the generations of the frames, which do not change, and raises the transaction's to
 * the newest. They must differ from those of frames that may be durable in this container.
 * BALE_E_NOENT: they do not. */
static int take_generations(struct bale_container *c, const struct bale_segment *segments,
                            size_t count, uint64_t *least)
{
    uint64_t most = 0;

    *least = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        most = segments[i].generation > most ? segments[i].generation : most;
        *least = segments[i].generation < *least ? segments[i].generation : *least;
    }
    if (most > GENERATION_MOST || *least <= c->durable)
        return BALE_E_NOENT;
    c->generation = most > c->generation ? most : c->generation;
    return BALE_OK;
}

/* Allocates length bytes whose position within its block is that of `like`. */
static int allocate_like(struct bale_container *c, uint64_t like, uint64_t length,
                         uint64_t *position)
{
    uint64_t room = length + BLOCK, first;
    int err = bale_space_allocate(c, room, &first);

    if (err != BALE_OK)
        return err;
    *position = first + (like - first) % BLOCK;
    if (*position > first)
        bale_space_release(c, first, *position - first);
    bale_space_release(c, *position + length, first + room - (*position + length));
    return BALE_OK;
}

static int copy_edge(struct bale_container *c, struct bale_container *from, uint64_t source,
                     uint64_t length, uint64_t position)
{
    uint8_t edge[BLOCK];
    size_t got = 0;

    if (length == 0)
        return BALE_OK;
    int err = from->io->ops->read(from->io, edge, (size_t)length, source, &got);
    if (err == BALE_OK && got < length)
        err = BALE_E_NOENT;
    return err == BALE_OK ? c->io->ops->write(c->io, edge, (size_t)length, position) : err;
}

static int share(struct bale_container *c, struct bale_container *from, uint64_t source,
                 uint64_t end, uint64_t position)
{
    uint64_t first = (source + BLOCK - 1) / BLOCK * BLOCK, last = end / BLOCK * BLOCK;
    int err = c->io->ops->clone(c->io, from->io, first, last - first, position + (first - source));

    if (err == BALE_OK)
        err = copy_edge(c, from, source, first - source, position);
    if (err == BALE_OK)
        err = copy_edge(c, from, last, end - last, position + (last - source));
    return err;
}

/* Notes the frames as written, as bale_container_write_frame does for each. */
static int note_frames(struct bale_container *c, const struct bale_segment *segments, size_t count,
                       uint64_t position)
{
    int err = BALE_OK;

    pthread_mutex_lock(&c->space.lock);
    for (size_t i = 0; i < count && err == BALE_OK; i++) {
        err = bale_free_map_release(&c->space.written,
                                    position + (segments[i].position - segments[0].position),
                                    segments[i].frame_length);
        if (segments[i].offset == 0) {
            c->space.head_checksum = segments[i].checksum;
            c->space.head_raw_length = segments[i].length;
        }
    }
    pthread_mutex_unlock(&c->space.lock);
    return err;
}

int bale_container_clone(struct bale_container *c, struct bale_container *from,
                         const struct bale_segment *segments, size_t count, uint64_t *position)
{
    uint64_t source = segments[0].position, end = end_of(&segments[count - 1]);
    uint64_t length = aligned(end - source), size, least;

    if (bale_container_is_broken(c))
        return BALE_E_IO;
    if (!c->io->ops->clone)
        return BALE_E_UNSUPPORTED;
    int err = from->io->ops->size(from->io, &size);
    if (err == BALE_OK &&
        (end > size || end - source < 2 * BLOCK || source % ALIGN || c->space.free.align != ALIGN))
        err = BALE_E_NOENT;
    if (err == BALE_OK)
        err = gaps_are_zero(from, segments, count);
    if (err == BALE_OK)
        err = bale_container_write_first(c);
    if (err == BALE_OK)
        err = take_generations(c, segments, count, &least);
    if (err == BALE_OK)
        err = allocate_like(c, source, length, position);
    if (err != BALE_OK)
        return err;
    err = share(c, from, source, end, *position);
    if (err == BALE_OK)
        err = note_frames(c, segments, count, *position);
    if (err != BALE_OK) {
        atomic_store(&c->slack, true);
        bale_space_release(c, *position, length);
        return err == BALE_E_UNSUPPORTED || err == BALE_E_NOENT ? err
                                                                : bale_container_failed(c, err);
    }
    c->cloned = c->cloned > 0 && c->cloned < least ? c->cloned : least;
    return BALE_OK;
}
