#include "fs/container/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "fs/container/frame_io.h"

#define WINDOW ((size_t)1 << 20)
#define PIECE ((size_t)4096)
#define MAGIC 4u
#define PAGE_HEAD 8u /* magic, version, height, count */
#define PAGE_AT_CONTAINER_ID 16u

struct search {
    struct bale_io *io;
    const struct bale_page_context *ctx;
    struct bale_candidates *found;
    /* The frame found so far that reaches furthest: what lies in it may be its data. */
    struct bale_segment outer;
    enum { UNKNOWN, WHOLE, BROKEN } outer_state;
};

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return array;
    *room = *room ? *room * 2 : 64;
    return realloc(array, *room * size);
}

/* Whether [position, position + length) is data of a frame that was found before. */
static bool is_data(struct search *search, uint64_t position, uint64_t length)
{
    const struct bale_segment *outer = &search->outer;

    if (position + length > outer->position + outer->frame_length)
        return false;
    if (search->outer_state == UNKNOWN)
        search->outer_state =
            bale_frame_verify(search->io, outer, search->ctx->extent, NULL, NULL) == BALE_OK
                ? WHOLE
                : BROKEN;
    return search->outer_state == WHOLE;
}

static int add_frame(struct search *search, const struct bale_segment *frame)
{
    struct bale_candidates *found = search->found;
    struct bale_segment *frames =
        grow(found->frames, found->frame_count, &found->frame_room, sizeof *frames);

    if (!frames)
        return BALE_E_NOMEM;
    found->frames = frames;
    frames[found->frame_count++] = *frame;
    if (frame->position + frame->frame_length >
        search->outer.position + search->outer.frame_length) {
        search->outer = *frame;
        search->outer_state = UNKNOWN;
    }
    return BALE_OK;
}

/* Adds the frame that begins with these bytes, of which length are there, if it is one. */
static int try_frame(struct search *search, const uint8_t *bytes, size_t length, uint64_t position)
{
    const struct bale_page_context *ctx = search->ctx;
    struct bale_frame frame;
    uint8_t *head = NULL;
    int err = bale_frame_head_decode(bytes, length, &frame);

    if (err == BALE_E_SHORT && position + frame.head_length <= ctx->end) {
        uint32_t need = frame.head_length;
        head = malloc(need);
        err = head ? bale_frame_bytes_read(search->io, head, need, position, NULL) : BALE_E_NOMEM;
        if (err == BALE_OK)
            err = bale_frame_head_decode(head, need, &frame);
    }
    free(head);
    if (err != BALE_OK)
        return err == BALE_E_NOMEM || err == BALE_E_IO ? err : BALE_OK;
    uint64_t whole = (uint64_t)frame.head_length + frame.stored_length;
    if (whole > UINT32_MAX || frame.offset >= ctx->size)
        return BALE_OK;
    struct bale_segment segment = bale_segment_of_frame(&frame, position, (uint32_t)whole);
    if (segment.length > ctx->size - segment.offset)
        segment.length = (uint32_t)(ctx->size - segment.offset);
    if (bale_segment_check(&segment, ctx) != BALE_OK || is_data(search, position, whole))
        return BALE_OK;
    return add_frame(search, &segment);
}

static uint64_t last_of(const struct bale_page *page)
{
    const struct bale_segment *segment = &page->segments[page->count - 1];

    return page->height > 1 ? page->children[page->count - 1].first
                            : segment->offset + segment->length - 1;
}

static int decode_page(const uint8_t *bytes, const struct bale_page_context *ctx,
                       const struct bale_ref *ref, struct bale_page *page)
{
    struct bale_page_context loose = *ctx;

    loose.size = loose.end = BALE_SIZE_MAX;
    if (loose.container_id == 0)
        loose.container_id = bale_get64(bytes + PAGE_AT_CONTAINER_ID);
    return bale_page_decode(bytes, ref, &loose, page);
}

/* The same for a page of the index. */
static int try_page(struct search *search, const uint8_t *bytes, size_t length, uint64_t position)
{
    struct bale_candidates *found = search->found;
    uint8_t copy[BALE_PAGE_MAX];
    struct bale_page page;

    if (length < PAGE_HEAD || bytes[5] < 1 || bytes[5] > BALE_HEIGHT_MAX)
        return BALE_OK;
    size_t size = bale_page_length(bytes[5], bale_get16(bytes + 6));
    if (bale_page_count(bytes[5], size) == 0)
        return BALE_OK;
    if (length < size) {
        int err = bale_frame_bytes_read(search->io, copy, size, position, NULL);
        if (err != BALE_OK)
            return err == BALE_E_CORRUPT ? BALE_OK : err;
        bytes = copy;
    }
    const struct bale_ref ref = {.position = position,
                                 .length = (uint32_t)size,
                                 .checksum = bale_get64(bytes + size - sizeof(uint64_t))};
    if (decode_page(bytes, search->ctx, &ref, &page) != BALE_OK || is_data(search, position, size))
        return BALE_OK;
    struct bale_candidate_page *pages =
        grow(found->pages, found->page_count, &found->page_room, sizeof *pages);
    if (!pages)
        return BALE_E_NOMEM;
    found->pages = pages;
    pages[found->page_count++] = (struct bale_candidate_page){
        .ref = ref,
        .generation = page.generation,
        .container_id = page.container_id,
        .first = page.height > 1 ? page.children[0].first : page.segments[0].offset,
        .last = last_of(&page),
        .height = page.height,
    };
    return BALE_OK;
}

/* Tries whatever begins in the first `part` bytes of the window, of which length bytes were
 * read. */
static int search_window(struct search *search, const uint8_t *window, size_t part, size_t length,
                         uint64_t position)
{
    int err = BALE_OK;

    for (size_t at = 0; err == BALE_OK && at < part && at + MAGIC <= length; at++) {
        const uint8_t *next = memchr(window + at, 'B', part - at);
        if (!next)
            break;
        at = (size_t)(next - window);
        if (at + MAGIC > length)
            break;
        if (memcmp(next, "BFRM", MAGIC) == 0)
            err = try_frame(search, next, length - at, position + at);
        else if (memcmp(next, "BIDX", MAGIC) == 0)
            err = try_page(search, next, length - at, position + at);
    }
    return err;
}

/* Reads the window; what cannot be read is zeros. */
static int read_window(struct bale_io *io, uint8_t *window, uint64_t position, size_t *got)
{
    int err = io->ops->read(io, window, WINDOW, position, got);

    if (err != BALE_E_IO)
        return err;
    for (size_t at = 0; at < WINDOW; at += PIECE) {
        size_t piece = 0;
        memset(window + at, 0, PIECE);
        err = io->ops->read(io, window + at, PIECE, position + at, &piece);
        if (err != BALE_OK && err != BALE_E_IO)
            return err;
    }
    *got = WINDOW;
    return BALE_OK;
}

int bale_candidates_find(struct bale_io *io, const struct bale_page_context *ctx,
                         struct bale_candidates *out)
{
    struct search search = {.io = io, .ctx = ctx, .found = out};
    uint8_t *window = malloc(WINDOW);
    int err = window ? BALE_OK : BALE_E_NOMEM;
    size_t got = 0;

    *out = (struct bale_candidates){0};
    /* The windows overlap by a page, so that most heads and pages lie in one. */
    for (uint64_t at = BALE_DATA_START; err == BALE_OK && at < ctx->end;
         at += WINDOW - BALE_PAGE_MAX) {
        err = read_window(io, window, at, &got);
        if (err == BALE_OK)
            err =
                search_window(&search, window,
                              got < WINDOW - BALE_PAGE_MAX ? got : WINDOW - BALE_PAGE_MAX, got, at);
    }
    free(window);
    if (err != BALE_OK)
        bale_candidates_clear(out);
    return err;
}

int bale_candidates_read_page(struct bale_io *io, const struct bale_page_context *ctx,
                              const struct bale_ref *ref, struct bale_page *page)
{
    uint8_t bytes[BALE_PAGE_MAX];
    int err = bale_frame_bytes_read(io, bytes, ref->length, ref->position, NULL);

    return err == BALE_OK ? decode_page(bytes, ctx, ref, page) : err;
}

const struct bale_segment *bale_candidates_at(const struct bale_candidates *candidates,
                                              uint64_t position)
{
    size_t low = 0, high = candidates->frame_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (candidates->frames[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < candidates->frame_count && candidates->frames[low].position == position
               ? &candidates->frames[low]
               : NULL;
}

void bale_candidates_clear(struct bale_candidates *candidates)
{
    free(candidates->frames);
    free(candidates->pages);
    *candidates = (struct bale_candidates){0};
}
