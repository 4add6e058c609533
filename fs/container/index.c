#include "fs/container/index.h"

#include <assert.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/index_node.h"

void bale_index_init(struct bale_index *index, struct bale_io *io, const struct bale_root *root,
                     uint32_t extent)
{
    *index = (struct bale_index){.io = io, .ctx = {.extent = extent}, .loaded = !root};
    if (!root)
        return;
    index->ctx = (struct bale_page_context){
        .container_id = root->container_id,
        .generation = root->generation,
        .end = root->end,
        .size = root->size,
        .extent = root->extent,
        .features = root->features,
    };
    index->ref = root->tree;
    index->height = root->height;
    index->root = *root;
    if (root->height == BALE_HEIGHT_SETTINGS)
        index->settings_ref = root->tree;
    index->stored = root->stored;
    index->loaded = root->height == 0;
}

void bale_index_clear(struct bale_index *index)
{
    bale_index_node_destroy(index, index->top);
    bale_index_drop_spares(index);
    if (index->first)
        free(index->first->data);
    free(index->first);
    free(index->released);
    *index = (struct bale_index){.io = index->io, .ctx = index->ctx, .loaded = true};
}

bool bale_index_take_first(struct bale_index *index, const struct bale_segment *segment,
                           struct bale_frame_head *head)
{
    if (!index->first || segment->position != index->ref.position ||
        segment->checksum != index->first->frame.head_checksum)
        return false;
    *head = *index->first;
    index->memory -= sizeof *head + head->length;
    free(index->first);
    index->first = NULL;
    return true;
}

int bale_index_find(struct bale_index *index, uint64_t offset, bool load,
                    struct bale_segment *segment)
{
    struct bale_cursor cursor;
    int err = bale_cursor_seek(index, offset, load, &cursor);

    if (err == BALE_OK)
        *segment = *bale_cursor_segment(&cursor);
    return err;
}

uint64_t bale_index_covered(const struct bale_index *index)
{
    const struct bale_index_node *node = index->top;

    assert(index->loaded);
    if (!node)
        return 0;
    while (node->page.height > 1)
        node = node->child[node->page.count - 1];
    return bale_segment_end(&node->page.segments[node->page.count - 1]);
}

static void count_pages(const struct bale_index_node *node, uint64_t *pages, uint64_t *bytes)
{
    ++*pages;
    *bytes += bale_page_length(node->page.height, node->page.count);
    for (unsigned i = 0; node->page.height > 1 && i < node->page.count; i++)
        count_pages(node->child[i], pages, bytes);
}

void bale_index_pages(const struct bale_index *index, uint64_t *pages, uint64_t *bytes)
{
    *pages = *bytes = 0;
    if (index->top && index->height != BALE_HEIGHT_DIRECT)
        count_pages(index->top, pages, bytes);
}
