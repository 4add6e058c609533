#include <string.h>

#include "format/err.h"
#include "fs/container/index_node.h"

struct visit {
    struct bale_index *index;
    const struct bale_index_visitor *visitor;
    uint64_t covered; /* end of the last segment */
    bool tighten;     /* make the first offsets in inner pages exact */
};

static int visit_page(struct visit *v, struct bale_index_node *node, uint64_t upper);

/* The result of the visitor's bad for a damaged page, or err if it has none. */
static int report_bad(const struct visit *v, int err, const struct bale_bad_ref *bad,
                      const struct bale_index_expect *expect)
{
    if (!v->visitor->bad || err == BALE_E_NOMEM)
        return err;
    return v->visitor->bad(v->visitor->arg, err, bad, expect->first, expect->upper);
}

static int report_page(const struct visit *v, int err, const struct bale_ref *ref,
                       const struct bale_index_expect *expect)
{
    return report_bad(v, err, &(struct bale_bad_ref){*ref, BALE_BAD_PAGE}, expect);
}

static int visit_segments(struct visit *v, const struct bale_index_node *leaf)
{
    const struct bale_page *page = &leaf->page;
    const struct bale_index_expect range = {.first = page->segments[0].offset, .upper = v->covered};

    /* bale_page_decode checked the order inside a page; here it is between pages. */
    if (page->segments[0].offset < v->covered) {
        int err = report_page(v, BALE_E_CORRUPT, &leaf->ref, &range);

        if (err != 0)
            return err;
    }
    v->covered = bale_segment_end(&page->segments[page->count - 1]);
    for (unsigned i = 0; v->visitor->segment && i < page->count; i++) {
        int result = v->visitor->segment(v->visitor->arg, &page->segments[i]);

        if (result != 0)
            return result;
    }
    return 0;
}

static int visit_child(struct visit *v, struct bale_index_node *node, unsigned i, uint64_t upper)
{
    const struct bale_child *record = &node->page.children[i];
    struct bale_index_expect expect = bale_index_expect_child(&node->page, i, upper);
    struct bale_index_node *child = node->child[i];
    int err;

    if (record->generation <= v->visitor->above)
        return 0;
    if (!child) {
        err = bale_index_node_read(v->index, &record->ref, &expect, &child);
        if (err != BALE_OK)
            return report_page(v, err, &record->ref, &expect);
        if (v->visitor->keep)
            node->child[i] = child;
    }
    err = visit_page(v, child, expect.upper);
    if (v->tighten)
        node->page.children[i].first = bale_index_key(child, 0);
    if (!node->child[i])
        bale_index_node_destroy(v->index, child);
    return err;
}

static int visit_page(struct visit *v, struct bale_index_node *node, uint64_t upper)
{
    int err = 0;

    if (v->visitor->page && node->ref.length > 0)
        err = v->visitor->page(v->visitor->arg, &node->ref, &node->page);
    if (err == 0 && node->page.height == 1)
        return visit_segments(v, node);
    for (unsigned i = 0; err == 0 && i < node->page.count; i++)
        err = visit_child(v, node, i, upper);
    return err;
}

static const struct bale_index_expect all = {.upper = UINT64_MAX};

/* *below: what the page names is to be visited. */
static int visit_settings(struct visit *v, bool *below)
{
    struct bale_index *index = v->index;
    int err = bale_index_read_settings(index);

    *below = false;
    if (err != BALE_OK)
        return report_bad(v, err, &(struct bale_bad_ref){index->settings_ref, BALE_BAD_SETTINGS},
                          &all);
    if (index->settings.generation <= v->visitor->above)
        return 0;
    *below = true;
    return v->visitor->page ? v->visitor->page(v->visitor->arg, &index->settings_ref, NULL) : 0;
}

static int visit_all(struct visit *v)
{
    struct bale_index *index = v->index;
    bool below = true;
    int err = index->settings_ref.length > 0 ? visit_settings(v, &below) : 0;

    if (err != 0 || !below)
        return err;
    err = bale_index_top(index, true);
    if (err != BALE_OK)
        return report_bad(v, err,
                          &(struct bale_bad_ref){index->ref, index->height == BALE_HEIGHT_DIRECT
                                                                 ? BALE_BAD_HEAD
                                                                 : BALE_BAD_PAGE},
                          &all);
    if (!index->top)
        return 0;
    /* The page of a direct root is not on disk, so its generation says nothing. */
    if (index->top->ref.length > 0 && index->top->page.generation <= v->visitor->above)
        return 0;
    return visit_page(v, index->top, UINT64_MAX);
}

int bale_index_visit(struct bale_index *index, const struct bale_index_visitor *visitor)
{
    struct visit v = {.index = index, .visitor = visitor};

    return visit_all(&v);
}

int bale_index_visit_root(struct bale_io *io, const struct bale_root *root,
                          const struct bale_index_visitor *visitor)
{
    struct bale_index index;
    int err;

    bale_index_init(&index, io, root, root->extent);
    err = bale_index_visit(&index, visitor);
    bale_index_clear(&index);
    return err;
}

int bale_index_load_all(struct bale_index *index, const struct bale_index_visitor *visitor)
{
    struct bale_index_visitor keeping = {
        .arg = visitor->arg, .keep = true, .page = visitor->page, .segment = visitor->segment};
    /* Changes rely on exact first offsets. */
    struct visit v = {.index = index, .visitor = &keeping, .tighten = true};
    int err = visit_all(&v);

    if (err == BALE_OK)
        index->loaded = true;
    return err;
}
