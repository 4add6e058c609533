/* Writing the changed pages of an index, children before parents. All pages are loaded. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/index_node.h"

typedef struct bale_index_node node;

/* Pages at consecutive positions are written together. */
enum { BUFFER_PAGES = 16 };

struct writer {
    struct bale_index *index;
    const struct bale_index_space *space;
    uint64_t generation;
    uint64_t position; /* of the buffer's first byte */
    size_t used;
    uint8_t buffer[BUFFER_PAGES * BALE_PAGE_MAX];
};

static int flush_buffer(struct writer *w)
{
    const struct bale_io *io = w->index->io;
    int err = BALE_OK;

    if (w->used > 0)
        err = io->ops->write(w->index->io, w->buffer, w->used, w->position);
    w->used = 0;
    return err;
}

/* Makes room in the buffer for a page at position. */
static int make_room(struct writer *w, uint64_t position)
{
    int err = BALE_OK;

    if (position != w->position + w->used || w->used + BALE_PAGE_MAX > sizeof w->buffer)
        err = flush_buffer(w);
    if (w->used == 0)
        w->position = position;
    return err;
}

static int write_page(struct writer *w, node *n)
{
    uint32_t length = (uint32_t)bale_page_length(n->page.height, n->page.count);
    uint64_t position;
    int err;

    err = w->space->allocate(w->space->arg, length, &position);
    if (err != BALE_OK)
        return err;
    n->pending = (struct bale_ref){.position = position, .length = length};
    n->page.generation = w->generation;
    n->page.container_id = w->index->ctx.container_id;
    err = make_room(w, position);
    if (err != BALE_OK)
        return err;
    w->used += bale_page_encode(&n->page, w->buffer + w->used);
    n->pending.checksum = n->page.checksum;
    return BALE_OK;
}

static int write_below(struct writer *w, node *n)
{
    for (unsigned i = 0; n->page.height > 1 && i < n->page.count; i++) {
        node *child = n->child[i];
        int err;

        if (!child->dirty)
            continue;
        err = write_below(w, child);
        if (err != BALE_OK)
            return err;
        n->page.children[i].generation = child->page.generation;
        n->page.children[i].ref = child->pending;
    }
    return write_page(w, n);
}

/* Finds checksum and raw length of the frame at offset 0. Mostly they are known since it was
 * written. */
static int find_head(struct bale_index *index, const struct bale_segment *segment)
{
    struct bale_frame_head head;
    int err;

    if (index->head_raw_length != 0 && index->head_checksum == segment->checksum)
        return BALE_OK;
    err = bale_frame_head_read(index->io, segment->position, segment->frame_length, 0, &head, NULL);
    if (err == BALE_OK) {
        index->head_checksum = head.frame.head_checksum;
        index->head_raw_length = head.frame.raw_length;
    }
    free(head.data);
    return err;
}

/* Whether the index is the one segment that a direct root implies: such an index always has the
 * direct form. After an error in reading the head a page is written instead. */
static bool is_direct(struct bale_index *index)
{
    const struct bale_segment *segment;

    if (!index->top || index->top->page.height != 1 || index->top->page.count != 1)
        return false;
    segment = &index->top->page.segments[0];
    return segment->offset == 0 && segment->skip == 0 &&
           (segment->flags & BALE_SEGMENT_UNWRITTEN) == 0 && find_head(index, segment) == BALE_OK &&
           segment->checksum == index->head_checksum && segment->length == index->head_raw_length;
}

static int write_tree(struct bale_index *index, uint64_t generation,
                      const struct bale_index_space *space)
{
    struct writer *w = malloc(sizeof *w);
    int err;

    if (!w)
        return BALE_E_NOMEM;
    w->index = index;
    w->space = space;
    w->generation = generation;
    w->position = 0;
    w->used = 0;
    err = write_below(w, index->top);
    if (err == BALE_OK)
        err = flush_buffer(w);
    free(w);
    return err;
}

int bale_index_write(struct bale_index *index, uint64_t generation,
                     const struct bale_index_space *space, struct bale_ref *ref, uint8_t *height)
{
    node *top = index->top;
    int err;

    assert(index->loaded);
    *ref = (struct bale_ref){0};
    *height = 0;
    if (!top)
        return BALE_OK;
    if (top->dirty && is_direct(index)) {
        ref->position = top->page.segments[0].position;
        ref->length = top->page.segments[0].frame_length;
        ref->checksum = top->page.segments[0].checksum;
        *height = BALE_HEIGHT_DIRECT;
        return BALE_OK;
    }
    *height = top->page.height;
    if (!top->dirty) {
        *ref = top->ref;
        return BALE_OK;
    }
    err = write_tree(index, generation, space);
    *ref = top->pending;
    return err;
}

/* Ends the write of a page and of all below it. */
static void complete_page(const struct bale_index_space *space, bool ok, node *n)
{
    if (!n->dirty)
        return;
    for (unsigned i = 0; n->page.height > 1 && i < n->page.count; i++)
        complete_page(space, ok, n->child[i]);
    if (n->pending.length == 0)
        return;
    if (ok) {
        n->ref = n->pending;
        n->dirty = false;
    } else {
        space->release(space->arg, n->pending.position, n->pending.length);
    }
    n->pending = (struct bale_ref){0};
}

void bale_index_written(struct bale_index *index, const struct bale_index_space *space, bool ok)
{
    if (index->top)
        complete_page(space, ok, index->top);
    if (ok)
        index->changed = false;
    bale_index_drop_spares(index);
}
