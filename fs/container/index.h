/* The index of a container in memory (FORMAT.md section 5): a B+tree of pages that are read when
 * they are first needed and written anew, with all pages above them, when they changed.
 *
 * Not safe from several threads: the container locks. Readers may share it while load is false.
 * Before the first change everything must have been read (bale_index_load_all); from then on only
 * memory can be short. */
#ifndef BALE_FS_CONTAINER_INDEX_H
#define BALE_FS_CONTAINER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/page.h"
#include "format/root.h"
#include "fs/container/io.h"

struct bale_index_node;

/* Space of a frame or page that the index no longer refers to. */
struct bale_index_release {
    uint64_t position;
    uint64_t generation;
    uint32_t length;
};

struct bale_index {
    struct bale_io *io;
    struct bale_page_context ctx; /* of the root it was opened at; extent also while it changes */
    struct bale_index_node *top;  /* NULL: empty, or not read yet */
    struct bale_ref ref;          /* of the root: where top is read from */
    uint8_t height;               /* of the root, BALE_HEIGHT_DIRECT included */
    bool loaded;                  /* everything is in memory */
    bool changed;                 /* since it was last written */

    uint64_t stored;    /* frame bytes; right once loaded */
    uint64_t unwritten; /* bytes in unwritten segments; right once loaded */
    size_t memory;      /* bytes held */

    /* Grows as changes release space; the owner takes the entries out. An entry is left out when
     * there is no memory for it: its space is then lost until the container is opened again. */
    struct bale_index_release *released;
    size_t released_count;
    size_t released_capacity;

    /* The last frame known that starts at offset 0, for the direct form. */
    uint64_t head_checksum;
    uint32_t head_raw_length; /* 0: none known */

    struct bale_index_node *spare; /* so that a change cannot fail half-way */
    size_t spares;
};

/* The index a root refers to; NULL: an empty one. Reads nothing. io outlives it. extent: for an
 * empty one. */
void bale_index_init(struct bale_index *index, struct bale_io *io, const struct bale_root *root,
                     uint32_t extent);
void bale_index_clear(struct bale_index *index);

/* The first segment that ends after offset. BALE_E_NOENT: none. BALE_E_NOT_LOADED: load is false and a
 * page must be read. */
int bale_index_find(struct bale_index *index, uint64_t offset, bool load,
                    struct bale_segment *segment);

/* What a visit calls, in order of offsets; a result other than 0 ends it and is returned. Each may
 * be NULL. */
struct bale_index_visitor {
    void *arg;
    uint64_t above; /* pages of this generation or less are not entered */
    bool keep;      /* pages read stay in memory */
    int (*page)(void *arg, const struct bale_ref *ref, const struct bale_page *page);
    int (*segment)(void *arg, const struct bale_segment *segment);
    /* A page for offsets [first, upper) cannot be read or is bad; NULL: the error ends the visit.
     */
    int (*bad)(void *arg, int err, const struct bale_ref *ref, uint64_t first, uint64_t upper);
};
int bale_index_visit(struct bale_index *index, const struct bale_index_visitor *visitor);

/* Reads all pages, calling the visitor's page and segment on the way (the rest of it is not used).
 */
int bale_index_load_all(struct bale_index *index, const struct bale_index_visitor *visitor);

/* The segment (valid for the container) replaces what covered its range. fresh: no segment refers
 * to its frame yet. BALE_E_NOMEM, BALE_E_TOOBIG: nothing changed. */
int bale_index_put(struct bale_index *index, const struct bale_segment *segment, bool fresh);

/* [offset, end) becomes a hole. Errors as above. */
int bale_index_cut(struct bale_index *index, uint64_t offset, uint64_t end);

/* End of the last segment; 0 without one. Everything is loaded. */
uint64_t bale_index_covered(const struct bale_index *index);

/* Writes the changed pages into space from allocate and says what the new root refers to (height 0,
 * 255, or a page's). Then bale_index_written must follow: with true once the root is written, and
 * with false when that or this failed; the changes are then still to be written, and release gets
 * the space back. */
struct bale_index_space {
    void *arg;
    int (*allocate)(void *arg, uint32_t length, uint64_t *position);
    void (*release)(void *arg, uint64_t position, uint32_t length);
};
int bale_index_write(struct bale_index *index, uint64_t generation,
                     const struct bale_index_space *space, struct bale_ref *ref, uint8_t *height);
void bale_index_written(struct bale_index *index, const struct bale_index_space *space, bool ok);

/* Number of pages on disk or to be written, and their bytes; everything is loaded. */
void bale_index_pages(const struct bale_index *index, uint64_t *pages, uint64_t *bytes);

#endif
