/* Restoring lost pages of the index. A page is made again from the frames and pages that say what
 * it can have referred to; it is the lost one, byte for byte, if it has the checksum that the page
 * above it, or the root, has of it. So nothing comes back that was overwritten, punched or cut off.
 * It is not enough that frames do not overlap and that their lengths have the right sum: a file may
 * show only a part of a frame, and no frame says which part. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/frame_io.h"
#include "fs/container/history.h"
#include "fs/container/internal.h"
#include "fs/container/repair.h"

#define GENERATIONS_MOST 4096u /* tried where the page's own is not known */
#define GENERATIONS_FEW 16u
#define SINGLES_MOST 1024u /* candidates of which each is left out, once */
#define PAIRS_MOST 96u     /* candidates of which each pair is left out, once */

/* A page to be restored, as the page above it, or the root, describes it. */
struct wanted_page {
    struct bale_ref ref;
    uint64_t generation; /* 0: unknown, at most limit */
    uint64_t limit;
    uint64_t first, upper; /* its offsets lie in [first, upper) */
    uint8_t height;
};

struct restore {
    struct bale_io *io;
    struct bale_page_context ctx;
    struct bale_candidates candidates;
    bool searched, written;
    bool (*lost)(void *arg, const struct bale_lost_page *page);
    void *arg;
    /* The candidates for one page, a leaf's and an inner page's, and what they make. */
    struct bale_history history;
    const struct bale_candidate_page **pages;
    size_t page_count;
    struct bale_page page;
    uint8_t bytes[BALE_PAGE_MAX];
};

/* Whether the page has the checksum that the page above it names. The page's generation is part of
 * it: if that is unknown, some that it can have are tried. */
static bool is_proven(struct restore *r, const struct wanted_page *wanted, uint64_t least,
                      unsigned tries)
{
    uint64_t generation = wanted->generation ? wanted->generation : wanted->limit;

    r->page.height = wanted->height;
    r->page.container_id = r->ctx.container_id;
    tries = wanted->generation ? 1 : tries;
    for (; tries > 0 && generation >= least && generation > 0; tries--, generation--) {
        r->page.generation = generation;
        if (bale_page_encode(&r->page, r->bytes) == wanted->ref.length &&
            r->page.checksum == wanted->ref.checksum)
            return true;
    }
    return false;
}

/* ---- A leaf, from frames and older leaves ---- */

static uint64_t end_of(const struct bale_segment *segment)
{
    return segment->offset + segment->length;
}

static int add_segment(void *arg, const struct bale_segment *segment)
{
    struct bale_page *page = arg;

    if (page->count == BALE_PAGE_LEAF_RECORDS)
        return 1;
    page->segments[page->count++] = *segment;
    return 0;
}

/* Copies the segments of an index. False: they are none, or more than a leaf has. */
static bool take_leaf(struct restore *r, struct bale_index *index)
{
    const struct bale_index_visitor visitor = {.arg = &r->page, .segment = add_segment};

    r->page.count = 0;
    return bale_index_visit(index, &visitor) == 0 && r->page.count > 0;
}

static bool insert_unwritten(struct restore *r, unsigned at, uint64_t offset, uint64_t end)
{
    struct bale_page *page = &r->page;

    if (offset >= end)
        return true;
    if (end - offset > BALE_UNWRITTEN_MAX || page->count == BALE_PAGE_LEAF_RECORDS)
        return false;
    memmove(page->segments + at + 1, page->segments + at,
            (page->count - at) * sizeof *page->segments);
    page->segments[at] = (struct bale_segment){
        .offset = offset, .length = (uint32_t)(end - offset), .flags = BALE_SEGMENT_UNWRITTEN};
    page->count++;
    return true;
}

/* Fills the space between the segments with preallocated ranges; with `before` and `behind`, the
 * space before the first and behind the last segment, too. */
static bool fill_gaps(struct restore *r, const struct wanted_page *wanted, bool before, bool behind)
{
    struct bale_page *page = &r->page;
    uint64_t end = wanted->upper < r->ctx.size ? wanted->upper : r->ctx.size;
    uint64_t upper = behind ? end : end_of(&page->segments[page->count - 1]);
    uint64_t offset = before ? wanted->first : page->segments[0].offset;
    bool fits = true;

    for (unsigned i = 0; fits && i < page->count; i++) {
        unsigned count = page->count;
        fits = insert_unwritten(r, i, offset, page->segments[i].offset);
        i += page->count - count;
        offset = end_of(&page->segments[i]);
    }
    return fits && insert_unwritten(r, page->count, offset, upper);
}

static bool leaf_is_proven(struct restore *r, const struct wanted_page *wanted, unsigned tries)
{
    uint64_t least = 1;

    if (r->page.count != bale_page_count(1, wanted->ref.length))
        return false;
    for (unsigned i = 0; i < r->page.count; i++)
        least = r->page.segments[i].generation > least ? r->page.segments[i].generation : least;
    return is_proven(r, wanted, least, tries);
}

static int try_leaf(struct restore *r, const struct wanted_page *wanted,
                    const struct bale_history_without *without, unsigned tries)
{
    struct bale_index index;

    bale_index_init(&index, r->io, NULL, r->ctx.extent);
    int result = bale_history_replay(&r->history, &index, without);
    if (result == BALE_OK)
        result = take_leaf(r, &index) && leaf_is_proven(r, wanted, tries);
    /* Fewer segments than the page had: some may have been without a frame. */
    for (unsigned how = 0; result == 0 && how < 4; how++)
        result = take_leaf(r, &index) && r->page.count < bale_page_count(1, wanted->ref.length) &&
                 fill_gaps(r, wanted, how & 1, how & 2) &&
                 leaf_is_proven(r, wanted, GENERATIONS_FEW);
    bale_index_clear(&index);
    return result;
}

/* ---- An inner page, from pages ---- */

static int compare_pages(const void *a, const void *b)
{
    const struct bale_candidate_page *const *x = a, *const *y = b;

    return (*x)->generation > (*y)->generation ? -1 : (*x)->generation < (*y)->generation;
}

static int compare_children(const void *a, const void *b)
{
    const struct bale_child *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* Makes the page from the newest pages that do not cover each other. */
static int try_inner(struct restore *r, const struct wanted_page *wanted,
                     const struct bale_history_without *without, unsigned tries)
{
    uint16_t count = bale_page_count(wanted->height, wanted->ref.length), made = 0;
    const struct bale_candidate_page *taken[BALE_PAGE_INNER_RECORDS];
    uint64_t least = 1;

    for (size_t i = 0; i < r->page_count && made < count; i++) {
        const struct bale_candidate_page *page = r->pages[i];
        bool apart = i != without->a && i != without->b;
        for (uint16_t j = 0; apart && j < made; j++)
            apart = page->last < taken[j]->first || page->first > taken[j]->last;
        if (apart)
            taken[made++] = page;
    }
    if (made != count)
        return false;
    r->page.count = count;
    for (uint16_t i = 0; i < count; i++) {
        r->page.children[i] = (struct bale_child){
            .first = taken[i]->first, .generation = taken[i]->generation, .ref = taken[i]->ref};
        least = taken[i]->generation > least ? taken[i]->generation : least;
    }
    qsort(r->page.children, count, sizeof *r->page.children, compare_children);
    if (is_proven(r, wanted, least, tries))
        return true;
    r->page.children[0].first = wanted->first; /* a lower bound will do */
    return is_proven(r, wanted, least, tries);
}

static int take_pages(struct restore *r, const struct wanted_page *wanted, uint64_t most)
{
    const struct bale_candidates *all = &r->candidates;

    r->pages = malloc((all->page_count + 1) * sizeof(struct bale_candidate_page *));
    if (!r->pages)
        return BALE_E_NOMEM;
    r->page_count = 0;
    for (size_t i = 0; i < all->page_count; i++) {
        const struct bale_candidate_page *page = &all->pages[i];
        if (page->height == wanted->height - 1 && page->generation <= most &&
            page->first >= wanted->first && page->first < wanted->upper)
            r->pages[r->page_count++] = page;
    }
    qsort(r->pages, r->page_count, sizeof(struct bale_candidate_page *), compare_pages);
    return BALE_OK;
}

/* ---- One page ---- */

/* Tries all candidates, then all but one, then all but two: what was punched or cut off left frames
 * behind that no page refers to. Old pages may mislead, if their commit was given up after a crash;
 * so it also tries without. 1: the page is known. */
static int try_all(struct restore *r, const struct wanted_page *wanted)
{
    int (*try)(struct restore *, const struct wanted_page *, const struct bale_history_without *,
               unsigned) = wanted->height == 1 ? try_leaf : try_inner;
    size_t count = wanted->height == 1 ? r->history.count : r->page_count;
    struct bale_history_without without = {SIZE_MAX, SIZE_MAX, false};
    int result = try(r, wanted, &without, GENERATIONS_MOST);

    for (size_t a = 0; result == 0 && count <= SINGLES_MOST && a < count; a++) {
        without.a = a;
        result = try(r, wanted, &without, GENERATIONS_FEW);
    }
    for (size_t a = 0; result == 0 && count <= PAIRS_MOST && a < count; a++)
        for (size_t b = a + 1; result == 0 && b < count; b++) {
            without = (struct bale_history_without){a, b, false};
            result = try(r, wanted, &without, GENERATIONS_FEW);
        }
    without = (struct bale_history_without){SIZE_MAX, SIZE_MAX, true};
    return result == 0 ? try(r, wanted, &without, GENERATIONS_MOST) : result;
}

/* Sets r->page and r->bytes. 1: they are those of the lost page. 0: it cannot be made. */
static int make_page(struct restore *r, const struct wanted_page *wanted)
{
    uint64_t most = wanted->generation ? wanted->generation : wanted->limit;
    int err = r->searched ? BALE_OK : bale_candidates_find(r->io, &r->ctx, &r->candidates);

    if (err != BALE_OK)
        return err;
    r->searched = true;
    err = wanted->height == 1
              ? bale_history_take(&r->history, r->io, &r->ctx, &r->candidates, wanted->first,
                                  wanted->upper < r->ctx.size ? wanted->upper : r->ctx.size, most)
              : take_pages(r, wanted, most);
    int result = err != BALE_OK ? err : try_all(r, wanted);
    bale_history_clear(&r->history);
    free(r->pages);
    r->pages = NULL;
    return result;
}

static bool read_page(struct restore *r, const struct wanted_page *wanted, struct bale_page *page,
                      int *err)
{
    struct bale_page_context ctx = r->ctx;
    uint8_t bytes[BALE_PAGE_MAX];

    *err =
        wanted->ref.length > sizeof bytes
            ? BALE_E_CORRUPT
            : bale_frame_bytes_read(r->io, bytes, wanted->ref.length, wanted->ref.position, NULL);
    ctx.generation = wanted->limit;
    if (*err == BALE_OK)
        *err = bale_page_decode(bytes, &wanted->ref, &ctx, page);
    return *err == BALE_OK && page->height == wanted->height &&
           (wanted->generation == 0 || page->generation == wanted->generation);
}

static struct wanted_page place_of_child(const struct bale_page *page, unsigned i, uint64_t upper)
{
    const struct bale_child *child = &page->children[i];

    return (struct wanted_page){
        .ref = child->ref,
        .generation = child->generation,
        .limit = page->generation,
        .first = child->first,
        .upper = i + 1u < page->count ? page->children[i + 1].first : upper,
        .height = (uint8_t)(page->height - 1),
    };
}

/* Reports a lost page, and writes it if it is known and wanted. */
static int restore_page(struct restore *r, const struct wanted_page *wanted, bool *known)
{
    int made = make_page(r, wanted);

    if (made < 0)
        return made;
    *known = made;
    const struct bale_lost_page lost = {
        .position = wanted->ref.position,
        .length = wanted->ref.length,
        .first = wanted->first,
        .end = wanted->upper < r->ctx.size ? wanted->upper : r->ctx.size,
        .bytes = made ? r->bytes : NULL,
    };
    if (!r->lost(r->arg, &lost) || !made)
        return BALE_OK;
    r->written = true;
    return r->io->ops->write(r->io, r->bytes, wanted->ref.length, wanted->ref.position);
}

static int restore_below(struct restore *r, const struct wanted_page *wanted)
{
    struct bale_page *page = malloc(sizeof *page);
    bool known = true;
    int err = page ? BALE_OK : BALE_E_NOMEM;

    if (page && !read_page(r, wanted, page, &err)) {
        bool damaged = err == BALE_OK || err == BALE_E_CORRUPT || err == BALE_E_IO;
        err = damaged ? restore_page(r, wanted, &known) : err;
        if (known)
            *page = r->page;
    }
    for (unsigned i = 0; err == BALE_OK && known && wanted->height > 1 && i < page->count; i++) {
        const struct wanted_page child = place_of_child(page, i, wanted->upper);
        err = restore_below(r, &child);
    }
    free(page);
    return err;
}

int bale_container_restore(struct bale_container *c,
                           bool (*lost)(void *arg, const struct bale_lost_page *page), void *arg)
{
    const struct bale_root *root = &c->root;
    struct restore *r = calloc(1, sizeof *r);

    if (!r)
        return BALE_E_NOMEM;
    bale_container_lock_writer(c);
    *r = (struct restore){.io = c->io, .lost = lost, .arg = arg};
    r->ctx = c->index.ctx;
    const struct wanted_page top = {.ref = c->index.ref,
                                    .limit = root->generation,
                                    .upper = UINT64_MAX,
                                    .height = c->index.height};
    int err = top.height >= 1 && top.height <= BALE_HEIGHT_MAX ? restore_below(r, &top) : BALE_OK;
    if (err == BALE_OK && r->written)
        err = c->io->ops->sync(c->io);
    bale_container_unlock_writer(c);
    bale_candidates_clear(&r->candidates);
    free(r);
    return err;
}
