/* Creating, reading and freeing pages in memory. */
#include "fs/container/index_node.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/container/frame_io.h"

static size_t node_size(uint8_t height)
{
    size_t children = height > 1 ? BALE_PAGE_INNER_RECORDS : 0;

    return sizeof(struct bale_index_node) + children * sizeof(struct bale_index_node *);
}

struct bale_index_node *bale_index_node_create(struct bale_index *index, uint8_t height)
{
    struct bale_index_node *node = malloc(node_size(height));

    if (!node)
        return NULL;
    node->next = NULL;
    node->ref = node->pending = (struct bale_ref){0};
    node->dirty = false;
    node->size = node_size(height);
    node->page.height = height;
    node->page.count = 0;
    node->page.generation = 0;
    for (unsigned i = 0; height > 1 && i < BALE_PAGE_INNER_RECORDS; i++)
        node->child[i] = NULL;
    index->memory += node->size;
    return node;
}

void bale_index_node_destroy(struct bale_index *index, struct bale_index_node *node)
{
    if (!node)
        return;
    for (unsigned i = 0; node->page.height > 1 && i < node->page.count; i++)
        bale_index_node_destroy(index, node->child[i]);
    index->memory -= node->size;
    free(node);
}

struct bale_index_expect bale_index_expect_child(const struct bale_page *page, unsigned i,
                                                 uint64_t upper)
{
    return (struct bale_index_expect){
        .generation = page->children[i].generation,
        .limit = page->generation,
        .first = page->children[i].first,
        .upper = i + 1u < page->count ? page->children[i + 1].first : upper,
        .height = (uint8_t)(page->height - 1),
    };
}

int bale_index_node_read(struct bale_index *index, const struct bale_ref *ref,
                         const struct bale_index_expect *expect, struct bale_index_node **node)
{
    struct bale_page_context ctx = index->ctx;
    uint8_t bytes[BALE_PAGE_MAX];
    struct bale_index_node *n;
    int err;

    *node = NULL;
    if (ref->length > sizeof bytes)
        return BALE_E_CORRUPT;
    err = bale_frame_bytes_read(index->io, bytes, ref->length, ref->position, NULL);
    if (err != BALE_OK)
        return err;
    n = bale_index_node_create(index, expect->height);
    if (!n)
        return BALE_E_NOMEM;
    ctx.generation = expect->limit;
    err = bale_page_decode(bytes, ref, &ctx, &n->page);
    if (err == BALE_OK && (n->page.height != expect->height ||
                           (expect->generation != 0 && n->page.generation != expect->generation) ||
                           bale_index_key(n, 0) < expect->first ||
                           bale_index_key(n, n->page.count - 1u) >= expect->upper))
        err = BALE_E_CORRUPT;
    if (err != BALE_OK) {
        n->page.height = 1; /* it has no children, whatever was read */
        bale_index_node_destroy(index, n);
        return err;
    }
    n->ref = *ref;
    *node = n;
    return BALE_OK;
}

static void keep_first(struct bale_index *index, struct bale_frame_head *head)
{
    index->first = malloc(sizeof *head);
    if (!index->first)
        return;
    *index->first = *head;
    head->data = NULL;
    index->memory += sizeof *head + head->length;
}

/* Makes the leaf that a direct root implies. */
static int read_direct(struct bale_index *index, struct bale_index_node **top)
{
    struct bale_frame_head head;
    struct bale_index_node *leaf = NULL;
    struct bale_segment segment;
    int err;

    err = bale_frame_head_read(index->io, index->ref.position, index->ref.length, 0, &head, NULL);
    if (err != BALE_OK)
        goto out;
    segment = bale_segment_of_frame(&head.frame, index->ref.position, index->ref.length);
    if (segment.offset != 0 || segment.checksum != index->ref.checksum)
        err = BALE_E_CORRUPT;
    else
        err = bale_segment_check(&segment, &index->ctx);
    if (err != BALE_OK)
        goto out;
    leaf = bale_index_node_create(index, 1);
    if (!leaf) {
        err = BALE_E_NOMEM;
        goto out;
    }
    leaf->page.segments[0] = segment;
    leaf->page.count = 1;
    leaf->dirty = true; /* it is not on disk as a page */
    index->head_checksum = segment.checksum;
    index->head_raw_length = segment.length;
    keep_first(index, &head);
out:
    free(head.data);
    *top = leaf;
    return err;
}

static int read_settings(struct bale_index *index)
{
    const struct bale_ref *ref = &index->settings_ref;
    uint8_t bytes[BALE_SETTINGS_SIZE];
    int err = bale_frame_bytes_read(index->io, bytes, sizeof bytes, ref->position, NULL);

    return err == BALE_OK ? bale_settings_decode(bytes, &index->root, &index->settings) : err;
}

int bale_index_read_settings(struct bale_index *index)
{
    if (index->height != BALE_HEIGHT_SETTINGS)
        return BALE_OK;
    if (index->settings_err == BALE_OK)
        index->settings_err = read_settings(index);
    if (index->settings_err != BALE_OK)
        return index->settings_err;
    index->ref = index->settings.tree;
    index->height = index->settings.height;
    index->ctx.generation = index->settings.generation;
    index->loaded = index->height == 0;
    return BALE_OK;
}

int bale_index_top(struct bale_index *index, bool load)
{
    struct bale_index_expect expect = {.upper = UINT64_MAX};
    int err;

    if (index->top || index->loaded)
        return BALE_OK;
    if (!load)
        return BALE_E_NOT_LOADED;
    err = bale_index_read_settings(index);
    if (err != BALE_OK || index->loaded)
        return err;
    expect.limit = index->ctx.generation;
    expect.height = index->height;
    if (index->height == BALE_HEIGHT_DIRECT)
        return read_direct(index, &index->top);
    return bale_index_node_read(index, &index->ref, &expect, &index->top);
}
