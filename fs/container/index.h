/* The index of a container in memory (FORMAT.md section 5): a copy-on-write B+tree. A page is read
 * when it is first needed. A changed page, and with it all pages above it, is written to a new
 * position.
 *
 * Not safe from several threads: the container locks. Several readers may share it while load is
 * false. Before the first change all pages must be loaded (bale_index_load_all); from then on a
 * change can only fail for lack of memory. */
#ifndef BALE_FS_CONTAINER_INDEX_H
#define BALE_FS_CONTAINER_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/page.h"
#include "format/root.h"
#include "format/settings.h"
#include "fs/container/io.h"

struct bale_frame_head;
struct bale_index_node;

/* Space of a frame or page that the index no longer refers to. */
struct bale_index_release {
    uint64_t position;
    uint64_t generation;
    uint32_t length;
};

struct bale_index {
    struct bale_io *io;
    struct bale_page_context
        ctx; /* of the root that it was opened with; extent and features are the present ones */
    struct bale_index_node *top; /* NULL: empty, or not read yet */
    struct bale_ref ref;         /* from the root or its settings page: where top is read from */
    uint8_t height; /* likewise, may be BALE_HEIGHT_DIRECT; BALE_HEIGHT_SETTINGS: not read yet */
    struct bale_root root;              /* that it was opened with */
    struct bale_ref settings_ref;       /* the settings page; length 0: there is none */
    struct bale_settings settings;      /* what is in it, once it was read */
    int settings_err;                   /* of reading it: it is not tried again */
    struct bale_settings next_settings; /* of the commit that is being written */
    struct bale_ref next_settings_ref;
    bool loaded;  /* all pages are in memory */
    bool changed; /* since it was last written */
    bool gave_up; /* a part of a frame; the container resets it */

    uint64_t stored;    /* frame bytes; valid once loaded */
    uint64_t unwritten; /* bytes in unwritten segments; valid once loaded */
    size_t memory;      /* bytes of all pages */

    /* Space that changes released; the container removes the entries. If there is no memory for an
     * entry, its space is lost until the container is opened again. */
    struct bale_index_release *released;
    size_t released_count;
    size_t released_capacity;

    /* The last frame known to start at offset 0, for the direct form. */
    uint64_t head_checksum;
    uint32_t head_raw_length; /* 0: none known */
    /* What was read with the head of a direct root's frame, mostly all of it; or NULL. */
    struct bale_frame_head *first;

    struct bale_index_node
        *spare; /* list of pages for splits, so that a change cannot fail halfway */
    size_t spares;
};

/* Makes the index that root refers to, without reading; root NULL: an empty one with this extent
 * size. io outlives it. */
void bale_index_init(struct bale_index *index, struct bale_io *io, const struct bale_root *root,
                     uint32_t extent);
void bale_index_clear(struct bale_index *index);

/* Whether bale_index_take_first would find something. */
static inline bool bale_index_has_first(const struct bale_index *index)
{
    return index->first;
}
/* Gives the caller the first bytes of this segment's frame, if they were read with its head and not
 * taken yet: head->data, which the caller frees. */
bool bale_index_take_first(struct bale_index *index, const struct bale_segment *segment,
                           struct bale_frame_head *head);

/* Reads the settings page if there is one and it was not read yet. BALE_OK, an error of the read,
 * BALE_E_CORRUPT or BALE_E_UNSUPPORTED. */
int bale_index_read_settings(struct bale_index *index);

/* Finds the first segment that ends after offset. BALE_E_NOENT: there is none. BALE_E_NOT_LOADED: a
 * page must be read, and load is false. */
int bale_index_find(struct bale_index *index, uint64_t offset, bool load,
                    struct bale_segment *segment);

/* A reference to something that is not good. */
struct bale_bad_ref {
    struct bale_ref ref;
    enum { BALE_BAD_SETTINGS, BALE_BAD_PAGE, BALE_BAD_HEAD /* of a direct root's frame */ } what;
};

/* Callbacks of a visit, in order of offsets, on the visiting thread. Each may be NULL. A result
 * other than 0 ends the visit and is returned. */
struct bale_index_visitor {
    void *arg;
    uint64_t above; /* pages of this generation or less are skipped */
    bool keep;      /* the pages that are read stay in memory */
    int (*page)(void *arg, const struct bale_ref *ref,
                const struct bale_page *page); /* NULL: the settings page */
    int (*segment)(void *arg, const struct bale_segment *segment);
    /* What is needed for offsets [first, upper) cannot be read or is damaged. NULL: the error ends
     * the visit. */
    int (*bad)(void *arg, int err, const struct bale_bad_ref *bad, uint64_t first, uint64_t upper);
};
int bale_index_visit(struct bale_index *index, const struct bale_index_visitor *visitor);

/* Visits what a root on disk refers to, with an index of its own. */
int bale_index_visit_root(struct bale_io *io, const struct bale_root *root,
                          const struct bale_index_visitor *visitor);

/* Reads all pages and keeps them; calls the visitor's page and segment on the way and ignores its
 * other members. */
int bale_index_load_all(struct bale_index *index, const struct bale_index_visitor *visitor);

/* The segment (which is valid for the container) replaces all that covered its range. new_frame: no
 * segment refers to its frame yet. BALE_E_NOMEM, BALE_E_TOOBIG: nothing changed. */
int bale_index_put(struct bale_index *index, const struct bale_segment *segment, bool new_frame);

/* [offset, end) becomes a hole. Errors as above. */
int bale_index_cut(struct bale_index *index, uint64_t offset, uint64_t end);

/* End of the last segment; 0 if there is none. All pages are loaded. */
uint64_t bale_index_covered(const struct bale_index *index);

/* Writes the changed pages to space that allocate gives, and sets ref and height to what the new
 * root must refer to (height 0, BALE_HEIGHT_DIRECT, or a page's). Call bale_index_written
 * afterwards: with true once the root is written, with false if that or bale_index_write failed.
 * With false the changes remain to be written, and release gets the space back. */
struct bale_index_space {
    void *arg;
    int (*allocate)(void *arg, uint32_t length, uint64_t *position);
    void (*release)(void *arg, uint64_t position, uint32_t length);
};
int bale_index_write(struct bale_index *index, uint64_t generation,
                     const struct bale_index_space *space, struct bale_ref *ref, uint8_t *height);
void bale_index_written(struct bale_index *index, const struct bale_index_space *space, bool ok);

/* After bale_index_write, for a root that needs a settings page (bale_settings_needed): makes the
 * root's tree fields, which name the index, name a settings page, which names the index. The
 * present page stays if it says all that. Call bale_index_settings_written afterwards, in the same
 * way. */
int bale_index_write_settings(struct bale_index *index, uint64_t generation,
                              const struct bale_index_space *space, struct bale_root *root);
void bale_index_settings_written(struct bale_index *index, const struct bale_index_space *space,
                                 bool ok);

/* Number of pages on disk or to be written, and their bytes. All pages are loaded. */
void bale_index_pages(const struct bale_index *index, uint64_t *pages, uint64_t *bytes);

#endif
