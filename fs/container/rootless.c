/* Opening a container that has lost both roots. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "fs/container/candidates.h"
#include "fs/container/internal.h"
#include "fs/container/repair.h"

static bool has_frame_of(const struct bale_page *page, const struct bale_candidates *all)
{
    for (unsigned i = 0; i < page->count; i++) {
        const struct bale_segment *frame = bale_candidates_at(all, page->segments[i].position);
        if (frame && bale_segment_same_frame(frame, &page->segments[i]))
            return true;
    }
    return false;
}

/* Whether a page refers to a frame that is there. In an archive or the image of a disk that has a
 * container, it is somewhere else. *found is not set after an error. */
static int find_page(struct bale_io *io, const struct bale_page_context *ctx,
                     const struct bale_candidates *all, bool *found)
{
    struct bale_page *page = malloc(sizeof *page);
    int err = page ? BALE_OK : BALE_E_NOMEM;

    for (size_t i = 0; err == BALE_OK && !*found && i < all->page_count; i++) {
        if (all->pages[i].height != 1)
            continue;
        err = bale_candidates_read_page(io, ctx, &all->pages[i].ref, page);
        *found = err == BALE_OK && has_frame_of(page, all);
    }
    free(page);
    return err;
}

/* Whether this was a container: a root slot has the magic, or both slots are zeros and a frame
 * follows them directly, or there is a valid page of an index. */
static int was_container(struct bale_io *io, const struct bale_page_context *ctx,
                         const struct bale_candidates *all)
{
    static const uint8_t zeros[BALE_DATA_START];
    uint8_t head[BALE_DATA_START] = {0};
    size_t length;
    int err = io->ops->read(io, head, sizeof head, 0, &length);

    if (err != BALE_OK)
        return err;
    bool ours = memcmp(head, "BALE", 4) == 0 || memcmp(head + BALE_ROOT_SIZE, "BALE", 4) == 0 ||
                (memcmp(head, zeros, sizeof head) == 0 && all->frame_count > 0 &&
                 all->frames[0].position == BALE_DATA_START);
    if (!ours)
        err = find_page(io, ctx, all, &ours);
    if (err != BALE_OK)
        return err;
    return ours && all->frame_count > 0 ? BALE_OK : BALE_E_CORRUPT;
}

static bool extent_fits(const struct bale_candidates *all, uint32_t extent)
{
    for (size_t i = 0; i < all->frame_count; i++) {
        const struct bale_segment *frame = &all->frames[i];
        if (frame->offset / extent != (frame->offset + frame->length - 1) / extent)
            return false;
    }
    return true;
}

/* The extent size that suits all frames: the default one if it does, or the smallest. */
static uint32_t find_extent(const struct bale_candidates *all, uint32_t usual)
{
    uint32_t extent = BALE_EXTENT_MIN;

    if (extent_fits(all, usual))
        return usual;
    while (extent < BALE_EXTENT_MAX && !extent_fits(all, extent))
        extent *= 2;
    return extent;
}

/* Sets what frames and pages show. The root refers to an index page that does not exist, so that
 * all of the index counts as lost. */
static void fill_root(const struct bale_candidates *all, const struct bale_container_attr *defaults,
                      struct bale_root *root)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    root->mtime = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    root->extent = find_extent(all, defaults->extent);
    root->codec = defaults->setting.codec;
    root->parameter = (uint16_t)defaults->setting.parameter;
    root->stored = UINT64_MAX; /* not known: no sum of lengths is the right one */
    root->height = 1;
    root->tree.length = (uint32_t)bale_page_length(1, 1);
    for (size_t i = 0; i < all->frame_count; i++) {
        const struct bale_segment *frame = &all->frames[i];
        uint64_t end = frame->offset + frame->length;
        root->size = end > root->size ? end : root->size;
        if (frame->generation > root->generation)
            root->generation = frame->generation;
        if (bale_codec_has_part(frame->codec))
            root->features |= BALE_FEATURE_PARTS;
    }
    for (size_t i = 0; i < all->page_count; i++)
        if (all->pages[i].generation >= root->generation) {
            root->generation = all->pages[i].generation;
            root->container_id = all->pages[i].container_id;
        }
}

/* Allows what any root would allow. */
static const struct bale_page_context any = {.generation = BALE_SIZE_MAX,
                                             .size = BALE_SIZE_MAX,
                                             .extent = BALE_EXTENT_MAX,
                                             .features = BALE_FEATURE_PARTS};

int bale_container_has_frames(struct bale_container *c)
{
    struct bale_page_context ctx = any;
    struct bale_candidates all = {0};
    int err = c->io->ops->size(c->io, &ctx.end);

    if (err == BALE_OK)
        err = bale_candidates_find(c->io, &ctx, &all);
    int result = err == BALE_OK ? all.frame_count > 0 : err;
    bale_candidates_clear(&all);
    return result;
}

static int make_root(struct bale_container *c, const struct bale_container_attr *defaults)
{
    struct bale_page_context ctx = any;
    struct bale_candidates all = {0};
    int err = c->io->ops->size(c->io, &ctx.end);

    if (err == BALE_OK)
        err = bale_candidates_find(c->io, &ctx, &all);
    if (err == BALE_OK)
        err = was_container(c->io, &ctx, &all);
    if (err == BALE_OK) {
        fill_root(&all, defaults, &c->root);
        c->root.end = ctx.end;
        /* Permit nobody but the owner, until somebody decides. */
        c->root.mode = c->config->modes_in_container ? BALE_ROOT_MODE_IN_CONTAINER | 0600 : 0;
        err = bale_container_make_id(&c->root.container_id);
    }
    bale_candidates_clear(&all);
    return err;
}

int bale_container_open_rootless(struct bale_io *io, const struct bale_container_config *config,
                                 const struct bale_container_attr *defaults,
                                 struct bale_container **container)
{
    struct bale_container *c = bale_container_create(io, config);
    int err = c ? make_root(c, defaults) : BALE_E_NOMEM;

    *container = NULL;
    if (err != BALE_OK) {
        if (c)
            (void)bale_container_destroy(c);
        return err;
    }
    c->generation = c->root.generation;
    c->read_only = true;
    bale_container_root_attr(&c->root, &c->attr);
    bale_index_init(&c->index, io, &c->root, c->root.extent);
    c->next = c->attr;
    *container = c;
    return BALE_OK;
}
