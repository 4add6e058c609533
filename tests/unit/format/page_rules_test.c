/* Index pages: every rule of FORMAT.md section 5. */
#include "tests/unit/format/edit.h"
#include "tests/unit/format/page_data.h"

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED

/* The second segment gets a frame of its own: what is done to the first is no disagreement then. */
#define APART                                                                                      \
    {                                                                                              \
        S1 + SEGMENT_AT_POSITION, 8, FRAME_POSITION - 0x5354                                       \
    }

/* clang-format off */
static const struct rule leaf_rules[] = {
    {"magic", BAD, {{PAGE_AT_MAGIC, 1, 0}}},
    {"version 0", BAD, {{FIELD(PAGE_AT_VERSION), 0}}},
    {"version 2", NEW, {{FIELD(PAGE_AT_VERSION), 2}}},
    {"height 0", BAD, {{FIELD(PAGE_AT_HEIGHT), 0}}},
    {"height 9", BAD, {{FIELD(PAGE_AT_HEIGHT), 9}}},
    {"height 255", BAD, {{FIELD(PAGE_AT_HEIGHT), 255}}},
    {"an inner page of a leaf's length", BAD, {{FIELD(PAGE_AT_HEIGHT), 2}}},
    {"count 0", BAD, {{FIELD(PAGE_AT_COUNT), 0}}},
    {"count too small for the length", BAD, {{FIELD(PAGE_AT_COUNT), 2}}},
    {"count too great for the length", BAD, {{FIELD(PAGE_AT_COUNT), 4}}},
    {"count of all ones", BAD, {{FIELD(PAGE_AT_COUNT), UINT16_MAX}}},
    {"generation 0", BAD, {{FIELD(PAGE_AT_GENERATION), 0}}},
    {"generation beyond the root's", BAD, {{FIELD(PAGE_AT_GENERATION), GENERATION + 1}}},
    {"generation just that of the newest below", OK, {{FIELD(PAGE_AT_GENERATION), FRAME_GENERATION}}},
    {"container id", BAD, {{FIELD(PAGE_AT_CONTAINER_ID), ID + 1}}},
    {"container id 0", BAD, {{FIELD(PAGE_AT_CONTAINER_ID), 0}}},

    {"two segments overlap", BAD, {{FIELD_OF(S0, SEGMENT_AT_LENGTH), 0xb000 - 0x4142 + 1}}},
    {"two segments touch", OK, {{FIELD_OF(S0, SEGMENT_AT_LENGTH), 0xb000 - 0x4142}}},
    {"wrong order", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_OFFSET), FRAME_OFFSET + 0xb000}, {FIELD_OF(S0, SEGMENT_AT_SKIP), 0xb000},
      {FIELD_OF(S0, SEGMENT_AT_LENGTH), 0x1000}, {FIELD_OF(S1, SEGMENT_AT_OFFSET), FRAME_OFFSET + 0x4142},
      {FIELD_OF(S1, SEGMENT_AT_SKIP), 0x4142}}},
    {"the same segment twice", BAD,
     {{FIELD_OF(S1, SEGMENT_AT_OFFSET), FRAME_OFFSET + 0x4142}, {FIELD_OF(S1, SEGMENT_AT_SKIP), 0x4142},
      {FIELD_OF(S1, SEGMENT_AT_LENGTH), 0x6162}}},
    {"length 0", BAD, {{FIELD_OF(S0, SEGMENT_AT_LENGTH), 0}}},
    {"length 1", OK, {{FIELD_OF(S0, SEGMENT_AT_LENGTH), 1}}},
    {"length of all ones", BAD, {{FIELD_OF(S1, SEGMENT_AT_LENGTH), UINT32_MAX}}},
    {"past size", BAD, {{FIELD_OF(S2, SEGMENT_AT_OFFSET), FRAME_OFFSET + 0xc001}}},
    {"offset beyond size", BAD, {{FIELD_OF(S2, SEGMENT_AT_OFFSET), TOP - 1}}},
    {"offset wraps", BAD, {{FIELD_OF(S2, SEGMENT_AT_OFFSET), UINT64_MAX}}},
    {"skip beyond offset", BAD, {{FIELD_OF(S0, SEGMENT_AT_OFFSET), 0x4141}, APART}},
    {"the frame begins in the extent before", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_SKIP), 0x4142 + 0x10204}, APART}},
    {"the frame begins with the extent", OK, {{FIELD_OF(S0, SEGMENT_AT_SKIP), 0x4142 + 0x10203}, APART}},
    {"skip of all ones", BAD, {{FIELD_OF(S0, SEGMENT_AT_SKIP), UINT32_MAX}, APART}},
    {"up to the extent's end", OK,
     {{FIELD_OF(S1, SEGMENT_AT_LENGTH), EXTENT - 0x10203 - 0xb000},
      {FIELD_OF(S2, SEGMENT_AT_OFFSET), FRAME_OFFSET + EXTENT - 0x10203},
      {FIELD_OF(S2, SEGMENT_AT_LENGTH), 1}}},
    {"past the extent's end", BAD,
     {{FIELD_OF(S1, SEGMENT_AT_LENGTH), EXTENT - 0x10203 - 0xb000 + 1},
      {FIELD_OF(S2, SEGMENT_AT_OFFSET), FRAME_OFFSET + EXTENT - 0x10202},
      {FIELD_OF(S2, SEGMENT_AT_LENGTH), 1}}},

    {"position in the slots", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), 223}, {FIELD_OF(S1, SEGMENT_AT_POSITION), 223}}},
    {"position 0", BAD, {{FIELD_OF(S0, SEGMENT_AT_POSITION), 0}, {FIELD_OF(S1, SEGMENT_AT_POSITION), 0}}},
    {"right behind the page", OK,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), 224 + LEAF}, {FIELD_OF(S1, SEGMENT_AT_POSITION), 224 + LEAF}}},
    {"over the page", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), 224 + LEAF - 1},
      {FIELD_OF(S1, SEGMENT_AT_POSITION), 224 + LEAF - 1}}},
    {"past end", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), FRAME_POSITION + 1},
      {FIELD_OF(S1, SEGMENT_AT_POSITION), FRAME_POSITION + 1}}},
    {"position wraps", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), UINT64_MAX - 4},
      {FIELD_OF(S1, SEGMENT_AT_POSITION), UINT64_MAX - 4}}},
    {"generation 0 of a frame", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_GENERATION), 0}, {FIELD_OF(S1, SEGMENT_AT_GENERATION), 0}}},
    {"generation of a frame beyond the page's", BAD,
     {{FIELD(PAGE_AT_GENERATION), FRAME_GENERATION - 1}}},
    {"frame length 0", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 0}, {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 0}}},
    {"frame no longer than its head", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 12},
      {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 12}}},
    {"frame of a byte for each chunk", OK,
     {{FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 64 + 12 * 12},
      {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 64 + 12 * 12}}},
    {"frame longer than an extent and its head", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), 5000},
      {FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 256 + EXTENT + 1},
      {FIELD_OF(S1, SEGMENT_AT_POSITION), 5000},
      {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 256 + EXTENT + 1}}},
    {"frame as long as an extent and its head", OK,
     {{FIELD_OF(S0, SEGMENT_AT_POSITION), 5000},
      {FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 256 + EXTENT},
      {FIELD_OF(S1, SEGMENT_AT_POSITION), 5000},
      {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 52 + 12 * 256 + EXTENT}}},
    {"codec zero with stored bytes", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_CODEC), 1}, {FIELD_OF(S1, SEGMENT_AT_CODEC), 1}}},
    {"codec zero", OK,
     {{FIELD_OF(S0, SEGMENT_AT_CODEC), 1}, {FIELD_OF(S1, SEGMENT_AT_CODEC), 1},
      {FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 52}, {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 52}}},
    {"a codec of tomorrow is the frame's affair", OK,
     {{FIELD_OF(S0, SEGMENT_AT_CODEC), 22}, {FIELD_OF(S1, SEGMENT_AT_CODEC), 22}}},
    {"a codec with an extent part, and no tag", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_CODEC), 18}, {FIELD_OF(S1, SEGMENT_AT_CODEC), 18}}},
    {"chunk log2 11", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_CHUNK_LOG2), 11}, {FIELD_OF(S1, SEGMENT_AT_CHUNK_LOG2), 11}}},
    {"chunk log2 27", BAD,
     {{FIELD_OF(S0, SEGMENT_AT_CHUNK_LOG2), 27}, {FIELD_OF(S1, SEGMENT_AT_CHUNK_LOG2), 27}}},
    {"chunk log2 26", OK,
     {{FIELD_OF(S0, SEGMENT_AT_CHUNK_LOG2), 26}, {FIELD_OF(S1, SEGMENT_AT_CHUNK_LOG2), 26}}},
    {"flag bit 1", NEW, {{FIELD_OF(S0, SEGMENT_AT_FLAGS), 2}}},
    {"flag bit 7", NEW, {{FIELD_OF(S2, SEGMENT_AT_FLAGS), 0x81}}},
    {"zero field", NEW, {{FIELD_OF(S1, SEGMENT_AT_ZERO), 1}}},

    {"one frame, two lengths", BAD, {{FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 0x5353}}},
    {"one frame, two generations", BAD, {{FIELD_OF(S1, SEGMENT_AT_GENERATION), FRAME_GENERATION + 1}}},
    {"one frame, two checksums", BAD, {{FIELD_OF(S1, SEGMENT_AT_CHECKSUM), 0}}},
    {"one frame, two codecs", BAD, {{FIELD_OF(S1, SEGMENT_AT_CODEC), 2}}},
    {"one frame, two chunk sizes", BAD, {{FIELD_OF(S1, SEGMENT_AT_CHUNK_LOG2), 13}}},
    {"one frame, two file offsets", BAD, {{FIELD_OF(S1, SEGMENT_AT_SKIP), 0xb001}}},
    {"two frames overlap by a byte", BAD, {{FIELD_OF(S1, SEGMENT_AT_POSITION), FRAME_POSITION - 0x5353}}},
    {"two frames touch", OK, {{FIELD_OF(S1, SEGMENT_AT_POSITION), FRAME_POSITION - 0x5354}}},

    {"a promise with a position", BAD, {{FIELD_OF(S2, SEGMENT_AT_POSITION), 300}}},
    {"a promise with a skip", BAD, {{FIELD_OF(S2, SEGMENT_AT_SKIP), 1}}},
    {"a promise with a frame length", BAD, {{FIELD_OF(S2, SEGMENT_AT_FRAME_LENGTH), 1}}},
    {"a promise with a codec", BAD, {{FIELD_OF(S2, SEGMENT_AT_CODEC), 1}}},
    {"a promise with a chunk log2", BAD, {{FIELD_OF(S2, SEGMENT_AT_CHUNK_LOG2), 12}}},
    {"a promise beyond 2^30", BAD,
     {{FIELD_OF(S2, SEGMENT_AT_OFFSET), FRAME_OFFSET + 0xbfff},
      {FIELD_OF(S2, SEGMENT_AT_LENGTH), (1 << 30) + 1}, {FIELD_OF(S1, SEGMENT_AT_LENGTH), 1}}},
    {"a promise of 0 bytes", BAD, {{FIELD_OF(S2, SEGMENT_AT_LENGTH), 0}}},
    {"a promise with a generation", BAD, {{FIELD_OF(S2, SEGMENT_AT_GENERATION), 1}}},
    {"a promise with a checksum", BAD, {{S2 + SEGMENT_AT_CHECKSUM + 7, 1, 1}}},
    {"a promise turned into data", BAD, {{FIELD_OF(S2, SEGMENT_AT_FLAGS), 0}}},
    {"data turned into a promise", BAD, {{FIELD_OF(S0, SEGMENT_AT_FLAGS), 1}}},
};

static const struct rule inner_rules[] = {
    {"version 2", NEW, {{FIELD(PAGE_AT_VERSION), 2}}},
    {"a leaf of an inner page's length", BAD, {{FIELD(PAGE_AT_HEIGHT), 1}}},
    {"height 0", BAD, {{FIELD(PAGE_AT_HEIGHT), 0}}},
    {"height 8", OK, {{FIELD(PAGE_AT_HEIGHT), 8}}},
    {"height 9", BAD, {{FIELD(PAGE_AT_HEIGHT), 9}}},
    {"count 0", BAD, {{FIELD(PAGE_AT_COUNT), 0}}},
    {"count too great", BAD, {{FIELD(PAGE_AT_COUNT), 3}}},
    {"generation beyond the root's", BAD, {{FIELD(PAGE_AT_GENERATION), GENERATION + 1}}},
    {"generation less than a child's", BAD, {{FIELD(PAGE_AT_GENERATION), GENERATION - 1}}},
    {"container id", BAD, {{FIELD(PAGE_AT_CONTAINER_ID), 0}}},

    {"children not ascending", BAD,
     {{FIELD_OF(C0, CHILD_AT_OFFSET), UINT64_C(0x0102030405060709)},
      {FIELD_OF(C1, CHILD_AT_OFFSET), UINT64_C(0x0102030405060708)}}},
    {"two children of one offset", BAD, {{FIELD_OF(C0, CHILD_AT_OFFSET), UINT64_C(0x0102030405060709)}}},
    {"first offset 0", OK, {{FIELD_OF(C0, CHILD_AT_OFFSET), 0}}},
    {"first offset at size", BAD, {{FIELD_OF(C1, CHILD_AT_OFFSET), UINT64_C(0x010203040506070a)}}},
    {"first offset of all ones", BAD, {{FIELD_OF(C1, CHILD_AT_OFFSET), UINT64_MAX}}},
    {"child in the slots", BAD, {{FIELD_OF(C0, CHILD_AT_POSITION), 223}}},
    {"child at 0", BAD, {{FIELD_OF(C0, CHILD_AT_POSITION), 0}}},
    {"child past end", BAD, {{FIELD_OF(C1, CHILD_AT_POSITION), UINT64_C(0x6162636465666769)}}},
    {"child's position wraps", BAD, {{FIELD_OF(C1, CHILD_AT_POSITION), UINT64_MAX - 4}}},
    {"child is the page", BAD, {{FIELD_OF(C0, CHILD_AT_POSITION), 224}}},
    {"child over the page's last byte", BAD, {{FIELD_OF(C0, CHILD_AT_POSITION), 224 + INNER - 1}}},
    {"child right behind the page", OK, {{FIELD_OF(C0, CHILD_AT_POSITION), 224 + INNER}}},
    {"one child twice", BAD,
     {{FIELD_OF(C0, CHILD_AT_POSITION), UINT64_C(0x6162636465666768)}, {FIELD_OF(C0, CHILD_AT_LENGTH), 68}}},
    {"children overlap by a byte", BAD,
     {{FIELD_OF(C0, CHILD_AT_POSITION), UINT64_C(0x6162636465666768) - 4063}}},
    {"children touch", OK, {{FIELD_OF(C0, CHILD_AT_POSITION), UINT64_C(0x6162636465666768) - 4064}}},
    {"child's generation 0", BAD, {{FIELD_OF(C0, CHILD_AT_GENERATION), 0}}},
    {"child's generation 1", OK, {{FIELD_OF(C0, CHILD_AT_GENERATION), 1}}},
    {"child's generation beyond the page's", BAD, {{FIELD_OF(C0, CHILD_AT_GENERATION), GENERATION + 1}}},
    {"child's length 0", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), 0}}},
    {"child without records", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), 32}}},
    {"child of too many records", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), 32 + 36 * 113}}},
    {"child's length between two counts", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), 32 + 36 * 112 - 1}}},
    {"child's length of all ones", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), UINT32_MAX}}},
    {"child's length is a leaf's only", BAD, {{FIELD_OF(C0, CHILD_AT_LENGTH), 80}}},
    {"leaf of an inner page's length", BAD, {{FIELD(PAGE_AT_HEIGHT), 2}}},
    {"leaves", OK,
     {{FIELD(PAGE_AT_HEIGHT), 2}, {FIELD_OF(C0, CHILD_AT_LENGTH), 80},
      {FIELD_OF(C1, CHILD_AT_LENGTH), 32 + 48 * 84}, {FIELD_OF(C1, CHILD_AT_POSITION), 10000}}},
    {"child's checksum is any", OK, {{FIELD_OF(C0, CHILD_AT_CHECKSUM), 0}}},
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
        edit_check(&rules[i], page_decode(bytes, length, checksum, ctx, &page));
        if (rules[i].expected != BALE_OK)
            continue;
        CHECK_EQ_U(bale_page_encode(&page, again), length);
        CHECK_EQ_MEM(again, bytes, length);
    }
}

/* With the root's tag, segments may refer to frames with an extent part, whose heads are longer. */
static void test_parts(void)
{
    static const struct rule rules[] = {
        {"a codec with an extent part",
         OK,
         {{FIELD_OF(S0, SEGMENT_AT_CODEC), 18}, {FIELD_OF(S1, SEGMENT_AT_CODEC), 18}}},
        {"frame no longer than its head",
         BAD,
         {{FIELD_OF(S0, SEGMENT_AT_CODEC), 18},
          {FIELD_OF(S1, SEGMENT_AT_CODEC), 18},
          {FIELD_OF(S0, SEGMENT_AT_FRAME_LENGTH), 64 + 12 * 12},
          {FIELD_OF(S1, SEGMENT_AT_FRAME_LENGTH), 64 + 12 * 12}}},
    };
    struct bale_page_context ctx = leaf_ctx;

    ctx.features = BALE_FEATURE_PARTS;
    test_rules(rules, RULES(rules), leaf_bytes, LEAF, &ctx);
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
            err = inner ? page_decode(inner_bytes, INNER, inner_page.checksum, &ctx, &page)
                        : page_decode(leaf_bytes, LEAF, leaf_page.checksum, &ctx, &page);
            if (!CHECK_EQ(err, BALE_E_CORRUPT))
                fprintf(stderr, "    %s, inner: %d\n", cases[i].what, inner);
        }
    }
}

int main(void)
{
    test_rules(leaf_rules, RULES(leaf_rules), leaf_bytes, LEAF, &leaf_ctx);
    test_rules(inner_rules, RULES(inner_rules), inner_bytes, INNER, &inner_ctx);
    test_parts();
    test_context();
    return check_result();
}
