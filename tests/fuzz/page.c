/* Input: what the root says (end, size, generation, u32 extent in units of 4096 beyond the least),
 * then the page. */
#include "format/page.h"

#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/hash.h"
#include "tests/fuzz/target.h"
#include "tests/support/offsets.h"

enum {
    AT_SIZE = 8,
    AT_GENERATION = 16,
    AT_EXTENT = 24,
    CONTEXT = 28,
    CHECKSUM = 8,
    EXTENTS = (BALE_EXTENT_MAX - BALE_EXTENT_MIN) / BALE_EXTENT_STEP + 1,
};

static bool inside(uint64_t position, uint32_t length, const struct bale_page_context *ctx)
{
    return position >= BALE_DATA_START && position < ctx->end && length <= ctx->end - position;
}

static void check_leaf(const struct bale_page *page, const struct bale_page_context *ctx)
{
    uint64_t covered = 0;

    for (size_t i = 0; i < page->count; i++) {
        const struct bale_segment *segment = &page->segments[i];

        FUZZ_HOLDS(segment->offset >= covered && segment->length >= 1);
        covered = segment->offset + segment->length;
        FUZZ_HOLDS(covered > segment->offset && covered <= ctx->size);
        FUZZ_HOLDS(segment->generation <= page->generation);
        FUZZ_HOLDS((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0 ||
                   inside(segment->position, segment->frame_length, ctx));
    }
}

static void check_inner(const struct bale_page *page, const struct bale_page_context *ctx)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct bale_child *child = &page->children[i];

        FUZZ_HOLDS(i == 0 || child->first > page->children[i - 1].first);
        FUZZ_HOLDS(child->first < ctx->size && child->generation <= page->generation);
        FUZZ_HOLDS(inside(child->ref.position, child->ref.length, ctx));
    }
}

static void check_page(const uint8_t *bytes, size_t length, struct bale_page *page,
                       const struct bale_page_context *ctx)
{
    uint8_t again[BALE_PAGE_MAX];

    FUZZ_HOLDS(page->count >= 1 && page->generation <= ctx->generation);
    if (page->height == 1)
        check_leaf(page, ctx);
    else
        check_inner(page, ctx);
    FUZZ_HOLDS(bale_page_encode(page, again) == length);
    FUZZ_HOLDS(memcmp(again, bytes, length) == 0);
}

bool fuzz_page(const uint8_t *data, size_t size)
{
    struct bale_page_context ctx = {0};
    struct bale_ref ref = {.position = BALE_DATA_START};
    struct bale_page page;
    uint8_t *bytes;
    int err;

    if (size < CONTEXT)
        return false;
    ref.length = (uint32_t)(size - CONTEXT);
    bytes = malloc(ref.length + 1); /* exact, except an empty one, for the sanitizer */
    FUZZ_HOLDS(bytes != NULL);
    memcpy(bytes, data + CONTEXT, ref.length);
    if (ref.length >= CHECKSUM) {
        ref.checksum = bale_hash(bytes, ref.length - CHECKSUM);
        bale_put64(bytes + ref.length - CHECKSUM, ref.checksum);
    }
    if (ref.length >= PAGE_AT_CONTAINER_ID + 8)
        ctx.container_id = bale_get64(bytes + PAGE_AT_CONTAINER_ID);
    ctx.end = bale_get64(data) & BALE_SIZE_MAX;
    ctx.size = bale_get64(data + AT_SIZE) & BALE_SIZE_MAX;
    ctx.generation = bale_get64(data + AT_GENERATION);
    ctx.extent = BALE_EXTENT_MIN + bale_get32(data + AT_EXTENT) % EXTENTS * BALE_EXTENT_STEP;

    err = bale_page_decode(bytes, &ref, &ctx, &page);
    if (err == BALE_OK)
        check_page(bytes, ref.length, &page, &ctx);
    free(bytes);
    return err == BALE_OK;
}

static void seed_leaf(struct bale_page *page)
{
    page->count = 3;
    page->segments[0] = (struct bale_segment){
        .position = 4096, .generation = 1, .length = 8192, .frame_length = 500, .codec = 3};
    page->segments[1] = (struct bale_segment){.offset = 12288,
                                              .position = 4096,
                                              .generation = 1,
                                              .length = 4096,
                                              .skip = 12288,
                                              .frame_length = 500,
                                              .codec = 3};
    page->segments[2] =
        (struct bale_segment){.offset = 16384, .length = 1 << 20, .flags = BALE_SEGMENT_UNWRITTEN};
    page->segments[0].chunk_log2 = page->segments[1].chunk_log2 = 12;
}

static void seed_inner(struct bale_page *page)
{
    page->count = 2;
    for (uint32_t i = 0; i < page->count; i++)
        page->children[i] = (struct bale_child){
            .first = i * 65536,
            .generation = 1,
            .ref = {.position = 4096 * (i + 1),
                    .length = (uint32_t)bale_page_length((uint8_t)(page->height - 1), 9)}};
}

size_t fuzz_page_seed(unsigned n, uint8_t out[static FUZZ_INPUT_MAX])
{
    static const uint8_t heights[] = {1, 2, 3};
    struct bale_page page = {.generation = 1, .container_id = 1};

    if (n >= sizeof(heights))
        return 0;
    bale_put64(out, 1 << 20);
    bale_put64(out + AT_SIZE, 1 << 21);
    bale_put64(out + AT_GENERATION, 1);
    bale_put32(out + AT_EXTENT, 0);
    page.height = heights[n];
    if (page.height == 1)
        seed_leaf(&page);
    else
        seed_inner(&page);
    return CONTEXT + bale_page_encode(&page, out + CONTEXT);
}
