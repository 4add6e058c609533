/* Index pages: every field's place, checksums, lengths, the smallest and the fullest. */
#include "format/frame.h"
#include "tests/unit/format/edit.h"
#include "tests/unit/format/page_data.h"

static void check_same_segment(const struct bale_segment *a, const struct bale_segment *b)
{
    CHECK_EQ_U(a->offset, b->offset);
    CHECK_EQ_U(a->position, b->position);
    CHECK_EQ_U(a->generation, b->generation);
    CHECK_EQ_U(a->checksum, b->checksum);
    CHECK_EQ_U(a->length, b->length);
    CHECK_EQ_U(a->skip, b->skip);
    CHECK_EQ_U(a->frame_length, b->frame_length);
    CHECK_EQ_U(a->codec, b->codec);
    CHECK_EQ_U(a->chunk_log2, b->chunk_log2);
    CHECK_EQ_U(a->flags, b->flags);
}

static void check_same_child(const struct bale_child *a, const struct bale_child *b)
{
    CHECK_EQ_U(a->first, b->first);
    CHECK_EQ_U(a->generation, b->generation);
    CHECK_EQ_U(a->ref.position, b->ref.position);
    CHECK_EQ_U(a->ref.length, b->ref.length);
    CHECK_EQ_U(a->ref.checksum, b->ref.checksum);
}

static void check_same(const struct bale_page *a, const struct bale_page *b)
{
    CHECK_EQ_U(a->generation, b->generation);
    CHECK_EQ_U(a->container_id, b->container_id);
    CHECK_EQ_U(a->checksum, b->checksum);
    CHECK_EQ_U(a->height, b->height);
    if (!CHECK_EQ_U(a->count, b->count))
        return;
    for (size_t i = 0; i < a->count; i++)
        if (a->height == 1)
            check_same_segment(&a->segments[i], &b->segments[i]);
        else
            check_same_child(&a->children[i], &b->children[i]);
}

static void test_layout(const struct bale_page *page, const uint8_t *bytes, size_t length,
                        const struct bale_page_context *ctx)
{
    uint8_t out[BALE_PAGE_MAX];
    struct bale_page made = *page;
    struct bale_page found;

    made.checksum = 0;
    memset(out, 0xff, sizeof(out));
    CHECK_EQ_U(bale_page_encode(&made, out), length);
    CHECK_EQ_MEM(out, bytes, length);
    CHECK_EQ_U(made.checksum, page->checksum);
    if (CHECK_EQ(page_decode(bytes, length, page->checksum, ctx, &found), BALE_OK))
        check_same(&found, page);
}

static void test_every_flipped_byte(const uint8_t *good, size_t length,
                                    const struct bale_page_context *ctx)
{
    uint64_t checksum = bale_get64(good + length - 8);
    uint8_t bytes[BALE_PAGE_MAX];
    struct bale_page page;

    memcpy(bytes, good, length);
    for (size_t at = 0; at < length; at++) {
        for (unsigned change = 1; change < 256; change++) {
            bytes[at] = (uint8_t)(good[at] ^ change);
            if (!CHECK_EQ(page_decode(bytes, length, checksum, ctx, &page), BALE_E_CORRUPT))
                fprintf(stderr, "    byte %zu changed by 0x%02x\n", at, change);
        }
        bytes[at] = good[at];
    }
}

/* The parent's word and the page's own must both hold. */
static void test_checksums(void)
{
    uint8_t bytes[LEAF];
    uint64_t right = leaf_page.checksum;
    struct bale_page page;

    memcpy(bytes, leaf_bytes, LEAF);
    CHECK_EQ(page_decode(bytes, LEAF, right ^ 1, &leaf_ctx, &page), BALE_E_CORRUPT);
    bale_put64(bytes + LEAF - 8, right ^ 1);
    CHECK_EQ(page_decode(bytes, LEAF, right ^ 1, &leaf_ctx, &page), BALE_E_CORRUPT);
    CHECK_EQ(page_decode(bytes, LEAF, right, &leaf_ctx, &page), BALE_E_CORRUPT);
}

static void test_lengths(void)
{
    uint8_t bytes[BALE_PAGE_MAX + 1] = {0};
    struct bale_page page;

    CHECK_EQ_U(bale_page_length(1, 84), 32 + 84 * 48);
    CHECK_EQ_U(bale_page_length(2, 112), 32 + 112 * 36);
    CHECK(bale_page_length(1, BALE_PAGE_LEAF_RECORDS) <= BALE_PAGE_MAX);
    CHECK(bale_page_length(1, BALE_PAGE_LEAF_RECORDS + 1) > BALE_PAGE_MAX);
    CHECK(bale_page_length(8, BALE_PAGE_INNER_RECORDS) <= BALE_PAGE_MAX);
    CHECK(bale_page_length(8, BALE_PAGE_INNER_RECORDS + 1) > BALE_PAGE_MAX);
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        size_t leaf = length >= 80 && length <= 4064 && (length - 32) % 48 == 0;
        size_t inner = length >= 68 && length <= 4064 && (length - 32) % 36 == 0;

        CHECK_EQ_U(bale_page_count(1, length), leaf * ((length - 32) / 48));
        CHECK_EQ_U(bale_page_count(2, length), inner * ((length - 32) / 36));
        CHECK_EQ_U(bale_page_count(8, length), inner * ((length - 32) / 36));
    }
    CHECK_EQ_U(bale_page_count(1, SIZE_MAX), 0);

    /* Any length but the right one, the checksum being right. */
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        uint64_t checksum = 0;

        memcpy(bytes, leaf_bytes, LEAF);
        if (length >= 8)
            checksum = edit_seal(bytes, length);
        CHECK_EQ(page_decode(bytes, length, checksum, &leaf_ctx, &page),
                 length == LEAF ? BALE_OK : BALE_E_CORRUPT);
    }
}

/* The segment a direct root implies. */
static void test_segment(void)
{
    struct bale_page_context ctx = {
        .container_id = ID, .generation = 4, .end = 1000, .size = 4096, .extent = 16384};
    struct bale_segment segment = {.position = 224,
                                   .generation = 4,
                                   .length = 4096,
                                   .frame_length = 776,
                                   .codec = 3,
                                   .chunk_log2 = 16};

    CHECK_EQ(bale_segment_check(&segment, &ctx), BALE_OK);
    segment.frame_length = 777;
    CHECK_EQ(bale_segment_check(&segment, &ctx), BALE_E_CORRUPT);
    segment.frame_length = 776;
    ctx.size = 4095;
    CHECK_EQ(bale_segment_check(&segment, &ctx), BALE_E_CORRUPT);
    ctx.size = 4096;
    ctx.generation = 3;
    CHECK_EQ(bale_segment_check(&segment, &ctx), BALE_E_CORRUPT);
}

/* One record, generation 1; then what is less than that. */
static void test_smallest_pages(void)
{
    uint8_t out[BALE_PAGE_MAX];
    struct bale_page_context ctx = {
        .container_id = 1, .generation = 1, .end = 1000, .size = 1, .extent = BALE_EXTENT_MIN};
    struct bale_page page = {.generation = 1, .container_id = 1, .count = 1, .height = 1};
    struct bale_page found;
    size_t length;

    page.segments[0] = (struct bale_segment){.length = 1, .flags = BALE_SEGMENT_UNWRITTEN};
    length = bale_page_encode(&page, out);
    CHECK_EQ_U(length, 80);
    if (CHECK_EQ(page_decode(out, length, page.checksum, &ctx, &found), BALE_OK))
        check_same(&found, &page);

    page.generation = 0;
    length = bale_page_encode(&page, out);
    CHECK_EQ(page_decode(out, length, page.checksum, &ctx, &found), BALE_E_CORRUPT);

    page.generation = 1;
    page.count = 0;
    for (uint8_t height = 1; height <= 2; height++) {
        page.height = height;
        length = bale_page_encode(&page, out);
        CHECK_EQ_U(length, 32);
        CHECK_EQ(page_decode(out, length, page.checksum, &ctx, &found), BALE_E_CORRUPT);
    }
}

static void test_full_pages(void)
{
    uint8_t out[BALE_PAGE_MAX];
    struct bale_page_context ctx = {.container_id = 1,
                                    .generation = 9,
                                    .end = UINT64_C(1) << 40,
                                    .size = UINT64_C(1) << 40,
                                    .extent = BALE_EXTENT_DEFAULT};

    for (uint8_t height = 1; height <= BALE_HEIGHT_MAX; height++) {
        uint16_t most = height == 1 ? BALE_PAGE_LEAF_RECORDS : BALE_PAGE_INNER_RECORDS;
        struct bale_page page = {
            .generation = 9, .container_id = 1, .count = most, .height = height};
        struct bale_page found;
        size_t length;

        for (uint16_t i = 0; i < most; i++) {
            uint64_t position = 8192 + (uint64_t)(most - i) * 8192; /* from back to front */

            if (height == 1)
                page.segments[i] =
                    (struct bale_segment){.offset = (uint64_t)i * BALE_EXTENT_DEFAULT,
                                          .position = position,
                                          .generation = (uint64_t)i % 9 + 1,
                                          .length = BALE_EXTENT_DEFAULT - i,
                                          .frame_length = 8192,
                                          .codec = BALE_CODEC_STORE,
                                          .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT};
            else
                page.children[i] = (struct bale_child){
                    .first = i,
                    .generation = 9,
                    .ref = {.position = position,
                            .checksum = i,
                            .length = (uint32_t)bale_page_length((uint8_t)(height - 1), 1)}};
        }
        length = bale_page_encode(&page, out);
        if (CHECK_EQ(page_decode(out, length, page.checksum, &ctx, &found), BALE_OK))
            check_same(&found, &page);
    }
}

int main(void)
{
    test_layout(&leaf_page, leaf_bytes, LEAF, &leaf_ctx);
    test_layout(&inner_page, inner_bytes, INNER, &inner_ctx);
    test_every_flipped_byte(leaf_bytes, LEAF, &leaf_ctx);
    test_every_flipped_byte(inner_bytes, INNER, &inner_ctx);
    test_checksums();
    test_lengths();
    test_segment();
    test_smallest_pages();
    test_full_pages();
    return check_result();
}
