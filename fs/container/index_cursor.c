#include <assert.h>

#include "format/err.h"
#include "fs/container/index_node.h"

/* Upper bound of the offsets below the cursor's record one level above its last: the first offset
 * of the next record on the lowest level that has one. */
static uint64_t upper_of(const struct bale_cursor *cursor)
{
    for (unsigned level = cursor->depth - 1; level > 0; level--) {
        const struct bale_index_node *node = cursor->at[level - 1].node;
        unsigned slot = cursor->at[level - 1].slot;

        if (slot + 1 < node->page.count)
            return node->page.children[slot + 1].first;
    }
    return UINT64_MAX;
}

/* Descends one level, to record 0 of the child at the cursor's record. */
static int enter(struct bale_index *index, bool load, struct bale_cursor *cursor)
{
    struct bale_index_node *node = cursor->at[cursor->depth - 1].node;
    unsigned slot = cursor->at[cursor->depth - 1].slot;

    if (!node->child[slot]) {
        struct bale_index_expect expect;
        int err;

        if (!load)
            return BALE_E_NOT_LOADED;
        expect = bale_index_expect_child(&node->page, slot, upper_of(cursor));
        err = bale_index_node_read(index, &node->page.children[slot].ref, &expect,
                                   &node->child[slot]);
        if (err != BALE_OK)
            return err;
    }
    cursor->at[cursor->depth].node = node->child[slot];
    cursor->at[cursor->depth].slot = 0;
    cursor->depth++;
    return BALE_OK;
}

/* Number of records that start at or below offset. */
static unsigned count_to(const struct bale_index_node *node, uint64_t offset)
{
    unsigned low = 0, high = node->page.count;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (bale_index_key(node, middle) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Descends to the leaf whose range contains offset; the leaf's slot is the first record that starts
 * above offset. */
static int descend(struct bale_index *index, uint64_t offset, bool load, struct bale_cursor *cursor)
{
    for (;;) {
        struct bale_index_node *node = cursor->at[cursor->depth - 1].node;
        unsigned before = count_to(node, offset);
        int err;

        if (node->page.height == 1) {
            cursor->at[cursor->depth - 1].slot = before;
            return BALE_OK;
        }
        cursor->at[cursor->depth - 1].slot = before > 0 ? before - 1 : 0;
        err = enter(index, load, cursor);
        if (err != BALE_OK)
            return err;
    }
}

/* Moves to the last record of the previous leaf. */
static int previous_leaf(struct bale_index *index, bool load, struct bale_cursor *cursor)
{
    do {
        if (--cursor->depth == 0)
            return BALE_E_NOENT;
    } while (cursor->at[cursor->depth - 1].slot == 0);

    cursor->at[cursor->depth - 1].slot--;
    while (cursor->at[cursor->depth - 1].node->page.height > 1) {
        int err = enter(index, load, cursor);

        if (err != BALE_OK)
            return err;
        cursor->at[cursor->depth - 1].slot = cursor->at[cursor->depth - 1].node->page.count - 1u;
    }
    return BALE_OK;
}

/* Moves to the first record of the next leaf. */
static int next_leaf(struct bale_index *index, bool load, struct bale_cursor *cursor)
{
    do {
        if (--cursor->depth == 0)
            return BALE_E_NOENT;
    } while (cursor->at[cursor->depth - 1].slot + 1 >=
             cursor->at[cursor->depth - 1].node->page.count);

    cursor->at[cursor->depth - 1].slot++;
    while (cursor->at[cursor->depth - 1].node->page.height > 1) {
        int err = enter(index, load, cursor);

        if (err != BALE_OK)
            return err;
    }
    return BALE_OK;
}

static void cursor_init(const struct bale_index *index, struct bale_cursor *cursor)
{
    cursor->depth = 1;
    cursor->at[0].node = index->top;
    cursor->at[0].slot = 0;
}

int bale_cursor_seek(struct bale_index *index, uint64_t offset, bool load,
                     struct bale_cursor *cursor)
{
    struct bale_cursor before;
    unsigned leaf;
    int err = bale_index_top(index, load);

    if (err == BALE_OK && !index->top)
        err = BALE_E_NOENT;
    if (err != BALE_OK)
        return err;
    cursor_init(index, cursor);
    err = descend(index, offset, load, cursor);
    if (err != BALE_OK)
        return err;

    /* The first offset in the record of a page is only a lower bound: the last segment of the
     * previous leaf may reach beyond it. */
    before = *cursor;
    leaf = before.depth - 1;
    if (before.at[leaf].slot > 0) {
        before.at[leaf].slot--;
    } else {
        err = previous_leaf(index, load, &before);
        if (err != BALE_OK && err != BALE_E_NOENT)
            return err;
    }
    if (err == BALE_OK && bale_segment_end(bale_cursor_segment(&before)) > offset)
        *cursor = before;
    if (cursor->at[leaf].slot == cursor->at[leaf].node->page.count)
        return next_leaf(index, load, cursor);
    return BALE_OK;
}

int bale_cursor_next(struct bale_index *index, bool load, struct bale_cursor *cursor)
{
    unsigned leaf = cursor->depth - 1;

    if (++cursor->at[leaf].slot < cursor->at[leaf].node->page.count)
        return BALE_OK;
    return next_leaf(index, load, cursor);
}

void bale_cursor_seek_insert(const struct bale_index *index, uint64_t offset,
                             struct bale_cursor *cursor)
{
    struct bale_index_node *node = index->top;

    for (cursor->depth = 0;; cursor->depth++) {
        unsigned before = count_to(node, offset);

        cursor->at[cursor->depth].node = node;
        cursor->at[cursor->depth].slot = before;
        if (node->page.height == 1)
            break;
        before = before > 0 ? before - 1 : 0;
        cursor->at[cursor->depth].slot = before;
        node = node->child[before];
        assert(node);
    }
    cursor->depth++;
}
