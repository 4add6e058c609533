/* Inserting and removing records, and keeping the tree in shape. All pages are loaded. */
#include <assert.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/index_node.h"
#include "kernels/base/array.h"

typedef struct bale_index_node node;

static unsigned capacity(const node *n)
{
    return n->page.height == 1 ? BALE_PAGE_LEAF_RECORDS : BALE_PAGE_INNER_RECORDS;
}

/* Copies count records and their child pointers; the ranges may overlap. */
static void move_records(node *to, unsigned to_at, node *from, unsigned from_at, unsigned count)
{
    if (to->page.height == 1) {
        memmove(&to->page.segments[to_at], &from->page.segments[from_at],
                count * sizeof to->page.segments[0]);
        return;
    }
    memmove(&to->page.children[to_at], &from->page.children[from_at],
            count * sizeof to->page.children[0]);
    memmove(&to->child[to_at], &from->child[from_at], count * sizeof(void *));
}

void bale_index_note_release(struct bale_index *index, uint64_t position, uint32_t length,
                             uint64_t generation)
{
    struct bale_index_release *grown = bale_array_grow(index->released, index->released_count,
                                                       &index->released_capacity, sizeof *grown);

    if (!grown)
        return;
    index->released = grown;
    index->released[index->released_count++] = (struct bale_index_release){
        .position = position, .generation = generation, .length = length};
}

static void make_dirty(struct bale_index *index, node *n)
{
    if (n->dirty)
        return;
    n->dirty = true;
    bale_index_note_release(index, n->ref.position, n->ref.length, n->page.generation);
    n->ref = (struct bale_ref){0};
}

void bale_cursor_dirty(struct bale_index *index, const struct bale_cursor *cursor)
{
    index->changed = true;
    for (unsigned level = cursor->depth; level-- > 0;)
        make_dirty(index, cursor->at[level].node);
}

void bale_cursor_fix_first(const struct bale_cursor *cursor, unsigned level)
{
    for (; level > 0; level--) {
        node *parent = cursor->at[level - 1].node;
        unsigned slot = cursor->at[level - 1].slot;

        parent->page.children[slot].first = bale_index_key(cursor->at[level].node, 0);
        if (slot > 0)
            break;
    }
}

/* ---- Inserting ------------------------------------------------------------------------------- */

int bale_index_reserve(struct bale_index *index)
{
    /* A put inserts at most two records: its own, and the rest of a segment that it cuts in the
     * middle. Each may split a page on every level and make the tree one level higher. */
    unsigned height = index->top ? index->top->page.height : 0;
    size_t need = 2 * ((size_t)height + 1);

    if (height == 0 || (height == 1 && index->top->page.count + 2u <= BALE_PAGE_LEAF_RECORDS))
        return BALE_OK;
    if (height >= BALE_HEIGHT_MAX)
        return BALE_E_TOOBIG;
    while (index->spares < need) {
        node *n = bale_index_node_create(index, BALE_HEIGHT_MAX); /* fits every height */

        if (!n)
            return BALE_E_NOMEM;
        n->next = index->spare;
        index->spare = n;
        index->spares++;
    }
    return BALE_OK;
}

void bale_index_drop_spares(struct bale_index *index)
{
    while (index->spare) {
        node *n = index->spare;

        index->spare = n->next;
        bale_index_node_destroy(index, n);
    }
    index->spares = 0;
}

static node *take_spare(struct bale_index *index, uint8_t height)
{
    node *n = index->spare;

    assert(n);
    index->spare = n->next;
    index->spares--;
    n->next = NULL;
    n->page.height = height;
    n->dirty = true;
    return n;
}

/* The record of a leaf (segment) or of an inner page (child). */
struct record {
    const struct bale_segment *segment;
    node *child;
};

static void put_record(node *n, unsigned slot, const struct record *record)
{
    move_records(n, slot + 1, n, slot, n->page.count - slot);
    n->page.count++;
    if (n->page.height == 1) {
        assert(record->segment);
        n->page.segments[slot] = *record->segment;
        return;
    }
    assert(record->child);
    n->page.children[slot] = (struct bale_child){.first = bale_index_key(record->child, 0)};
    n->child[slot] = record->child;
}

/* Splits a full page and puts the record that goes to slot. A record after all others gets a page
 * of its own, so that files written from front to back have full pages. */
static node *split(struct bale_index *index, node *n, unsigned slot, const struct record *record)
{
    unsigned count = n->page.count;
    unsigned from = slot == count ? count : count / 2;
    node *right = take_spare(index, n->page.height);

    move_records(right, 0, n, from, count - from);
    right->page.count = (uint16_t)(count - from);
    n->page.count = (uint16_t)from;
    if (slot > from || from == count)
        put_record(right, slot - from, record);
    else
        put_record(n, slot, record);
    return right;
}

static void grow(struct bale_index *index, node *right)
{
    node *left = index->top;
    node *top = take_spare(index, (uint8_t)(left->page.height + 1));
    const struct record records[2] = {{.child = left}, {.child = right}};

    put_record(top, 0, &records[0]);
    put_record(top, 1, &records[1]);
    index->top = top;
}

void bale_cursor_insert(struct bale_index *index, struct bale_cursor *cursor,
                        const struct bale_segment *segment)
{
    struct record record = {.segment = segment};
    unsigned level = cursor->depth - 1;
    unsigned slot = cursor->at[level].slot;

    bale_cursor_dirty(index, cursor);
    for (;;) {
        node *n = cursor->at[level].node;
        bool full = n->page.count == capacity(n);
        node *right = full ? split(index, n, slot, &record) : NULL;

        if (!full)
            put_record(n, slot, &record);
        if (slot == 0)
            bale_cursor_fix_first(cursor, level);
        if (!right)
            return;
        if (level == 0) {
            grow(index, right);
            return;
        }
        record = (struct record){.child = right};
        level--;
        slot = cursor->at[level].slot + 1;
    }
}

/* ---- Removing -------------------------------------------------------------------------------- */

static void close_gap(node *n, unsigned slot, unsigned count)
{
    move_records(n, slot, n, slot + count, n->page.count - slot - count);
    n->page.count = (uint16_t)(n->page.count - count);
}

/* Frees a page whose records were moved or removed. */
static void discard(struct bale_index *index, node *n)
{
    make_dirty(index, n);
    n->page.count = 0;
    bale_index_node_destroy(index, n);
}

/* Merges the page at level with a neighbour below the same parent if it is less than a quarter full
 * and the result at most three quarters; the gap keeps pages from being merged and split again and
 * again. Returns whether the parent lost a record. */
static bool merge(struct bale_index *index, struct bale_cursor *cursor, unsigned level)
{
    node *parent = cursor->at[level - 1].node;
    unsigned slot = cursor->at[level - 1].slot;
    node *n = cursor->at[level].node;

    if (n->page.count >= capacity(n) / 4)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        unsigned left = i == 0 ? slot : slot - 1; /* try the next page, then the previous one */
        node *a, *b;

        if ((i == 1 && slot == 0) || left + 1 >= parent->page.count)
            continue;
        a = parent->child[left];
        b = parent->child[left + 1];
        if (a->page.count + b->page.count > capacity(n) / 4 * 3)
            continue;
        make_dirty(index, a);
        move_records(a, a->page.count, b, 0, b->page.count);
        a->page.count = (uint16_t)(a->page.count + b->page.count);
        discard(index, b);
        close_gap(parent, left + 1, 1);
        return true;
    }
    return false;
}

void bale_cursor_remove(struct bale_index *index, struct bale_cursor *cursor, unsigned count)
{
    unsigned level = cursor->depth - 1;

    bale_cursor_dirty(index, cursor);
    close_gap(cursor->at[level].node, cursor->at[level].slot, count);
    for (; level > 0; level--) {
        node *n = cursor->at[level].node;

        if (n->page.count == 0) {
            discard(index, n);
            close_gap(cursor->at[level - 1].node, cursor->at[level - 1].slot, 1);
        } else {
            bale_cursor_fix_first(cursor, level);
            if (!merge(index, cursor, level))
                break;
        }
    }
    if (index->top->page.count == 0) {
        discard(index, index->top);
        index->top = NULL;
    }
    while (index->top && index->top->page.height > 1 && index->top->page.count == 1) {
        node *child = index->top->child[0];

        discard(index, index->top);
        index->top = child;
    }
}
