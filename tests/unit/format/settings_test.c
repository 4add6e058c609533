/* Settings pages: every field's place, every rule of FORMAT.md section 5. */
#include "format/settings.h"

#include "format/codecs.h"
#include "tests/unit/format/edit.h"

enum { LOSSY = 19, LOSSLESS = 21 }; /* codecs that know arrays */

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_HEIGHT = 5,
    AT_LENGTH = 6,
    AT_GENERATION = 8,
    AT_CONTAINER_ID = 16,
    AT_TREE_POSITION = 24,
    AT_TREE_CHECKSUM = 32,
    AT_TREE_LENGTH = 40,
    AT_TYPE = 44,
    AT_FLAGS = 45,
    AT_PIPELINE = 46,
    AT_ROUNDS = 47,
    AT_DIMS = 48,
    AT_OFFSET = 72,
    AT_STEP = 80,
    AT_GREATEST_STEP = 88,
};

/* Made from FORMAT.md by hand: no two bytes of a field are alike. */
static const uint8_t page_bytes[BALE_SETTINGS_SIZE] = {
    0x42, 0x53, 0x45, 0x54, 0x01, 0x03, 0x68, 0x00, /* magic, version, height, length */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* generation */
    0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81, /* container id */
    0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x01, /* tree position */
    0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, /* tree checksum */
    0x30, 0x0e, 0x00, 0x00, 0x02, 0x01, 0x03, 0x01, /* tree length, type, flags, pipeline, rounds */
    0x35, 0x34, 0x33, 0x02, 0x00, 0x00, 0x00, 0x00, /* x */
    0x28, 0x27, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* y */
    0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* z */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* offset */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x3f, /* step */
    0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x41, /* greatest step */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* checksum: sealed below */
};

static const struct bale_settings page_settings = {
    .field = {.type = BALE_FIELD_F64,
              .pipeline = BALE_PIPELINE_RLE_HUFFMAN,
              .big_endian = true,
              .dims = {0x02333435, 0x2728, 0x19},
              .offset = UINT64_C(0x4142434445464748),
              .step = UINT64_C(0x3f72737475767778)},
    .rounds = BALE_ROUNDS_YES,
    .greatest_step = UINT64_C(0x4192939495969798),
    .generation = UINT64_C(0x0102030405060708),
    .tree = {.position = UINT64_C(0x0152535455565758),
             .length = 3632,
             .checksum = UINT64_C(0x6162636465666768)},
    .height = 3,
};

/* What refers to the page. */
static const struct bale_root root = {
    .generation = UINT64_C(0x0102030405060708),
    .extent = 131072,
    .size = UINT64_C(0x3132333435363738),
    .end = UINT64_C(0x4142434445464748),
    .tree = {.position = 4096, .length = BALE_SETTINGS_SIZE},
    .height = BALE_HEIGHT_SETTINGS,
    .codec = LOSSY,
    .stored = 52,
    .container_id = UINT64_C(0x8182838485868788),
    .features = BALE_FEATURE_PARTS,
};

static int decode(const uint8_t *bytes, uint8_t codec, struct bale_settings *settings)
{
    struct bale_root r = root;

    r.codec = codec;
    r.tree.checksum = bale_get64(bytes + BALE_SETTINGS_SIZE - 8);
    return bale_settings_decode(bytes, &r, settings);
}

static void test_layout(void)
{
    uint8_t sealed[BALE_SETTINGS_SIZE], made[BALE_SETTINGS_SIZE];
    struct bale_settings settings = page_settings, found;

    memcpy(sealed, page_bytes, sizeof sealed);
    edit_seal(sealed, sizeof sealed);
    memset(made, 0xff, sizeof made);
    bale_settings_encode(&settings, root.container_id, made);
    CHECK_EQ_MEM(made, sealed, sizeof made);
    CHECK_EQ_U(settings.checksum, bale_get64(sealed + sizeof sealed - 8));
    CHECK_EQ(decode(sealed, root.codec, &found), BALE_OK);
    CHECK(bale_field_equal(&found.field, &settings.field));
    CHECK_EQ_U(found.rounds, settings.rounds);
    CHECK_EQ_U(found.greatest_step, settings.greatest_step);
    CHECK_EQ_U(found.generation, settings.generation);
    CHECK_EQ_U(found.checksum, settings.checksum);
    CHECK_EQ_U(found.tree.position, settings.tree.position);
    CHECK_EQ_U(found.tree.length, settings.tree.length);
    CHECK_EQ_U(found.tree.checksum, settings.tree.checksum);
    CHECK_EQ_U(found.height, settings.height);
}

static void test_every_flipped_byte(void)
{
    uint8_t bytes[BALE_SETTINGS_SIZE];
    struct bale_settings settings;
    struct bale_root r = root;

    memcpy(bytes, page_bytes, sizeof bytes);
    r.tree.checksum = edit_seal(bytes, sizeof bytes);
    for (size_t at = 0; at < sizeof bytes; at++)
        for (unsigned change = 1; change < 256; change <<= 1) {
            bytes[at] ^= (uint8_t)change;
            if (!CHECK_EQ(bale_settings_decode(bytes, &r, &settings), BALE_E_CORRUPT))
                fprintf(stderr, "    byte %zu changed by 0x%02x\n", at, change);
            bytes[at] ^= (uint8_t)change;
        }
    r.tree.length--;
    CHECK_EQ(bale_settings_decode(bytes, &r, &settings), BALE_E_CORRUPT);
    r = root;
    r.tree.checksum = bale_get64(bytes + sizeof bytes - 8) ^ 1;
    CHECK_EQ(bale_settings_decode(bytes, &r, &settings), BALE_E_CORRUPT);
}

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED

/* clang-format off */
static const struct rule lossy[] = {
    {"magic", BAD, {{AT_MAGIC, 1, 'b'}}},
    {"version 0", BAD, {{AT_VERSION, 1, 0}}},
    {"version 2", NEW, {{AT_VERSION, 1, 2}}},
    {"length", BAD, {{AT_LENGTH, 2, 105}}},
    {"generation 0", BAD, {{AT_GENERATION, 8, 0}}},
    {"generation 1", OK, {{AT_GENERATION, 8, 1}}},
    {"generation beyond the root's", BAD, {{AT_GENERATION, 8, UINT64_C(0x0102030405060709)}}},
    {"container id", BAD, {{AT_CONTAINER_ID, 8, 1}}},
    {"height 254", BAD, {{AT_HEIGHT, 1, 254}}},
    {"height 9", BAD, {{AT_HEIGHT, 1, 9}}},
    {"no data, but stored", BAD,
     {{AT_HEIGHT, 1, 0}, {AT_TREE_POSITION, 8, 0}, {AT_TREE_LENGTH, 4, 0}, {AT_TREE_CHECKSUM, 8, 0}}},
    {"direct", OK, {{AT_HEIGHT, 1, 255}, {AT_TREE_LENGTH, 4, 52}}},
    {"direct, stored is not the frame's length", BAD, {{AT_HEIGHT, 1, 255}, {AT_TREE_LENGTH, 4, 53}}},
    {"tree in the slots", BAD, {{AT_TREE_POSITION, 8, 223}}},
    {"tree beyond the end", BAD, {{AT_TREE_POSITION, 8, UINT64_C(0x4142434445464748)}}},
    {"tree length of no page", BAD, {{AT_TREE_LENGTH, 4, 3633}}},
    {"no type", BAD, {{AT_TYPE, 1, 0}}},
    {"f32", OK, {{AT_TYPE, 1, 1}}},
    {"i16", BAD, {{AT_TYPE, 1, 3}}},
    {"npy with dims", BAD, {{AT_TYPE, 1, 6}}},
    {"npy", OK,
     {{AT_TYPE, 1, 6}, {AT_FLAGS, 1, 0}, {AT_DIMS, 8, 0}, {AT_DIMS + 8, 8, 0}, {AT_DIMS + 16, 8, 0},
      {AT_OFFSET, 8, 0}}},
    {"type 7", BAD, {{AT_TYPE, 1, 7}}},
    {"flag bit 1", NEW, {{AT_FLAGS, 1, 2}}},
    {"little-endian", OK, {{AT_FLAGS, 1, 0}}},
    {"pipeline 4", OK, {{AT_PIPELINE, 1, 4}}},
    {"pipeline 5", BAD, {{AT_PIPELINE, 1, 5}}},
    {"rounding 2", OK, {{AT_ROUNDS, 1, 2}}},
    {"rounding 3", OK, {{AT_ROUNDS, 1, 3}}},
    {"rounding 4", BAD, {{AT_ROUNDS, 1, 4}}},
    {"one dimension", OK, {{AT_DIMS + 8, 8, 0}, {AT_DIMS + 16, 8, 0}}},
    {"a dimension behind none", BAD, {{AT_DIMS + 8, 8, 0}}},
    {"dims whose product wraps", BAD, {{AT_DIMS, 8, UINT64_C(1) << 32}, {AT_DIMS + 8, 8, UINT64_C(1) << 32}}},
    {"dims of 2^63 bytes", BAD,
     {{AT_DIMS, 8, UINT64_C(1) << 60}, {AT_DIMS + 8, 8, 0}, {AT_DIMS + 16, 8, 0}}},
    {"offset 2^63", BAD, {{AT_OFFSET, 8, UINT64_C(1) << 63}}},
    {"step 0", BAD, {{AT_STEP, 8, 0}}},
    {"a denormal step", BAD, {{AT_STEP, 8, (UINT64_C(1) << 52) - 1}}},
    {"a step below the least", BAD, {{AT_STEP, 8, (UINT64_C(2) << 52) - 1}}},
    {"the least step", OK, {{AT_STEP, 8, UINT64_C(2) << 52}}},
    {"the last step", OK,
     {{AT_STEP, 8, UINT64_C(2044) << 52}, {AT_GREATEST_STEP, 8, UINT64_C(2044) << 52}}},
    {"a step beyond it", BAD, {{AT_STEP, 8, (UINT64_C(2044) << 52) + 1}}},
    {"a step of infinity", BAD, {{AT_STEP, 8, UINT64_C(0x7ff) << 52}}},
    {"a negative step", BAD, {{AT_STEP, 8, UINT64_C(0xbff) << 52}}},
    {"the same step is the greatest", OK, {{AT_GREATEST_STEP, 8, UINT64_C(0x3f72737475767778)}}},
    {"a greater step", BAD, {{AT_GREATEST_STEP, 8, UINT64_C(0x3f72737475767777)}}},
    {"a greater step is not used yet", OK,
     {{AT_ROUNDS, 1, 3}, {AT_GREATEST_STEP, 8, UINT64_C(2) << 52}}},
    {"rounded, but none was", BAD, {{AT_GREATEST_STEP, 8, 0}}},
    {"not rounded, and none was", OK, {{AT_ROUNDS, 1, 0}, {AT_GREATEST_STEP, 8, 0}}},
    {"a greatest step below the least", BAD,
     {{AT_ROUNDS, 1, 0}, {AT_GREATEST_STEP, 8, (UINT64_C(2) << 52) - 1}}},
    {"a greatest step beyond the last", BAD, {{AT_GREATEST_STEP, 8, (UINT64_C(2044) << 52) + 1}}},
};

static const struct rule lossless[] = {
    {"a step", BAD, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}}},
    {"f64", OK, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}}},
    {"i64", OK, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}, {AT_TYPE, 1, 5}}},
    {"a pipeline", BAD, {{AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}}},
    {"rounding", BAD, {{AT_PIPELINE, 1, 0}, {AT_STEP, 8, 0}}},
    {"no type", BAD, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}, {AT_TYPE, 1, 0}}},
    {"npy", BAD, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}, {AT_TYPE, 1, 6}}},
};
/* clang-format on */

/* clang-format off */
/* What is left of a file that was rounded. */
#define NO_FIELD                                                                                   \
    {AT_TYPE, 4, 0}, {AT_DIMS, 8, 0}, {AT_DIMS + 8, 8, 0}, {AT_DIMS + 16, 8, 0},                   \
    {AT_OFFSET, 8, 0}, {AT_STEP, 8, 0}
static const struct rule fieldless[] = {
    {"a greatest step", OK, {NO_FIELD}},
    {"nothing", BAD, {NO_FIELD, {AT_GREATEST_STEP, 8, 0}}},
    {"a greatest step of infinity", BAD, {NO_FIELD, {AT_GREATEST_STEP, 8, UINT64_C(0x7ff) << 52}}},
    {"big-endian elements", BAD, {NO_FIELD, {AT_FLAGS, 1, 1}}},
    {"a pipeline", BAD, {NO_FIELD, {AT_PIPELINE, 1, 1}}},
    {"rounding", BAD, {NO_FIELD, {AT_ROUNDS, 1, 1}}},
    {"dims", BAD, {NO_FIELD, {AT_DIMS + 16, 8, 1}}},
    {"an offset", BAD, {NO_FIELD, {AT_OFFSET, 8, 1}}},
    {"a step", BAD, {NO_FIELD, {AT_STEP, 8, UINT64_C(2) << 52}}},
};
static const struct rule lossy_fieldless[] = {
    {"a greatest step", BAD, {NO_FIELD}},
};
static const struct rule zstd[] = {
    {"f64", BAD, {{AT_PIPELINE, 1, 0}, {AT_ROUNDS, 1, 0}, {AT_STEP, 8, 0}}},
};
/* clang-format on */

static void test_rules(const struct rule *rules, size_t count, uint8_t codec)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[BALE_SETTINGS_SIZE];
        struct bale_settings settings;

        memcpy(bytes, page_bytes, sizeof bytes);
        edit_apply(&rules[i], bytes);
        edit_seal(bytes, sizeof bytes);
        edit_check(&rules[i], decode(bytes, codec, &settings));
    }
}

int main(void)
{
    test_layout();
    test_every_flipped_byte();
    test_rules(lossy, RULES(lossy), LOSSY);
    test_rules(lossless, RULES(lossless), LOSSLESS);
    test_rules(fieldless, RULES(fieldless), LOSSLESS);
    test_rules(fieldless, RULES(fieldless), BALE_CODEC_ZSTD);
    test_rules(fieldless, RULES(fieldless), BALE_CODEC_AUTO);
    test_rules(lossy_fieldless, RULES(lossy_fieldless), LOSSY);
    test_rules(zstd, RULES(zstd), BALE_CODEC_ZSTD);
    return check_result();
}
