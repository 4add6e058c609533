/* Pages in memory, and paths through them. Private to the sources of the index, which call one way:
 * index_settings.c, index_write.c, index_visit.c and index_edit.c, index.c, index_cursor.c and
 * index_balance.c, index_node.c. */
#ifndef BALE_FS_CONTAINER_INDEX_NODE_H
#define BALE_FS_CONTAINER_INDEX_NODE_H

#include "fs/container/index.h"

struct bale_index_node {
    struct bale_index_node *next; /* in the list of spares */
    struct bale_ref ref;          /* where it is on disk; length 0: it is not, as a page */
    struct bale_ref pending;      /* where the current commit wrote it; length 0: nowhere */
    size_t size;                  /* bytes of memory */
    bool dirty;                   /* must be written, with all pages above it */
    struct bale_page page;
    struct bale_index_node
        *child[]; /* of an inner page: BALE_PAGE_INNER_RECORDS; NULL: not read yet */
};

/* A path from the top, at[0], to a record of a leaf, at[depth - 1]. */
struct bale_cursor {
    unsigned depth;
    struct {
        struct bale_index_node *node;
        unsigned slot;
    } at[BALE_HEIGHT_MAX];
};

/* Makes a page without records. Counted in index->memory. */
struct bale_index_node *bale_index_node_create(struct bale_index *index, uint8_t height);

/* Frees the page and all pages below it. NULL is fine. */
void bale_index_node_destroy(struct bale_index *index, struct bale_index_node *node);

/* The least offset of record i. */
static inline uint64_t bale_index_key(const struct bale_index_node *node, unsigned i)
{
    return node->page.height == 1 ? node->page.segments[i].offset : node->page.children[i].first;
}

static inline uint64_t bale_segment_end(const struct bale_segment *segment)
{
    return segment->offset + segment->length;
}

/* What the record above a page says about it. */
struct bale_index_expect {
    uint64_t generation; /* exactly, or 0: unknown */
    uint64_t limit;      /* greatest generation allowed */
    uint64_t first;      /* its offsets lie in [first, upper) */
    uint64_t upper;
    uint8_t height;
};

/* Reads and validates one page. BALE_E_CORRUPT also if it is not as expected. */
int bale_index_node_read(struct bale_index *index, const struct bale_ref *ref,
                         const struct bale_index_expect *expect, struct bale_index_node **node);

/* What is expected of child i of a page; upper is the page's own bound. */
struct bale_index_expect bale_index_expect_child(const struct bale_page *page, unsigned i,
                                                 uint64_t upper);

/* Reads the top page if it is not in memory; index->top stays NULL for an empty index.
 * BALE_E_NOT_LOADED: it must be read, and load is false. */
int bale_index_top(struct bale_index *index, bool load);

/* Moves to the record of the first segment that ends after offset. Errors as bale_index_find. */
int bale_cursor_seek(struct bale_index *index, uint64_t offset, bool load,
                     struct bale_cursor *cursor);

/* Moves to the next record, if necessary in the next leaf. BALE_E_NOENT: there is none. */
int bale_cursor_next(struct bale_index *index, bool load, struct bale_cursor *cursor);

/* Moves to where a segment at offset is to be inserted. No segment covers offset, all pages are
 * loaded, and the index is not empty. */
void bale_cursor_seek_insert(const struct bale_index *index, uint64_t offset,
                             struct bale_cursor *cursor);

static inline struct bale_segment *bale_cursor_segment(const struct bale_cursor *cursor)
{
    unsigned leaf = cursor->depth - 1;

    return &cursor->at[leaf].node->page.segments[cursor->at[leaf].slot];
}

/* ---- Changes to single records (index_balance.c) --------------------------------------------- */

/* Marks all pages of the path dirty. */
void bale_cursor_dirty(struct bale_index *index, const struct bale_cursor *cursor);

/* The first offset of the page at level changed: updates the pages above. */
void bale_cursor_fix_first(const struct bale_cursor *cursor, unsigned level);

/* Makes enough spare pages for two inserts. BALE_E_NOMEM, BALE_E_TOOBIG. */
int bale_index_reserve(struct bale_index *index);
void bale_index_drop_spares(struct bale_index *index);

/* Inserts before the cursor's record. There are enough spare pages. Invalidates the cursor. */
void bale_cursor_insert(struct bale_index *index, struct bale_cursor *cursor,
                        const struct bale_segment *segment);

/* Removes count records of the leaf from the cursor's on, and pages that become empty. Invalidates
 * the cursor. */
void bale_cursor_remove(struct bale_index *index, struct bale_cursor *cursor, unsigned count);

/* Adds an entry to index->released. */
void bale_index_note_release(struct bale_index *index, uint64_t position, uint32_t length,
                             uint64_t generation);

#endif
