/* The space of a container: what is free, deferred frees, and what is given back to the backing
 * file system. */
#include <assert.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/container/claims.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"
#include "kernels/base/array.h"

#define BLOCK 4096u /* punching a smaller hole frees no block */

/* Trimming must give back more than 1/TRIM_PART of the live bytes. */
#define TRIM_PART 16u

struct space_build {
    struct bale_claims claims;
    struct bale_frame_set frames;
    uint64_t stored;
    uint64_t unwritten;
};

static int build_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct space_build *build = arg;

    (void)page;
    return bale_claims_add(&build->claims, ref->position, ref->length, 0);
}

static int build_segment(void *arg, const struct bale_segment *segment)
{
    struct space_build *build = arg;
    int added;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0) {
        build->unwritten += segment->length;
        return BALE_OK;
    }
    added = bale_frame_set_add(&build->frames, segment);
    if (added != 1)
        return added;
    build->stored += segment->frame_length;
    return bale_claims_add(&build->claims, segment->position, segment->frame_length,
                           segment->offset);
}

/* Where the blocks end that unwritten segments need. Under space.lock. */
static uint64_t backed_end(const struct bale_container *c)
{
    return c->index.unwritten > 0 ? c->space.free.end + c->index.unwritten : 0;
}

int bale_space_build(struct bale_container *c)
{
    struct space_build build = {0};
    const struct bale_index_visitor visitor = {
        .arg = &build, .page = build_page, .segment = build_segment};
    struct bale_free_map map;
    size_t first = 0;
    int err;

    bale_frame_set_init(&build.frames, c->index.ctx.extent);
    pthread_rwlock_wrlock(&c->index_lock);
    err = bale_index_load_all(&c->index, &visitor);
    if (err == BALE_OK) {
        c->index.stored = build.stored;
        c->index.unwritten = build.unwritten;
    }
    pthread_rwlock_unlock(&c->index_lock);
    bale_frame_set_clear(&build.frames);
    if (err != BALE_OK)
        goto out;
    bale_claims_sort(&build.claims);
    if (bale_claims_overlap(&build.claims, &first)) {
        err = BALE_E_CORRUPT;
        goto out;
    }
    err = bale_claims_invert(&build.claims, BALE_DATA_START, &map);
    if (err != BALE_OK)
        goto out;
    pthread_mutex_lock(&c->space.lock);
    bale_free_map_clear(&c->space.free);
    c->space.free = map;
    c->space.written.align = map.align;
    pthread_mutex_unlock(&c->space.lock);
    if (!c->opened_empty)
        err = c->io->ops->size(c->io, &c->space.high);
    c->space.backed = backed_end(c);
out:
    bale_claims_clear(&build.claims);
    return err;
}

void bale_space_clear(struct bale_container *c)
{
    bale_free_map_clear(&c->space.free);
    bale_free_map_clear(&c->space.written);
    free(c->space.deferred);
}

int bale_space_allocate(struct bale_container *c, uint64_t length, uint64_t *position)
{
    int err;

    pthread_mutex_lock(&c->space.lock);
    err = bale_free_map_allocate(&c->space.free, length, position);
    if (c->space.punched > c->space.free.bytes)
        c->space.punched = c->space.free.bytes;
    if (c->space.high < c->space.free.end)
        c->space.high = c->space.free.end;
    pthread_mutex_unlock(&c->space.lock);
    return err;
}

/* Without memory for the map the space is lost until the container is opened again. */
static void make_free(struct bale_container *c, uint64_t position, uint64_t length)
{
    int err = bale_free_map_release(&c->space.free, position, length);

    assert(err != BALE_E_INVALID);
    (void)err;
}

void bale_space_release(struct bale_container *c, uint64_t position, uint64_t length)
{
    pthread_mutex_lock(&c->space.lock);
    make_free(c, position, length);
    pthread_mutex_unlock(&c->space.lock);
}

/* Without memory the space is lost until the container is opened again. */
static void defer_free(struct bale_container *c, const struct bale_index_release *released)
{
    struct bale_deferred_free *grown = bale_array_grow(c->space.deferred, c->space.deferred_count,
                                                       &c->space.deferred_capacity, sizeof *grown);

    if (!grown)
        return;
    c->space.deferred = grown;
    c->space.deferred[c->space.deferred_count++] =
        (struct bale_deferred_free){.position = released->position, .length = released->length};
    c->space.deferred_bytes += released->length;
}

void bale_space_reclaim(struct bale_container *c, bool committed, size_t from)
{
    struct bale_index *index = &c->index;
    size_t left = from;

    if (index->gave_up)
        atomic_store(&c->slack, true);
    index->gave_up = false;
    pthread_mutex_lock(&c->space.lock);
    for (size_t i = from; i < index->released_count; i++) {
        const struct bale_index_release *released = &index->released[i];

        if (released->generation > (committed ? c->durable : c->root.generation))
            make_free(c, released->position, released->length);
        else if (committed)
            defer_free(c, released);
        else
            index->released[left++] = *released;
    }
    index->released_count = left;
    pthread_mutex_unlock(&c->space.lock);
}

void bale_space_free_deferred(struct bale_container *c)
{
    pthread_mutex_lock(&c->space.lock);
    for (size_t i = 0; i < c->space.deferred_count; i++)
        make_free(c, c->space.deferred[i].position, c->space.deferred[i].length);
    c->space.deferred_count = 0;
    c->space.deferred_bytes = 0;
    pthread_mutex_unlock(&c->space.lock);
}

static int free_frame(void *arg, uint64_t position, uint64_t length)
{
    struct bale_container *c = arg;

    make_free(c, position, length);
    return 0;
}

void bale_space_free_unreferenced(struct bale_container *c)
{
    pthread_mutex_lock(&c->space.lock);
    if (c->space.written.count > 0)
        atomic_store(&c->slack, true);
    (void)bale_free_map_each(&c->space.written, free_frame, c);
    bale_free_map_clear(&c->space.written);
    pthread_mutex_unlock(&c->space.lock);
}

/* Gives back the blocks beyond backed_end(). Cutting a file to a size that it has frees what lies
 * beyond, while punching a hole there does nothing on ext4. The blocks that stay are never freed in
 * between, as somebody else could take them: the file becomes long enough to have them. Under
 * space.lock. */
static int give_back(struct bale_container *c)
{
    uint64_t keep = backed_end(c), size, cut;
    int err = c->io->ops->size(c->io, &size);

    if (err == BALE_OK && size < keep) {
        size = keep;
        err = c->io->ops->truncate(c->io, size);
    }
    cut = keep > c->space.free.end ? keep : c->space.free.end;
    cut = cut < size ? cut : size;
    if (err == BALE_OK)
        err = c->io->ops->truncate(c->io, cut);
    if (err == BALE_OK) {
        c->space.high = cut;
        c->space.backed = keep;
    }
    return err;
}

void bale_space_give_back(struct bale_container *c)
{
    pthread_mutex_lock(&c->space.lock);
    uint64_t end = backed_end(c);
    end = end > c->space.free.end ? end : c->space.free.end;
    if (c->space.backed >= end + BLOCK)
        (void)give_back(c);
    pthread_mutex_unlock(&c->space.lock);
}

int bale_space_preallocate(struct bale_container *c, uint64_t extra)
{
    uint64_t bytes = c->index.unwritten + extra;
    int err;

    if (bytes == 0)
        return BALE_OK;
    pthread_mutex_lock(&c->space.lock);
    uint64_t end = c->space.free.end;
    err = c->io->ops->allocate(c->io, end, bytes);
    if (err == BALE_OK && end + bytes > c->space.backed)
        c->space.backed = end + bytes;
    else if (err != BALE_OK && err != BALE_E_UNSUPPORTED)
        (void)give_back(c); /* the error that counts is the allocation's */
    pthread_mutex_unlock(&c->space.lock);
    return err == BALE_E_UNSUPPORTED ? BALE_OK : err;
}

static int punch_range(void *arg, uint64_t position, uint64_t length)
{
    struct bale_container *c = arg;
    uint64_t first = (position + BLOCK - 1) / BLOCK * BLOCK;
    int err;

    if (first + BLOCK > position + length)
        return BALE_OK;
    err = c->io->ops->punch(c->io, position, length); /* zeroes the blocks at its edges in part */
    if (err == BALE_E_UNSUPPORTED)
        c->punchable = false;
    return err;
}

/* Bytes that are worth giving back. */
struct space_trim {
    uint64_t end; /* of what is used */
    uint64_t tail, holes, excess;
};

/* Under space.lock. */
static struct space_trim what_to_trim(const struct bale_container *c)
{
    bool used = c->root.generation > 0 ||
                c->index.top; /* by a root on disk, or by changes not committed yet */
    uint64_t backed = backed_end(c);
    struct space_trim t = {.end = !used ? 0 : backed ? backed : c->space.free.end};

    t.tail = c->space.high > t.end ? c->space.high - t.end : 0;
    t.holes = used && c->punchable ? c->space.free.bytes - c->space.punched : 0;
    t.excess = c->space.backed > t.end + t.tail ? c->space.backed - (t.end + t.tail) : 0;
    uint64_t all = t.tail + t.holes + t.excess;
    if (used && (all < BLOCK || all <= c->index.stored / TRIM_PART))
        t.tail = t.holes = t.excess = 0;
    return t;
}

bool bale_space_is_trim(struct bale_container *c)
{
    pthread_mutex_lock(&c->space.lock);
    struct space_trim t = what_to_trim(c);
    bool backed = c->space.backed > t.end;
    pthread_mutex_unlock(&c->space.lock);
    return t.tail + t.holes + (backed ? t.excess : 0) == 0;
}

int bale_space_trim(struct bale_container *c)
{
    int err = BALE_OK;

    pthread_mutex_lock(&c->space.lock);
    struct space_trim t = what_to_trim(c);
    if (t.tail > 0)
        err = c->io->ops->truncate(c->io, t.end);
    if (t.tail > 0 && err == BALE_OK)
        c->space.high = t.end;
    if (t.tail + t.excess > 0 && c->space.backed > t.end && err == BALE_OK)
        err = give_back(c);
    if (t.holes > 0 && err == BALE_OK) {
        err = bale_free_map_each(&c->space.free, punch_range, c);
        if (err == BALE_E_UNSUPPORTED)
            err = BALE_OK;
        c->space.punched = c->space.free.bytes;
    }
    pthread_mutex_unlock(&c->space.lock);
    return err == BALE_OK && t.tail > 0 ? bale_space_preallocate(c, 0) : err;
}
