/* Restoring lost pages of the index. A page is made again from the frames or pages that it can have
 * referred to; it is the lost one, byte for byte, if it has the checksum that the page above it, or
 * the root, has of it. So nothing comes back that was overwritten, punched or cut off. */
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/candidates.h"
#include "fs/container/frame_io.h"
#include "fs/container/internal.h"

#define GENERATIONS_MOST 4096u /* tried where the page's own is not known */
#define GENERATIONS_FEW 16u
#define PAIRS_MOST 96u /* candidates of which each pair is left out, once */

/* A page, as what is above it says. */
struct place {
    struct bale_ref ref;
    uint64_t generation; /* 0: unknown, at most limit */
    uint64_t limit;
    uint64_t first, upper; /* its offsets lie in [first, upper) */
    uint8_t height;
};

/* What is left out of the candidates in one try; SIZE_MAX: nothing. */
struct without {
    size_t a, b;
};

struct restore {
    struct bale_io *io;
    struct bale_page_context ctx;
    struct bale_candidates candidates;
    bool searched, written;
    bool (*lost)(void *arg, const struct bale_lost_page *page);
    void *arg;
    /* The candidates for one page, oldest first, and what they make. */
    struct bale_segment *frames, *made;
    size_t frame_count, made_count;
    const struct bale_candidate_page **pages;
    size_t page_count;
    struct bale_page page;
    uint8_t bytes[BALE_PAGE_MAX];
};

/* Whether the page has the checksum that place has of it, with its generation or, if that is
 * unknown, one of some that it can have. */
static bool is_proven(struct restore *r, const struct place *place, uint64_t least, unsigned tries)
{
    uint64_t generation = place->generation ? place->generation : place->limit;

    r->page.height = place->height;
    r->page.container_id = r->ctx.container_id;
    tries = place->generation ? 1 : tries;
    for (; tries > 0 && generation >= least && generation > 0; tries--, generation--) {
        r->page.generation = generation;
        if (bale_page_encode(&r->page, r->bytes) == place->ref.length &&
            r->page.checksum == place->ref.checksum)
            return true;
    }
    return false;
}

/* ---- A leaf, from frames ---- */

static int compare_frames(const void *a, const void *b)
{
    const struct bale_segment *x = a, *y = b;

    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Keeps the part of the segment within [first, upper). False: there is none. */
static bool clip(struct bale_segment *segment, uint64_t first, uint64_t upper)
{
    uint64_t from = segment->offset > first ? segment->offset : first;
    uint64_t end = segment->offset + segment->length;

    end = end < upper ? end : upper;
    if (from >= end)
        return false;
    segment->skip += (uint32_t)(from - segment->offset);
    segment->offset = from;
    segment->length = (uint32_t)(end - from);
    return true;
}

/* The segment replaces what covers its range, as a put does. There is room for two more. */
static void put(struct restore *r, const struct bale_segment *segment)
{
    struct bale_segment *made = r->made;
    uint64_t end = segment->offset + segment->length;
    size_t from = 0, to;

    while (from < r->made_count && made[from].offset + made[from].length <= segment->offset)
        from++;
    for (to = from; to < r->made_count && made[to].offset < end; to++)
        ;
    struct bale_segment parts[3];
    size_t count = 0;
    if (to > from) {
        parts[0] = made[from];
        count += clip(&parts[0], 0, segment->offset);
    }
    parts[count++] = *segment;
    if (to > from) {
        parts[count] = made[to - 1];
        count += clip(&parts[count], end, UINT64_MAX);
    }
    memmove(made + from + count, made + to, (r->made_count - to) * sizeof *made);
    memcpy(made + from, parts, count * sizeof *made);
    r->made_count = r->made_count - (to - from) + count;
}

static bool try_leaf(struct restore *r, const struct place *place, struct without without,
                     unsigned tries)
{
    uint16_t count = bale_page_count(1, place->ref.length);
    uint64_t least = 1;

    r->made_count = 0;
    for (size_t i = 0; i < r->frame_count; i++)
        if (i != without.a && i != without.b)
            put(r, &r->frames[i]);
    if (r->made_count != count)
        return false;
    r->page.count = count;
    memcpy(r->page.segments, r->made, count * sizeof *r->made);
    for (size_t i = 0; i < count; i++)
        least = r->made[i].generation > least ? r->made[i].generation : least;
    return is_proven(r, place, least, tries);
}

/* Takes the frames that the page can have referred to. */
static int take_frames(struct restore *r, const struct place *place)
{
    const struct bale_candidates *all = &r->candidates;
    uint64_t most = place->generation ? place->generation : place->limit;

    r->frames = malloc((all->frame_count + 1) * sizeof *r->frames);
    r->made = malloc((2 * all->frame_count + 3) * sizeof *r->made);
    if (!r->frames || !r->made)
        return BALE_E_NOMEM;
    r->frame_count = 0;
    for (size_t i = 0; i < all->frame_count; i++) {
        struct bale_segment frame = all->frames[i];
        if (frame.generation <= most && clip(&frame, place->first, place->upper))
            r->frames[r->frame_count++] = frame;
    }
    qsort(r->frames, r->frame_count, sizeof *r->frames, compare_frames);
    return BALE_OK;
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

/* The newest pages that do not cover each other. */
static bool try_inner(struct restore *r, const struct place *place, struct without without,
                      unsigned tries)
{
    uint16_t count = bale_page_count(place->height, place->ref.length), made = 0;
    const struct bale_candidate_page *taken[BALE_PAGE_INNER_RECORDS];
    uint64_t least = 1;

    for (size_t i = 0; i < r->page_count && made < count; i++) {
        const struct bale_candidate_page *page = r->pages[i];
        bool apart = i != without.a && i != without.b;
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
    if (is_proven(r, place, least, tries))
        return true;
    r->page.children[0].first = place->first; /* a lower bound will do */
    return is_proven(r, place, least, tries);
}

static int take_pages(struct restore *r, const struct place *place)
{
    const struct bale_candidates *all = &r->candidates;
    uint64_t most = place->generation ? place->generation : place->limit;

    r->pages = malloc((all->page_count + 1) * sizeof(struct bale_candidate_page *));
    if (!r->pages)
        return BALE_E_NOMEM;
    r->page_count = 0;
    for (size_t i = 0; i < all->page_count; i++) {
        const struct bale_candidate_page *page = &all->pages[i];
        if (page->height == place->height - 1 && page->generation <= most &&
            page->first >= place->first && page->first < place->upper)
            r->pages[r->page_count++] = page;
    }
    qsort(r->pages, r->page_count, sizeof(struct bale_candidate_page *), compare_pages);
    return BALE_OK;
}

/* ---- One page ---- */

/* Tries all candidates, then all but one, then all but two: what was punched or cut off left frames
 * behind that no page refers to. */
static bool try_all(struct restore *r, const struct place *place)
{
    bool (*try)(struct restore *, const struct place *, struct without, unsigned) =
        place->height == 1 ? try_leaf : try_inner;
    size_t count = place->height == 1 ? r->frame_count : r->page_count;

    if (try(r, place, (struct without){SIZE_MAX, SIZE_MAX}, GENERATIONS_MOST))
        return true;
    for (size_t a = 0; a < count; a++)
        if (try(r, place, (struct without){a, SIZE_MAX}, GENERATIONS_FEW))
            return true;
    for (size_t a = 0; count <= PAIRS_MOST && a < count; a++)
        for (size_t b = a + 1; b < count; b++)
            if (try(r, place, (struct without){a, b}, GENERATIONS_FEW))
                return true;
    return false;
}

/* Sets r->page and r->bytes. 1: they are those of the lost page. 0: it cannot be made. */
static int make_page(struct restore *r, const struct place *place)
{
    int err = r->searched ? BALE_OK : bale_candidates_find(r->io, &r->ctx, &r->candidates);

    if (err != BALE_OK)
        return err;
    r->searched = true;
    err = place->height == 1 ? take_frames(r, place) : take_pages(r, place);
    int result = err != BALE_OK ? err : try_all(r, place);
    free(r->frames);
    free(r->made);
    free(r->pages);
    r->frames = r->made = NULL;
    r->pages = NULL;
    return result;
}

static bool read_page(struct restore *r, const struct place *place, struct bale_page *page,
                      int *err)
{
    struct bale_page_context ctx = r->ctx;
    uint8_t bytes[BALE_PAGE_MAX];

    *err = place->ref.length > sizeof bytes
               ? BALE_E_CORRUPT
               : bale_frame_bytes_read(r->io, bytes, place->ref.length, place->ref.position, NULL);
    ctx.generation = place->limit;
    if (*err == BALE_OK)
        *err = bale_page_decode(bytes, &place->ref, &ctx, page);
    return *err == BALE_OK && page->height == place->height &&
           (place->generation == 0 || page->generation == place->generation);
}

static struct place place_of_child(const struct bale_page *page, unsigned i, uint64_t upper)
{
    const struct bale_child *child = &page->children[i];

    return (struct place){
        .ref = child->ref,
        .generation = child->generation,
        .limit = page->generation,
        .first = child->first,
        .upper = i + 1u < page->count ? page->children[i + 1].first : upper,
        .height = (uint8_t)(page->height - 1),
    };
}

/* Reports a lost page, and writes it if it is known and wanted. */
static int restore_page(struct restore *r, const struct place *place, bool *known)
{
    int made = make_page(r, place);

    if (made < 0)
        return made;
    *known = made;
    const struct bale_lost_page lost = {
        .position = place->ref.position,
        .length = place->ref.length,
        .first = place->first,
        .end = place->upper < r->ctx.size ? place->upper : r->ctx.size,
        .bytes = made ? r->bytes : NULL,
    };
    if (!r->lost(r->arg, &lost) || !made)
        return BALE_OK;
    r->written = true;
    return r->io->ops->write(r->io, r->bytes, place->ref.length, place->ref.position);
}

static int restore_below(struct restore *r, const struct place *place)
{
    struct bale_page *page = malloc(sizeof *page);
    bool known = true;
    int err = page ? BALE_OK : BALE_E_NOMEM;

    if (page && !read_page(r, place, page, &err)) {
        bool damaged = err == BALE_OK || err == BALE_E_CORRUPT || err == BALE_E_IO;
        err = damaged ? restore_page(r, place, &known) : err;
        if (known)
            *page = r->page;
    }
    for (unsigned i = 0; err == BALE_OK && known && place->height > 1 && i < page->count; i++) {
        const struct place child = place_of_child(page, i, place->upper);
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
    const struct place top = {.ref = c->index.ref,
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
