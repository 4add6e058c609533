/* Index pages: every field's place, every rule of FORMAT.md section 5. */
#include "format/page.h"

#include "format/frame.h"
#include "tests/unit/format_edit.h"

enum {
    LEAF = 24 + 3 * 48 + 8,
    INNER = 24 + 2 * 36 + 8,
    EXTENT = 1 << 20,
    /* Where records begin. */
    S0 = 24,
    S1 = 72,
    S2 = 120,
    C0 = 24,
    C1 = 60,
};

#define ID UINT64_C(0x4142434445464748)
#define GENERATION UINT64_C(0x3132333435363738) /* of both pages */
#define FRAME_OFFSET UINT64_C(0x0102030405010203)
#define FRAME_POSITION UINT64_C(0x1112131415161718)
#define FRAME_GENERATION UINT64_C(0x2122232425262728)
#define TOP (UINT64_C(1) << 63)

/* Two parts of one frame and an unwritten segment. */
static const uint8_t leaf_bytes[LEAF] = {
    0x42, 0x49, 0x44, 0x58, 0x01, 0x01, 0x03, 0x00, /* magic, version, height, count */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* container id */
    0x45, 0x43, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0x62, 0x61, 0x00, 0x00, 0x42, 0x41, 0x00, 0x00, /* length, skip */
    0x54, 0x53, 0x00, 0x00, 0x03, 0x0c, 0x00, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum of the frame */
    0x03, 0xb2, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0x00, 0x10, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x00, /* length, skip */
    0x54, 0x53, 0x00, 0x00, 0x03, 0x0c, 0x00, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum of the frame */
    0x03, 0xc2, 0x01, 0x05, 0x04, 0x03, 0x02, 0x01, /* offset */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* position */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* generation */
    0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, /* length, skip */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, /* frame length, codec, chunk log2, flags, 0 */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* checksum of the frame */
    0xab, 0xfb, 0x3d, 0x02, 0x60, 0x66, 0xbd, 0xe5, /* checksum */
};

static const struct bale_page leaf_page = {
    .generation = GENERATION,
    .container_id = ID,
    .checksum = UINT64_C(0xe5bd6660023dfbab),
    .count = 3,
    .height = 1,
    .segments = {{.offset = FRAME_OFFSET + 0x4142,
                  .position = FRAME_POSITION,
                  .generation = FRAME_GENERATION,
                  .checksum = UINT64_C(0x7172737475767778),
                  .length = 0x6162,
                  .skip = 0x4142,
                  .frame_length = 0x5354,
                  .codec = 3,
                  .chunk_log2 = 12},
                 {.offset = FRAME_OFFSET + 0xb000,
                  .position = FRAME_POSITION,
                  .generation = FRAME_GENERATION,
                  .checksum = UINT64_C(0x7172737475767778),
                  .length = 0x1000,
                  .skip = 0xb000,
                  .frame_length = 0x5354,
                  .codec = 3,
                  .chunk_log2 = 12},
                 {.offset = FRAME_OFFSET + 0xc000,
                  .length = 1 << 30,
                  .flags = BALE_SEGMENT_UNWRITTEN}},
};

static const uint8_t inner_bytes[INNER] = {
    0x42, 0x49, 0x44, 0x58, 0x01, 0x03, 0x02, 0x00, /* magic, version, height, count */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* container id */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* first offset */
    0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, /* position */
    0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, /* generation */
    0xe0, 0x0f, 0x00, 0x00,                         /* length */
    0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, /* checksum */
    0x09, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* first offset */
    0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, /* position */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* generation */
    0x44, 0x00, 0x00, 0x00,                         /* length */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71, /* checksum */
    0xbc, 0x30, 0xfa, 0x57, 0x61, 0x45, 0x38, 0xb6, /* checksum */
};

static const struct bale_page inner_page = {
    .generation = GENERATION,
    .container_id = ID,
    .checksum = UINT64_C(0xb638456157fa30bc),
    .count = 2,
    .height = 3,
    .children = {{.first = UINT64_C(0x0102030405060708),
                  .generation = FRAME_GENERATION,
                  .ref = {.position = FRAME_POSITION,
                          .length = 32 + 36 * 112,
                          .checksum = UINT64_C(0x5152535455565758)}},
                 {.first = UINT64_C(0x0102030405060709),
                  .generation = GENERATION,
                  .ref = {.position = UINT64_C(0x6162636465666768),
                          .length = 32 + 36,
                          .checksum = UINT64_C(0x7172737475767778)}}},
};

/* As narrow as the pages above allow: one less anywhere refuses them. */
static const struct bale_page_context leaf_ctx = {
    .container_id = ID,
    .generation = GENERATION,
    .end = FRAME_POSITION + 0x5354,
    .size = FRAME_OFFSET + 0xc000 + (1 << 30),
    .extent = EXTENT,
};
static const struct bale_page_context inner_ctx = {
    .container_id = ID,
    .generation = GENERATION,
    .end = UINT64_C(0x6162636465666768) + 68,
    .size = UINT64_C(0x010203040506070a),
    .extent = EXTENT,
};

/* The page lies at 224; its bytes are copied so that a sanitizer sees a byte too many. */
static int decode(const uint8_t *bytes, size_t length, uint64_t checksum,
                  const struct bale_page_context *ctx, struct bale_page *page)
{
    struct bale_ref ref = {.position = 224, .length = (uint32_t)length, .checksum = checksum};
    uint8_t *exact = malloc(length > 0 ? length : 1);
    int err;

    REQUIRE(exact != NULL);
    memcpy(exact, bytes, length);
    err = bale_page_decode(exact, &ref, ctx, page);
    free(exact);
    return err;
}

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
    for (size_t i = 0; i < a->count; i++) {
        if (a->height == 1)
            check_same_segment(&a->segments[i], &b->segments[i]);
        else
            check_same_child(&a->children[i], &b->children[i]);
    }
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
    if (CHECK_EQ(decode(bytes, length, page->checksum, ctx, &found), BALE_OK))
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
            if (!CHECK_EQ(decode(bytes, length, checksum, ctx, &page), BALE_E_CORRUPT))
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
    CHECK_EQ(decode(bytes, LEAF, right ^ 1, &leaf_ctx, &page), BALE_E_CORRUPT);
    bale_put64(bytes + LEAF - 8, right ^ 1);
    CHECK_EQ(decode(bytes, LEAF, right ^ 1, &leaf_ctx, &page), BALE_E_CORRUPT);
    CHECK_EQ(decode(bytes, LEAF, right, &leaf_ctx, &page), BALE_E_CORRUPT);
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
        CHECK_EQ(decode(bytes, length, checksum, &leaf_ctx, &page),
                 length == LEAF ? BALE_OK : BALE_E_CORRUPT);
    }
}

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED

/* The second segment gets a frame of its own: what is done to the first is no disagreement then. */
#define APART                                                                                      \
    {                                                                                              \
        S1 + 8, 8, FRAME_POSITION - 0x5354                                                         \
    }

/* clang-format off */
static const struct rule leaf_rules[] = {
    {"magic", BAD, {{0, 1, 0}}},
    {"version 0", BAD, {{4, 1, 0}}},
    {"version 2", NEW, {{4, 1, 2}}},
    {"height 0", BAD, {{5, 1, 0}}},
    {"height 9", BAD, {{5, 1, 9}}},
    {"height 255", BAD, {{5, 1, 255}}},
    {"an inner page of a leaf's length", BAD, {{5, 1, 2}}},
    {"count 0", BAD, {{6, 2, 0}}},
    {"count too small for the length", BAD, {{6, 2, 2}}},
    {"count too great for the length", BAD, {{6, 2, 4}}},
    {"count of all ones", BAD, {{6, 2, UINT16_MAX}}},
    {"generation 0", BAD, {{8, 8, 0}}},
    {"generation beyond the root's", BAD, {{8, 8, GENERATION + 1}}},
    {"generation just that of the newest below", OK, {{8, 8, FRAME_GENERATION}}},
    {"container id", BAD, {{16, 8, ID + 1}}},
    {"container id 0", BAD, {{16, 8, 0}}},

    {"two segments overlap", BAD, {{S0 + 24, 4, 0xb000 - 0x4142 + 1}}},
    {"two segments touch", OK, {{S0 + 24, 4, 0xb000 - 0x4142}}},
    {"wrong order", BAD, {{S0, 8, FRAME_OFFSET + 0xb000}, {S0 + 28, 4, 0xb000}, {S0 + 24, 4, 0x1000},
                          {S1, 8, FRAME_OFFSET + 0x4142}, {S1 + 28, 4, 0x4142}}},
    {"the same segment twice", BAD, {{S1, 8, FRAME_OFFSET + 0x4142}, {S1 + 28, 4, 0x4142},
                                     {S1 + 24, 4, 0x6162}}},
    {"length 0", BAD, {{S0 + 24, 4, 0}}},
    {"length 1", OK, {{S0 + 24, 4, 1}}},
    {"length of all ones", BAD, {{S1 + 24, 4, UINT32_MAX}}},
    {"past size", BAD, {{S2, 8, FRAME_OFFSET + 0xc001}}},
    {"offset beyond size", BAD, {{S2, 8, TOP - 1}}},
    {"offset wraps", BAD, {{S2, 8, UINT64_MAX}}},
    {"skip beyond offset", BAD, {{S0, 8, 0x4141}, APART}},
    {"the frame begins in the extent before", BAD, {{S0 + 28, 4, 0x4142 + 0x10204}, APART}},
    {"the frame begins with the extent", OK, {{S0 + 28, 4, 0x4142 + 0x10203}, APART}},
    {"skip of all ones", BAD, {{S0 + 28, 4, UINT32_MAX}, APART}},
    {"up to the extent's end", OK, {{S1 + 24, 4, EXTENT - 0x10203 - 0xb000}, {S2, 8, FRAME_OFFSET +
        EXTENT - 0x10203}, {S2 + 24, 4, 1}}},
    {"past the extent's end", BAD, {{S1 + 24, 4, EXTENT - 0x10203 - 0xb000 + 1}, {S2, 8,
        FRAME_OFFSET + EXTENT - 0x10202}, {S2 + 24, 4, 1}}},

    {"position in the slots", BAD, {{S0 + 8, 8, 223}, {S1 + 8, 8, 223}}},
    {"position 0", BAD, {{S0 + 8, 8, 0}, {S1 + 8, 8, 0}}},
    {"right behind the page", OK, {{S0 + 8, 8, 224 + LEAF}, {S1 + 8, 8, 224 + LEAF}}},
    {"over the page", BAD, {{S0 + 8, 8, 224 + LEAF - 1}, {S1 + 8, 8, 224 + LEAF - 1}}},
    {"past end", BAD, {{S0 + 8, 8, FRAME_POSITION + 1}, {S1 + 8, 8, FRAME_POSITION + 1}}},
    {"position wraps", BAD, {{S0 + 8, 8, UINT64_MAX - 4}, {S1 + 8, 8, UINT64_MAX - 4}}},
    {"generation 0 of a frame", BAD, {{S0 + 16, 8, 0}, {S1 + 16, 8, 0}}},
    {"generation of a frame beyond the page's", BAD, {{8, 8, FRAME_GENERATION - 1}}},
    {"frame length 0", BAD, {{S0 + 32, 4, 0}, {S1 + 32, 4, 0}}},
    {"frame no longer than its head", BAD, {{S0 + 32, 4, 52 + 12 * 12}, {S1 + 32, 4, 52 + 12 * 12}}},
    {"frame of a byte for each chunk", OK, {{S0 + 32, 4, 64 + 12 * 12}, {S1 + 32, 4, 64 + 12 * 12}}},
    {"frame longer than an extent and its head", BAD, {
        {S0 + 8, 8, 5000}, {S0 + 32, 4, 52 + 12 * 256 + EXTENT + 1},
        {S1 + 8, 8, 5000}, {S1 + 32, 4, 52 + 12 * 256 + EXTENT + 1}}},
    {"frame as long as an extent and its head", OK, {
        {S0 + 8, 8, 5000}, {S0 + 32, 4, 52 + 12 * 256 + EXTENT},
        {S1 + 8, 8, 5000}, {S1 + 32, 4, 52 + 12 * 256 + EXTENT}}},
    {"codec zero with stored bytes", BAD, {{S0 + 36, 1, 1}, {S1 + 36, 1, 1}}},
    {"codec zero", OK, {{S0 + 36, 1, 1}, {S1 + 36, 1, 1}, {S0 + 32, 4, 52}, {S1 + 32, 4, 52}}},
    {"a codec of tomorrow is the frame's affair", OK, {{S0 + 36, 1, 16}, {S1 + 36, 1, 16}}},
    {"chunk log2 11", BAD, {{S0 + 37, 1, 11}, {S1 + 37, 1, 11}}},
    {"chunk log2 27", BAD, {{S0 + 37, 1, 27}, {S1 + 37, 1, 27}}},
    {"chunk log2 26", OK, {{S0 + 37, 1, 26}, {S1 + 37, 1, 26}}},
    {"flag bit 1", NEW, {{S0 + 38, 1, 2}}},
    {"flag bit 7", NEW, {{S2 + 38, 1, 0x81}}},
    {"zero field", NEW, {{S1 + 39, 1, 1}}},

    {"one frame, two lengths", BAD, {{S1 + 32, 4, 0x5353}}},
    {"one frame, two generations", BAD, {{S1 + 16, 8, FRAME_GENERATION + 1}}},
    {"one frame, two checksums", BAD, {{S1 + 40, 1, 0}}},
    {"one frame, two codecs", BAD, {{S1 + 36, 1, 2}}},
    {"one frame, two chunk sizes", BAD, {{S1 + 37, 1, 13}}},
    {"one frame, two file offsets", BAD, {{S1 + 28, 4, 0xb001}}},
    {"two frames overlap by a byte", BAD, {{S1 + 8, 8, FRAME_POSITION - 0x5353}}},
    {"two frames touch", OK, {{S1 + 8, 8, FRAME_POSITION - 0x5354}}},

    {"a promise with a position", BAD, {{S2 + 8, 8, 300}}},
    {"a promise with a skip", BAD, {{S2 + 28, 4, 1}}},
    {"a promise with a frame length", BAD, {{S2 + 32, 4, 1}}},
    {"a promise with a codec", BAD, {{S2 + 36, 1, 1}}},
    {"a promise with a chunk log2", BAD, {{S2 + 37, 1, 12}}},
    {"a promise beyond 2^30", BAD, {{S2, 8, FRAME_OFFSET + 0xbfff}, {S2 + 24, 4, (1 << 30) + 1},
                                    {S1 + 24, 4, 1}}},
    {"a promise of 0 bytes", BAD, {{S2 + 24, 4, 0}}},
    {"a promise with a generation", BAD, {{S2 + 16, 8, 1}}},
    {"a promise with a checksum", BAD, {{S2 + 47, 1, 1}}},
    {"a promise turned into data", BAD, {{S2 + 38, 1, 0}}},
    {"data turned into a promise", BAD, {{S0 + 38, 1, 1}}},
};

static const struct rule inner_rules[] = {
    {"version 2", NEW, {{4, 1, 2}}},
    {"a leaf of an inner page's length", BAD, {{5, 1, 1}}},
    {"height 0", BAD, {{5, 1, 0}}},
    {"height 8", OK, {{5, 1, 8}}},
    {"height 9", BAD, {{5, 1, 9}}},
    {"count 0", BAD, {{6, 2, 0}}},
    {"count too great", BAD, {{6, 2, 3}}},
    {"generation beyond the root's", BAD, {{8, 8, GENERATION + 1}}},
    {"generation less than a child's", BAD, {{8, 8, GENERATION - 1}}},
    {"container id", BAD, {{16, 8, 0}}},

    {"children not ascending", BAD, {{C0, 8, UINT64_C(0x0102030405060709)},
                                     {C1, 8, UINT64_C(0x0102030405060708)}}},
    {"two children of one offset", BAD, {{C0, 8, UINT64_C(0x0102030405060709)}}},
    {"first offset 0", OK, {{C0, 8, 0}}},
    {"first offset at size", BAD, {{C1, 8, UINT64_C(0x010203040506070a)}}},
    {"first offset of all ones", BAD, {{C1, 8, UINT64_MAX}}},
    {"child in the slots", BAD, {{C0 + 8, 8, 223}}},
    {"child at 0", BAD, {{C0 + 8, 8, 0}}},
    {"child past end", BAD, {{C1 + 8, 8, UINT64_C(0x6162636465666769)}}},
    {"child's position wraps", BAD, {{C1 + 8, 8, UINT64_MAX - 4}}},
    {"child is the page", BAD, {{C0 + 8, 8, 224}}},
    {"child over the page's last byte", BAD, {{C0 + 8, 8, 224 + INNER - 1}}},
    {"child right behind the page", OK, {{C0 + 8, 8, 224 + INNER}}},
    {"one child twice", BAD, {{C0 + 8, 8, UINT64_C(0x6162636465666768)}, {C0 + 24, 4, 68}}},
    {"children overlap by a byte", BAD, {{C0 + 8, 8, UINT64_C(0x6162636465666768) - 4063}}},
    {"children touch", OK, {{C0 + 8, 8, UINT64_C(0x6162636465666768) - 4064}}},
    {"child's generation 0", BAD, {{C0 + 16, 8, 0}}},
    {"child's generation 1", OK, {{C0 + 16, 8, 1}}},
    {"child's generation beyond the page's", BAD, {{C0 + 16, 8, GENERATION + 1}}},
    {"child's length 0", BAD, {{C0 + 24, 4, 0}}},
    {"child without records", BAD, {{C0 + 24, 4, 32}}},
    {"child of too many records", BAD, {{C0 + 24, 4, 32 + 36 * 113}}},
    {"child's length between two counts", BAD, {{C0 + 24, 4, 32 + 36 * 112 - 1}}},
    {"child's length of all ones", BAD, {{C0 + 24, 4, UINT32_MAX}}},
    {"child's length is a leaf's only", BAD, {{C0 + 24, 4, 80}}},
    {"leaf of an inner page's length", BAD, {{5, 1, 2}}},
    {"leaves", OK, {{5, 1, 2}, {C0 + 24, 4, 80}, {C1 + 24, 4, 32 + 48 * 84}, {C1 + 8, 8, 10000}}},
    {"child's checksum is any", OK, {{C0 + 28, 8, 0}}},
};
/* clang-format on */

static void test_rules(const struct rule *rules, size_t count, const uint8_t *good, size_t length,
                       const struct bale_page_context *ctx)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[BALE_PAGE_MAX];
        uint8_t again[BALE_PAGE_MAX];
        struct bale_page page;
        uint64_t checksum;

        memcpy(bytes, good, length);
        edit_apply(&rules[i], bytes);
        checksum = edit_seal(bytes, length);
        edit_check(&rules[i], decode(bytes, length, checksum, ctx, &page));
        if (rules[i].expected != BALE_OK)
            continue;
        CHECK_EQ_U(bale_page_encode(&page, again), length);
        CHECK_EQ_MEM(again, bytes, length);
    }
}

/* What comes from the root: a page that is good is refused once any of it is narrower. */
static void test_context(void)
{
    static const struct {
        const char *what;
        struct bale_page_context less;
    } cases[] = {
        {"container id", {.container_id = 1}},
        {"generation", {.generation = 1}},
        {"end", {.end = 1}},
        {"size", {.size = 1}},
    };
    struct bale_page page;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int inner = 0; inner < 2; inner++) {
            struct bale_page_context ctx = inner ? inner_ctx : leaf_ctx;
            const struct bale_page_context *less = &cases[i].less;
            int err;

            ctx.container_id -= less->container_id;
            ctx.generation -= less->generation;
            ctx.end -= less->end;
            ctx.size -= less->size;
            err = inner ? decode(inner_bytes, INNER, inner_page.checksum, &ctx, &page)
                        : decode(leaf_bytes, LEAF, leaf_page.checksum, &ctx, &page);
            if (!CHECK_EQ(err, BALE_E_CORRUPT))
                fprintf(stderr, "    %s, inner: %d\n", cases[i].what, inner);
        }
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
    if (CHECK_EQ(decode(out, length, page.checksum, &ctx, &found), BALE_OK))
        check_same(&found, &page);

    page.generation = 0;
    length = bale_page_encode(&page, out);
    CHECK_EQ(decode(out, length, page.checksum, &ctx, &found), BALE_E_CORRUPT);

    page.generation = 1;
    page.count = 0;
    for (uint8_t height = 1; height <= 2; height++) {
        page.height = height;
        length = bale_page_encode(&page, out);
        CHECK_EQ_U(length, 32);
        CHECK_EQ(decode(out, length, page.checksum, &ctx, &found), BALE_E_CORRUPT);
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
        if (CHECK_EQ(decode(out, length, page.checksum, &ctx, &found), BALE_OK))
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
    test_rules(leaf_rules, RULES(leaf_rules), leaf_bytes, LEAF, &leaf_ctx);
    test_rules(inner_rules, RULES(inner_rules), inner_bytes, INNER, &inner_ctx);
    test_context();
    test_segment();
    test_smallest_pages();
    test_full_pages();
    return check_result();
}
