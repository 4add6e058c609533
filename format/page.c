#include "format/page.h"

#include <stdbool.h>
#include <string.h>

#include "format/bytes.h"
#include "format/err.h"
#include "format/frame.h"
#include "format/hash.h"

enum {
    AT_VERSION = 4,
    AT_HEIGHT = 5,
    AT_COUNT = 6,
    AT_GENERATION = 8,
    AT_CONTAINER_ID = 16,
    AT_RECORDS = 24,
    CHECKSUM_SIZE = 8,
    SEGMENT_SIZE = 48,
    CHILD_SIZE = 36,
    VERSION = 1,

    SEGMENT_AT_POSITION = 8,
    SEGMENT_AT_GENERATION = 16,
    SEGMENT_AT_LENGTH = 24,
    SEGMENT_AT_SKIP = 28,
    SEGMENT_AT_FRAME_LENGTH = 32,
    SEGMENT_AT_CODEC = 36,
    SEGMENT_AT_CHUNK_LOG2 = 37,
    SEGMENT_AT_FLAGS = 38,
    SEGMENT_AT_ZERO = 39,
    SEGMENT_AT_CHECKSUM = 40,

    CHILD_AT_POSITION = 8,
    CHILD_AT_GENERATION = 16,
    CHILD_AT_LENGTH = 24,
    CHILD_AT_CHECKSUM = 28,
};

static const uint8_t magic[4] = {'B', 'I', 'D', 'X'};

static size_t record_size(uint8_t height)
{
    return height == 1 ? SEGMENT_SIZE : CHILD_SIZE;
}

size_t bale_page_length(uint8_t height, uint16_t count)
{
    return AT_RECORDS + count * record_size(height) + CHECKSUM_SIZE;
}

uint16_t bale_page_count(uint8_t height, size_t length)
{
    size_t most = height == 1 ? BALE_PAGE_LEAF_RECORDS : BALE_PAGE_INNER_RECORDS;
    size_t count;

    if (length < AT_RECORDS + CHECKSUM_SIZE)
        return 0;
    count = (length - AT_RECORDS - CHECKSUM_SIZE) / record_size(height);
    if (count > most || bale_page_length(height, (uint16_t)count) != length)
        return 0;
    return (uint16_t)count;
}

static void put_segment(const struct bale_segment *segment, uint8_t *out)
{
    bale_put64(out, segment->offset);
    bale_put64(out + SEGMENT_AT_POSITION, segment->position);
    bale_put64(out + SEGMENT_AT_GENERATION, segment->generation);
    bale_put32(out + SEGMENT_AT_LENGTH, segment->length);
    bale_put32(out + SEGMENT_AT_SKIP, segment->skip);
    bale_put32(out + SEGMENT_AT_FRAME_LENGTH, segment->frame_length);
    out[SEGMENT_AT_CODEC] = segment->codec;
    out[SEGMENT_AT_CHUNK_LOG2] = segment->chunk_log2;
    out[SEGMENT_AT_FLAGS] = segment->flags;
    out[SEGMENT_AT_ZERO] = 0;
    bale_put64(out + SEGMENT_AT_CHECKSUM, segment->checksum);
}

static void put_child(const struct bale_child *child, uint8_t *out)
{
    bale_put64(out, child->first);
    bale_put64(out + CHILD_AT_POSITION, child->ref.position);
    bale_put64(out + CHILD_AT_GENERATION, child->generation);
    bale_put32(out + CHILD_AT_LENGTH, child->ref.length);
    bale_put64(out + CHILD_AT_CHECKSUM, child->ref.checksum);
}

size_t bale_page_encode(struct bale_page *page, uint8_t out[static BALE_PAGE_MAX])
{
    size_t length = bale_page_length(page->height, page->count);

    memcpy(out, magic, sizeof magic);
    out[AT_VERSION] = VERSION;
    out[AT_HEIGHT] = page->height;
    bale_put16(out + AT_COUNT, page->count);
    bale_put64(out + AT_GENERATION, page->generation);
    bale_put64(out + AT_CONTAINER_ID, page->container_id);
    for (size_t i = 0; i < page->count; i++) {
        uint8_t *record = out + AT_RECORDS + i * record_size(page->height);

        if (page->height == 1)
            put_segment(&page->segments[i], record);
        else
            put_child(&page->children[i], record);
    }
    page->checksum = bale_hash(out, length - CHECKSUM_SIZE);
    bale_put64(out + length - CHECKSUM_SIZE, page->checksum);
    return length;
}

/* Whether [position, position + length) lies between the slots and the root's end. */
static bool in_container(uint64_t position, uint32_t length, uint64_t end)
{
    return position >= BALE_DATA_START && position <= end && length <= end - position;
}

static int check_frame(const struct bale_segment *segment, const struct bale_page_context *ctx)
{
    uint64_t raw =
        (uint64_t)segment->skip + segment->length; /* the frame has so many raw bytes or more */
    uint64_t least;

    if (segment->generation < 1 || segment->generation > ctx->generation ||
        segment->skip > segment->offset)
        return BALE_E_CORRUPT;
    if ((segment->offset - segment->skip) / ctx->extent !=
        (segment->offset + segment->length - 1) / ctx->extent)
        return BALE_E_CORRUPT;
    if (segment->chunk_log2 < BALE_CHUNK_LOG2_MIN || segment->chunk_log2 > BALE_CHUNK_LOG2_MAX)
        return BALE_E_CORRUPT;
    if (bale_codec_has_part(segment->codec) && (ctx->features & BALE_FEATURE_PARTS) == 0)
        return BALE_E_CORRUPT;
    least = bale_frame_head_length(segment->codec, (uint32_t)raw, segment->chunk_log2);
    if (segment->codec == BALE_CODEC_ZERO ? segment->frame_length != least
                                          : segment->frame_length <= least)
        return BALE_E_CORRUPT;
    if (segment->frame_length > bale_frame_bound(ctx->extent, segment->chunk_log2))
        return BALE_E_CORRUPT;
    if (!in_container(segment->position, segment->frame_length, ctx->end))
        return BALE_E_CORRUPT;
    return BALE_OK;
}

int bale_segment_check(const struct bale_segment *segment, const struct bale_page_context *ctx)
{
    if (segment->length < 1 || segment->offset > ctx->size ||
        segment->length > ctx->size - segment->offset)
        return BALE_E_CORRUPT;
    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) == 0)
        return check_frame(segment, ctx);
    if (segment->position != 0 || segment->generation != 0 || segment->checksum != 0 ||
        segment->skip != 0 || segment->frame_length != 0 || segment->codec != 0 ||
        segment->chunk_log2 != 0 || segment->length > BALE_UNWRITTEN_MAX)
        return BALE_E_CORRUPT;
    return BALE_OK;
}

static int read_segment(const uint8_t *in, struct bale_segment *segment)
{
    *segment = (struct bale_segment){
        .offset = bale_get64(in),
        .position = bale_get64(in + SEGMENT_AT_POSITION),
        .generation = bale_get64(in + SEGMENT_AT_GENERATION),
        .checksum = bale_get64(in + SEGMENT_AT_CHECKSUM),
        .length = bale_get32(in + SEGMENT_AT_LENGTH),
        .skip = bale_get32(in + SEGMENT_AT_SKIP),
        .frame_length = bale_get32(in + SEGMENT_AT_FRAME_LENGTH),
        .codec = in[SEGMENT_AT_CODEC],
        .chunk_log2 = in[SEGMENT_AT_CHUNK_LOG2],
        .flags = in[SEGMENT_AT_FLAGS],
    };
    if ((segment->flags & ~BALE_SEGMENT_UNWRITTEN) != 0 || in[SEGMENT_AT_ZERO] != 0)
        return BALE_E_UNSUPPORTED;
    return BALE_OK;
}

static int read_leaf(const uint8_t *records, const struct bale_page_context *ctx,
                     struct bale_page *page)
{
    uint64_t covered = 0; /* end of the segment before */

    for (size_t i = 0; i < page->count; i++) {
        struct bale_segment *segment = &page->segments[i];
        int err = read_segment(records + i * SEGMENT_SIZE, segment);

        if (err == BALE_OK)
            err = bale_segment_check(segment, ctx);
        if (err != BALE_OK)
            return err;
        if (segment->offset < covered)
            return BALE_E_CORRUPT;
        covered = segment->offset + segment->length;
    }
    return BALE_OK;
}

static int read_inner(const uint8_t *records, const struct bale_page_context *ctx,
                      struct bale_page *page)
{
    for (size_t i = 0; i < page->count; i++) {
        const uint8_t *in = records + i * CHILD_SIZE;
        struct bale_child *child = &page->children[i];

        *child = (struct bale_child){
            .first = bale_get64(in),
            .generation = bale_get64(in + CHILD_AT_GENERATION),
            .ref = {.position = bale_get64(in + CHILD_AT_POSITION),
                    .checksum = bale_get64(in + CHILD_AT_CHECKSUM),
                    .length = bale_get32(in + CHILD_AT_LENGTH)},
        };
        if (child->first >= ctx->size || (i > 0 && child->first <= page->children[i - 1].first))
            return BALE_E_CORRUPT;
        if (child->generation < 1 || child->generation > ctx->generation)
            return BALE_E_CORRUPT;
        if (bale_page_count((uint8_t)(page->height - 1), child->ref.length) == 0 ||
            !in_container(child->ref.position, child->ref.length, ctx->end))
            return BALE_E_CORRUPT;
    }
    return BALE_OK;
}

/* Bytes of the container that a page or one of its records claims. */
struct claim {
    uint64_t position;
    uint32_t length;
    const struct bale_segment *segment; /* NULL: a page */
};

/* Inserts the claim by its position. Files are mostly written from front to back, so the loop
 * seldom runs. */
static void add_claim(struct claim *claims, size_t *count, struct claim claim)
{
    size_t i = (*count)++;

    for (; i > 0 && claims[i - 1].position > claim.position; i--)
        claims[i] = claims[i - 1];
    claims[i] = claim;
}

bool bale_segment_same_frame(const struct bale_segment *a, const struct bale_segment *b)
{
    return a->position == b->position && a->frame_length == b->frame_length &&
           a->generation == b->generation && a->checksum == b->checksum && a->codec == b->codec &&
           a->chunk_log2 == b->chunk_log2 && a->offset - a->skip == b->offset - b->skip;
}

struct bale_segment bale_segment_of_frame(const struct bale_frame *frame, uint64_t position,
                                          uint32_t frame_length)
{
    return (struct bale_segment){
        .offset = frame->offset,
        .position = position,
        .generation = frame->generation,
        .checksum = frame->head_checksum,
        .length = frame->raw_length,
        .frame_length = frame_length,
        .codec = frame->codec,
        .chunk_log2 = frame->chunk_log2,
    };
}

/* Whether two claims are of one frame. Pages, where segment is NULL, share nothing. */
static bool same_frame(const struct claim *a, const struct claim *b)
{
    return a->segment && b->segment && bale_segment_same_frame(a->segment, b->segment);
}

static struct claim claim_of(const struct bale_page *page, size_t i)
{
    const struct bale_segment *segment;
    const struct bale_ref *child;

    if (page->height > 1) {
        child = &page->children[i].ref;
        return (struct claim){child->position, child->length, NULL};
    }
    segment = &page->segments[i]; /* an unwritten one claims nothing: its frame length is 0 */
    return (struct claim){segment->position, segment->frame_length, segment};
}

/* Page and what it refers to must not overlap; segments may share a frame if they agree on it. */
static int check_apart(const struct bale_ref *ref, const struct bale_page *page)
{
    struct claim claims[1 + BALE_PAGE_INNER_RECORDS];
    size_t count = 0;

    add_claim(claims, &count, (struct claim){ref->position, ref->length, NULL});
    for (size_t i = 0; i < page->count; i++) {
        struct claim claim = claim_of(page, i);

        if (claim.length > 0)
            add_claim(claims, &count, claim);
    }
    for (size_t i = 1; i < count; i++)
        if (claims[i].position - claims[i - 1].position < claims[i - 1].length &&
            !same_frame(&claims[i], &claims[i - 1]))
            return BALE_E_CORRUPT;
    return BALE_OK;
}

int bale_page_decode(const uint8_t *in, const struct bale_ref *ref,
                     const struct bale_page_context *ctx, struct bale_page *page)
{
    struct bale_page_context below = *ctx;
    int err;

    if (ref->length < AT_RECORDS + CHECKSUM_SIZE || ref->length > BALE_PAGE_MAX)
        return BALE_E_CORRUPT;
    page->checksum = bale_get64(in + ref->length - CHECKSUM_SIZE);
    if (page->checksum != ref->checksum ||
        page->checksum != bale_hash(in, ref->length - CHECKSUM_SIZE))
        return BALE_E_CORRUPT;
    if (memcmp(in, magic, sizeof magic) != 0 || in[AT_VERSION] < VERSION)
        return BALE_E_CORRUPT;
    if (in[AT_VERSION] > VERSION)
        return BALE_E_UNSUPPORTED;

    page->height = in[AT_HEIGHT];
    page->count = bale_get16(in + AT_COUNT);
    page->generation = bale_get64(in + AT_GENERATION);
    page->container_id = bale_get64(in + AT_CONTAINER_ID);
    if (page->height < 1 || page->height > BALE_HEIGHT_MAX)
        return BALE_E_CORRUPT;
    if (page->count < 1 || page->count != bale_page_count(page->height, ref->length))
        return BALE_E_CORRUPT;
    if (page->generation < 1 || page->generation > ctx->generation ||
        page->container_id != ctx->container_id)
        return BALE_E_CORRUPT;

    below.generation = page->generation;
    if (page->height == 1)
        err = read_leaf(in + AT_RECORDS, &below, page);
    else
        err = read_inner(in + AT_RECORDS, &below, page);
    return err == BALE_OK ? check_apart(ref, page) : err;
}
