/* Pages in memory, and ways through them. Private to the files of the index. */
#ifndef BALE_FS_CONTAINER_INDEX_NODE_H
#define BALE_FS_CONTAINER_INDEX_NODE_H

#include "fs/container/index.h"

struct bale_index_node {
    struct bale_index_node *next; /* in the list of spares */
    struct bale_ref ref;          /* where it lies; length 0: not on disk as a page */
    struct bale_ref pending;      /* where a write that is not finished put it; length 0: nowhere */
    size_t size;                  /* bytes of memory */
    bool dirty;                   /* must be written; so must all above it */
    struct bale_page page;
    struct bale_index_node
        *child[]; /* of an inner page: BALE_PAGE_INNER_RECORDS; NULL: not read yet */
};

/* A way from the top, at[0], to a leaf, at[depth - 1]. */
struct bale_cursor {
    unsigned depth;
    struct {
        struct bale_index_node *node;
        unsigned slot;
    } at[BALE_HEIGHT_MAX];
};

/* Counted in index->memory; the page and child pointers are not set. */
struct bale_index_node *bale_index_node_create(struct bale_index *index, uint8_t height);

/* Also all below it. NULL is fine. */
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

/* What a page must be, from what refers to it. */
struct bale_index_expect {
    uint64_t generation; /* exactly, or 0: unknown */
    uint64_t most;       /* greatest allowed */
    uint64_t first;      /* its offsets lie in [first, upper) */
    uint64_t upper;
    uint8_t height;
};

/* Reads and validates one page. */
int bale_index_node_read(struct bale_index *index, const struct bale_ref *ref,
                         const struct bale_index_expect *expect, struct bale_index_node **node);

/* What child i of a page must be; upper is the page's own. */
struct bale_index_expect bale_index_expect_child(const struct bale_page *page, unsigned i,
                                                 uint64_t upper);

/* Reads the top if that is due. index->top stays NULL for an empty index. BALE_E_NOT_LOADED: load is
 * false. */
int bale_index_top(struct bale_index *index, bool load);

/* Moves to the record that holds the first segment which ends after offset. BALE_E_NOENT,
 * BALE_E_NOT_LOADED as _find. */
int bale_cursor_seek(struct bale_index *index, uint64_t offset, bool load,
                     struct bale_cursor *cursor);

/* Moves to the next record of a leaf, over to the next leaf if need be. BALE_E_NOENT: there is
 * none. */
int bale_cursor_next(struct bale_index *index, bool load, struct bale_cursor *cursor);

/* Moves to where a segment at offset (not covered, everything loaded, not empty) belongs. */
void bale_cursor_seek_insert(const struct bale_index *index, uint64_t offset,
                             struct bale_cursor *cursor);

static inline struct bale_segment *bale_cursor_segment(const struct bale_cursor *cursor)
{
    unsigned leaf = cursor->depth - 1;

    return &cursor->at[leaf].node->page.segments[cursor->at[leaf].slot];
}

/* ---- Changes to single records (index_balance.c) --------------------------------------------- */

/* All pages of the way will be written anew. */
void bale_cursor_dirty(struct bale_index *index, const struct bale_cursor *cursor);

/* The first offset of the leaf changed: tells the pages above. */
void bale_cursor_fix_first(const struct bale_cursor *cursor, unsigned level);

/* Keeps enough spares for two inserts. */
int bale_index_reserve(struct bale_index *index);
void bale_index_drop_spares(struct bale_index *index);

/* Inserts before the cursor's record; spares are there. The cursor is worthless afterwards. */
void bale_cursor_insert(struct bale_index *index, struct bale_cursor *cursor,
                        const struct bale_segment *segment);

/* Removes count records of the leaf, and what becomes empty. The cursor is worthless afterwards. */
void bale_cursor_remove(struct bale_index *index, struct bale_cursor *cursor, unsigned count);

/* Remembers released space. */
void bale_index_note_release(struct bale_index *index, uint64_t position, uint32_t length,
                             uint64_t generation);

#endif
