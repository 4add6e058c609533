#include "fs/container/history.h"

#include <stdlib.h>

#include "format/err.h"

/* Keeps the part of the segment within [first, end). False: there is none. */
static bool clip(struct bale_segment *segment, uint64_t first, uint64_t end)
{
    uint64_t from = segment->offset > first ? segment->offset : first;
    uint64_t to = segment->offset + segment->length;

    to = to < end ? to : end;
    if (from >= to)
        return false;
    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) == 0)
        segment->skip += (uint32_t)(from - segment->offset);
    segment->offset = from;
    segment->length = (uint32_t)(to - from);
    return true;
}

static int compare_events(const void *a, const void *b)
{
    const struct bale_history_event *x = a, *y = b;

    if (x->generation != y->generation)
        return x->generation < y->generation ? -1 : 1;
    if (!x->page != !y->page)
        return x->page ? 1 : -1;
    uint64_t p = x->page ? x->page->ref.position : x->frame->position;
    uint64_t q = y->page ? y->page->ref.position : y->frame->position;
    return p < q ? -1 : p > q;
}

int bale_history_take(struct bale_history *h, struct bale_io *io,
                      const struct bale_page_context *ctx, const struct bale_candidates *candidates,
                      uint64_t first, uint64_t end, uint64_t generation)
{
    *h = (struct bale_history){
        .io = io, .ctx = ctx, .candidates = candidates, .first = first, .end = end};
    h->events = malloc((candidates->frame_count + candidates->page_count + 1) * sizeof *h->events);
    if (!h->events)
        return BALE_E_NOMEM;
    for (size_t i = 0; i < candidates->frame_count; i++) {
        const struct bale_segment *frame = &candidates->frames[i];
        if (frame->generation <= generation && frame->offset < end &&
            frame->offset + frame->length > first)
            h->events[h->count++] = (struct bale_history_event){frame->generation, frame, NULL};
    }
    for (size_t i = 0; i < candidates->page_count; i++) {
        const struct bale_candidate_page *page = &candidates->pages[i];
        if (page->height == 1 && page->generation <= generation && page->first < end &&
            page->last >= first)
            h->events[h->count++] = (struct bale_history_event){page->generation, NULL, page};
    }
    qsort(h->events, h->count, sizeof *h->events, compare_events);
    return BALE_OK;
}

void bale_history_clear(struct bale_history *h)
{
    free(h->events);
    *h = (struct bale_history){0};
}

static int put(const struct bale_history *h, struct bale_index *index,
               const struct bale_segment *segment)
{
    struct bale_segment part = *segment;
    int err = clip(&part, h->first, h->end) ? bale_index_put(index, &part, false) : BALE_OK;

    index->released_count = 0;
    return err;
}

/* A segment of a page counts if its frame is a candidate, or if that does not matter. */
static bool counts(const struct bale_history *h, const struct bale_segment *segment)
{
    const struct bale_segment *frame =
        h->known ? bale_candidates_at(h->candidates, segment->position) : segment;

    return (segment->flags & BALE_SEGMENT_UNWRITTEN) != 0 ||
           (frame && bale_segment_same_frame(frame, segment));
}

static int replay_page(const struct bale_history *h, struct bale_index *index,
                       const struct bale_candidate_page *candidate)
{
    uint64_t first = candidate->first > h->first ? candidate->first : h->first;
    uint64_t end = candidate->last + 1 < h->end ? candidate->last + 1 : h->end;
    struct bale_page *page = malloc(sizeof *page);
    int err = page ? bale_candidates_read_page(h->io, h->ctx, &candidate->ref, page) : BALE_E_NOMEM;

    if (err == BALE_OK)
        err = bale_index_cut(index, first, end);
    for (unsigned i = 0; err == BALE_OK && i < page->count; i++)
        if (counts(h, &page->segments[i]))
            err = put(h, index, &page->segments[i]);
    index->released_count = 0;
    free(page);
    return err;
}

int bale_history_replay(const struct bale_history *h, struct bale_index *index,
                        const struct bale_history_without *without)
{
    int err = BALE_OK;

    for (size_t i = 0; err == BALE_OK && i < h->count; i++) {
        const struct bale_history_event *event = &h->events[i];

        if (i == without->a || i == without->b || (without->pages && event->page))
            continue;
        err = event->page ? replay_page(h, index, event->page) : put(h, index, event->frame);
    }
    return err;
}
