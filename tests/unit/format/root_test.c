/* Root slots: every field's place, every rule of FORMAT.md section 4. */
#include "format/root.h"

#include "tests/support/offsets.h"
#include "tests/unit/format/edit.h"

/* Made from FORMAT.md by hand: no two bytes of a field are alike. */
static const uint8_t slot_bytes[BALE_ROOT_SIZE] = {
    0x42, 0x41, 0x4c, 0x45, 0x01, 0x03, 0xa4, 0x81, /* magic, version, flags, mode */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* generation */
    0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x00, /* durable */
    0x24, 0x23, 0x22, 0x21, 0x00, 0x30, 0x12, 0x00, /* session, extent size */
    0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, /* size */
    0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41, /* end */
    0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x01, /* tree position */
    0x30, 0x0e, 0x00, 0x00, 0x03, 0x03, 0xfb, 0xff, /* tree length, height, codec, parameter */
    0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, /* tree checksum */
    0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x01, /* stored */
    0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81, /* container id */
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, /* features */
    0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x91, /* mtime */
    0xd9, 0xaa, 0x6b, 0xb7, 0xde, 0x18, 0xc2, 0xd1, /* checksum */
};

static const struct bale_root slot_root = {
    .flags = BALE_ROOT_CODEC_EXPLICIT | BALE_ROOT_EXTENT_EXPLICIT,
    .mode = BALE_ROOT_MODE_IN_CONTAINER | 0644,
    .generation = UINT64_C(0x0102030405060708),
    .durable = UINT64_C(0x0011121314151617),
    .session = UINT32_C(0x21222324),
    .extent = UINT32_C(0x00123000),
    .size = UINT64_C(0x3132333435363738),
    .end = UINT64_C(0x4142434445464748),
    .tree = {.position = UINT64_C(0x0152535455565758),
             .length = 3632,
             .checksum = UINT64_C(0x6162636465666768)},
    .height = 3,
    .codec = 3,
    .parameter = (uint16_t)-5,
    .stored = UINT64_C(0x0172737475767778),
    .container_id = UINT64_C(0x8182838485868788),
    .mtime = -INT64_C(0x6e6d6c6b6a696868),
};

static void check_same(const struct bale_root *a, const struct bale_root *b)
{
    CHECK_EQ_U(a->flags, b->flags);
    CHECK_EQ_U(a->mode, b->mode);
    CHECK_EQ_U(a->generation, b->generation);
    CHECK_EQ_U(a->durable, b->durable);
    CHECK_EQ_U(a->session, b->session);
    CHECK_EQ_U(a->extent, b->extent);
    CHECK_EQ_U(a->size, b->size);
    CHECK_EQ_U(a->end, b->end);
    CHECK_EQ_U(a->tree.position, b->tree.position);
    CHECK_EQ_U(a->tree.length, b->tree.length);
    CHECK_EQ_U(a->tree.checksum, b->tree.checksum);
    CHECK_EQ_U(a->height, b->height);
    CHECK_EQ_U(a->codec, b->codec);
    CHECK_EQ_U(a->parameter, b->parameter);
    CHECK_EQ_U(a->stored, b->stored);
    CHECK_EQ_U(a->container_id, b->container_id);
    CHECK_EQ(a->mtime, b->mtime);
}

static void test_layout(void)
{
    uint8_t slot[BALE_ROOT_SIZE];
    struct bale_root root;
    char feature[5] = "junk";

    memset(slot, 0xff, sizeof(slot));
    bale_root_encode(&slot_root, slot);
    CHECK_EQ_MEM(slot, slot_bytes, sizeof(slot));
    CHECK_EQ(bale_root_decode(slot_bytes, &root, feature), BALE_OK);
    CHECK_EQ_STR(feature, "");
    check_same(&root, &slot_root);
}

static void test_every_flipped_byte(void)
{
    uint8_t slot[BALE_ROOT_SIZE];
    struct bale_root root;
    char feature[5];

    memcpy(slot, slot_bytes, sizeof(slot));
    for (size_t at = 0; at < sizeof(slot); at++) {
        for (unsigned change = 1; change < 256; change++) {
            slot[at] = (uint8_t)(slot_bytes[at] ^ change);
            if (!CHECK_EQ(bale_root_decode(slot, &root, feature), BALE_E_CORRUPT))
                fprintf(stderr, "    byte %zu changed by 0x%02x\n", at, change);
        }
        slot[at] = slot_bytes[at];
    }
}

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED
#define TOP (UINT64_C(1) << 63)

/* clang-format off */
static const struct rule rules[] = {
    {"magic", BAD, {{ROOT_AT_MAGIC + 3, 1, 'F'}}},
    {"version 0", BAD, {{FIELD(ROOT_AT_VERSION), 0}}},
    {"version 2", NEW, {{FIELD(ROOT_AT_VERSION), 2}}},
    {"version 255", NEW, {{FIELD(ROOT_AT_VERSION), 255}}},
    {"a newer version whatever else it holds", NEW,
     {{FIELD(ROOT_AT_VERSION), 2}, {FIELD(ROOT_AT_GENERATION), 0}, {FIELD(ROOT_AT_EXTENT), 1}}},
    {"no flags", OK, {{FIELD(ROOT_AT_FLAGS), 0}}},
    {"flag bit 2", NEW, {{FIELD(ROOT_AT_FLAGS), 4}}},
    {"flag bit 7", NEW, {{FIELD(ROOT_AT_FLAGS), 0x83}}},
    {"mode 0", OK, {{FIELD(ROOT_AT_MODE), 0}}},
    {"mode 07777", OK, {{FIELD(ROOT_AT_MODE), 0x8fff}}},
    {"mode without bit 15", BAD, {{FIELD(ROOT_AT_MODE), 0644}}},
    {"mode with bit 12", BAD, {{FIELD(ROOT_AT_MODE), 0x9000}}},
    {"mode with bit 14", BAD, {{FIELD(ROOT_AT_MODE), 0xc000}}},
    {"generation 0", BAD, {{FIELD(ROOT_AT_GENERATION), 0}, {FIELD(ROOT_AT_DURABLE), 0}}},
    {"generation 1", OK, {{FIELD(ROOT_AT_GENERATION), 1}, {FIELD(ROOT_AT_DURABLE), 0}}},
    {"durable just below generation", OK, {{FIELD(ROOT_AT_DURABLE), UINT64_C(0x0102030405060707)}}},
    {"durable is generation", BAD, {{FIELD(ROOT_AT_DURABLE), UINT64_C(0x0102030405060708)}}},
    {"durable beyond generation", BAD, {{FIELD(ROOT_AT_DURABLE), UINT64_MAX}}},
    {"smallest extent", OK, {{FIELD(ROOT_AT_EXTENT), 16384}}},
    {"largest extent", OK, {{FIELD(ROOT_AT_EXTENT), 64 << 20}}},
    {"extent 0", BAD, {{FIELD(ROOT_AT_EXTENT), 0}}},
    {"extent below 16 KiB", BAD, {{FIELD(ROOT_AT_EXTENT), 12288}}},
    {"extent no multiple of 4096", BAD, {{FIELD(ROOT_AT_EXTENT), 16384 + 2048}}},
    {"extent beyond 64 MiB", BAD, {{FIELD(ROOT_AT_EXTENT), (64 << 20) + 4096}}},
    {"extent of all ones", BAD, {{FIELD(ROOT_AT_EXTENT), UINT32_MAX}}},
    {"largest size", OK, {{FIELD(ROOT_AT_SIZE), TOP - 1}}},
    {"size 2^63", BAD, {{FIELD(ROOT_AT_SIZE), TOP}}},
    {"size 0 with a tree", BAD, {{FIELD(ROOT_AT_SIZE), 0}}},
    {"largest end", OK, {{FIELD(ROOT_AT_END), TOP - 1}}},
    {"end 2^63", BAD, {{FIELD(ROOT_AT_END), TOP}}},
    {"end of all ones", BAD, {{FIELD(ROOT_AT_END), UINT64_MAX}}},
    {"a page and nothing else", OK,
     {{FIELD(ROOT_AT_END), 224 + 3632}, {FIELD(ROOT_AT_TREE_POSITION), 224}, {FIELD(ROOT_AT_STORED), 0}}},
    {"tree in the slots", BAD, {{FIELD(ROOT_AT_TREE_POSITION), 223}}},
    {"tree at 0", BAD, {{FIELD(ROOT_AT_TREE_POSITION), 0}}},
    {"tree ends after end", BAD,
     {{FIELD(ROOT_AT_END), 224 + 3631}, {FIELD(ROOT_AT_TREE_POSITION), 224}, {FIELD(ROOT_AT_STORED), 0}}},
    {"tree begins after end", BAD,
     {{FIELD(ROOT_AT_END), 5000}, {FIELD(ROOT_AT_TREE_POSITION), 5001}, {FIELD(ROOT_AT_STORED), 0}}},
    {"tree wraps", BAD, {{FIELD(ROOT_AT_TREE_POSITION), UINT64_MAX - 100}}},
    {"stored beyond what there is room for", BAD,
     {{FIELD(ROOT_AT_END), 224 + 3632}, {FIELD(ROOT_AT_TREE_POSITION), 224}, {FIELD(ROOT_AT_STORED), 1}}},
    {"stored of all ones", BAD, {{FIELD(ROOT_AT_STORED), UINT64_MAX}}},

    {"a page of one record", OK, {{FIELD(ROOT_AT_TREE_LENGTH), 68}}},
    {"a page of the most records", OK, {{FIELD(ROOT_AT_TREE_LENGTH), 32 + 36 * 112}}},
    {"a leaf of the most records", OK,
     {{FIELD(ROOT_AT_HEIGHT), 1}, {FIELD(ROOT_AT_TREE_LENGTH), 32 + 48 * 84}}},
    {"height 8", OK, {{FIELD(ROOT_AT_HEIGHT), 8}}},
    {"height 9", BAD, {{FIELD(ROOT_AT_HEIGHT), 9}}},
    {"height 254", BAD, {{FIELD(ROOT_AT_HEIGHT), 254}}},
    {"page length 0", BAD, {{FIELD(ROOT_AT_TREE_LENGTH), 0}}},
    {"a page without records", BAD, {{FIELD(ROOT_AT_TREE_LENGTH), 32}}},
    {"a page length between two counts", BAD, {{FIELD(ROOT_AT_TREE_LENGTH), 3633}}},
    {"a page of too many records", BAD, {{FIELD(ROOT_AT_TREE_LENGTH), 32 + 36 * 113}}},
    {"a leaf of too many records", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 1}, {FIELD(ROOT_AT_TREE_LENGTH), 32 + 48 * 85}}},
    {"page length of all ones", BAD, {{FIELD(ROOT_AT_TREE_LENGTH), UINT32_MAX}}},

    {"no tree", OK,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0},
      {FIELD(ROOT_AT_TREE_CHECKSUM), 0}, {FIELD(ROOT_AT_STORED), 0}}},
    {"no tree, size 0, end 224", OK,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0},
      {FIELD(ROOT_AT_TREE_CHECKSUM), 0}, {FIELD(ROOT_AT_STORED), 0}, {FIELD(ROOT_AT_SIZE), 0}}},
    {"no tree, end 223", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0},
      {FIELD(ROOT_AT_TREE_CHECKSUM), 0}, {FIELD(ROOT_AT_STORED), 0}, {FIELD(ROOT_AT_END), 223}}},
    {"no tree but a position", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0}, {FIELD(ROOT_AT_TREE_CHECKSUM), 0},
      {FIELD(ROOT_AT_STORED), 0}}},
    {"no tree but a length", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_CHECKSUM), 0},
      {FIELD(ROOT_AT_STORED), 0}}},
    {"no tree but a checksum", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0},
      {FIELD(ROOT_AT_STORED), 0}}},
    {"no tree but stored", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 0}, {FIELD(ROOT_AT_TREE_POSITION), 0}, {FIELD(ROOT_AT_TREE_LENGTH), 0},
      {FIELD(ROOT_AT_TREE_CHECKSUM), 0}, {FIELD(ROOT_AT_STORED), 1}}},

    {"direct, smallest frame", OK,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 52}, {FIELD(ROOT_AT_STORED), 52}}},
    {"direct, below the smallest frame", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 51}, {FIELD(ROOT_AT_STORED), 51}}},
    {"direct, largest frame", OK,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_EXTENT), 16384},
      {FIELD(ROOT_AT_TREE_LENGTH), 52 + 48 + 16384}, {FIELD(ROOT_AT_STORED), 52 + 48 + 16384}}},
    {"direct, beyond one extent", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_EXTENT), 16384},
      {FIELD(ROOT_AT_TREE_LENGTH), 52 + 48 + 16385}, {FIELD(ROOT_AT_STORED), 52 + 48 + 16385}}},
    {"direct, a size of one byte and its frame", OK,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_SIZE), 1}, {FIELD(ROOT_AT_TREE_LENGTH), 65},
      {FIELD(ROOT_AT_STORED), 65}}},
    {"direct, beyond size", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_SIZE), 1}, {FIELD(ROOT_AT_TREE_LENGTH), 66},
      {FIELD(ROOT_AT_STORED), 66}}},
    {"direct, stored is not the frame's length", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 52}, {FIELD(ROOT_AT_STORED), 53}}},
    {"direct, size 0", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 52}, {FIELD(ROOT_AT_STORED), 52},
      {FIELD(ROOT_AT_SIZE), 0}}},
    {"direct, in the slots", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 52}, {FIELD(ROOT_AT_STORED), 52},
      {FIELD(ROOT_AT_TREE_POSITION), 112}}},
    {"direct, past end", BAD,
     {{FIELD(ROOT_AT_HEIGHT), 255}, {FIELD(ROOT_AT_TREE_LENGTH), 52}, {FIELD(ROOT_AT_STORED), 52},
      {FIELD(ROOT_AT_TREE_POSITION), 224}, {FIELD(ROOT_AT_END), 275}}},

    {"store", OK, {{FIELD(ROOT_AT_CODEC), 0}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"zero", OK, {{FIELD(ROOT_AT_CODEC), 1}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"lz4", OK, {{FIELD(ROOT_AT_CODEC), 2}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"auto", OK, {{FIELD(ROOT_AT_CODEC), 255}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"store with a parameter", BAD, {{FIELD(ROOT_AT_CODEC), 0}, {FIELD(ROOT_AT_PARAMETER), 1}}},
    {"zero with a parameter", BAD, {{FIELD(ROOT_AT_CODEC), 1}, {FIELD(ROOT_AT_PARAMETER), 1}}},
    {"lz4 with a parameter", BAD, {{FIELD(ROOT_AT_CODEC), 2}, {FIELD(ROOT_AT_PARAMETER), 0x8000}}},
    {"auto for speed", OK, {{FIELD(ROOT_AT_CODEC), 255}, {FIELD(ROOT_AT_PARAMETER), 1}}},
    {"auto with another parameter", BAD, {{FIELD(ROOT_AT_CODEC), 255}, {FIELD(ROOT_AT_PARAMETER), 2}}},
    {"auto with a parameter of all ones", BAD,
     {{FIELD(ROOT_AT_CODEC), 255}, {FIELD(ROOT_AT_PARAMETER), 0xffff}}},
    {"zstd -7", OK, {{FIELD(ROOT_AT_PARAMETER), 0xfff9}}},
    {"zstd -8", BAD, {{FIELD(ROOT_AT_PARAMETER), 0xfff8}}},
    {"zstd 0", BAD, {{FIELD(ROOT_AT_PARAMETER), 0}}},
    {"zstd 19", OK, {{FIELD(ROOT_AT_PARAMETER), 19}}},
    {"zstd 20", BAD, {{FIELD(ROOT_AT_PARAMETER), 20}}},
    {"codec 4", NEW, {{FIELD(ROOT_AT_CODEC), 4}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"lzr of level 2", OK, {{FIELD(ROOT_AT_CODEC), 20}, {FIELD(ROOT_AT_PARAMETER), 2}}},
    {"lzr of level 0", BAD, {{FIELD(ROOT_AT_CODEC), 20}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"lzr of level 3", BAD, {{FIELD(ROOT_AT_CODEC), 20}, {FIELD(ROOT_AT_PARAMETER), 3}}},
    {"culzss of version 1", OK, {{FIELD(ROOT_AT_CODEC), 16}, {FIELD(ROOT_AT_PARAMETER), 1}}},
    {"culzss of version 2", OK, {{FIELD(ROOT_AT_CODEC), 16}, {FIELD(ROOT_AT_PARAMETER), 2}}},
    {"culzss of version 0", BAD, {{FIELD(ROOT_AT_CODEC), 16}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"culzss of version 3", BAD, {{FIELD(ROOT_AT_CODEC), 16}, {FIELD(ROOT_AT_PARAMETER), 3}}},
    {"culzss of version -1", BAD, {{FIELD(ROOT_AT_CODEC), 16}, {FIELD(ROOT_AT_PARAMETER), 0xffff}}},
    {"gpulz", OK, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x1dff}}},
    {"gpulz with adaptive symbols", OK, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x2520}}},
    {"gpulz with adaptive symbols of 2", BAD,
     {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x2820}}},
    {"gpulz with a window of 31", BAD, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x201f}}},
    {"gpulz with pieces of 128 KiB", BAD, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x0620}}},
    {"gpulz with bit 14", BAD, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x4020}}},
    {"gpulz with bit 15", BAD, {{FIELD(ROOT_AT_CODEC), 17}, {FIELD(ROOT_AT_PARAMETER), 0x8020}}},
    {"cusz without a settings page", BAD, {{FIELD(ROOT_AT_CODEC), 19}, {FIELD(ROOT_AT_PARAMETER), 0}}},
    {"codec 22", NEW, {{FIELD(ROOT_AT_CODEC), 22}, {FIELD(ROOT_AT_PARAMETER), 7}}},
    {"codec 254", NEW, {{FIELD(ROOT_AT_CODEC), 254}, {FIELD(ROOT_AT_PARAMETER), 0}}},

    {"container id 0", BAD, {{FIELD(ROOT_AT_CONTAINER_ID), 0}}},
    {"container id 1", OK, {{FIELD(ROOT_AT_CONTAINER_ID), 1}}},
    {"tree checksum 0", OK, {{FIELD(ROOT_AT_TREE_CHECKSUM), 0}}},
    {"session 0", OK, {{FIELD(ROOT_AT_SESSION), 0}}},
    {"first mtime", OK, {{FIELD(ROOT_AT_MTIME), TOP}}},
    {"last mtime", OK, {{FIELD(ROOT_AT_MTIME), TOP - 1}}},
};
/* clang-format on */

static void test_rules(void)
{
    for (size_t i = 0; i < RULES(rules); i++) {
        uint8_t slot[BALE_ROOT_SIZE];
        uint8_t again[BALE_ROOT_SIZE];
        struct bale_root root;
        char feature[5] = "junk";

        memcpy(slot, slot_bytes, sizeof(slot));
        edit_apply(&rules[i], slot);
        edit_seal(slot, sizeof(slot));
        edit_check(&rules[i], bale_root_decode(slot, &root, feature));
        CHECK_EQ_STR(feature, "");
        if (rules[i].expected != BALE_OK)
            continue;
        bale_root_encode(&root, again);
        CHECK_EQ_MEM(again, slot, sizeof(slot));
    }
}

static void test_permissions(void)
{
    static const struct {
        unsigned mode, backing, permissions;
    } cases[] = {
        {0644, 0644, 0644},  {0, 0600, 0},          {0500, 0600, 0400},    {0777, 0755, 0755},
        {0644, 0666, 0644},  {0777, 0, 0600},       {04755, 04755, 04755}, {04755, 0755, 0755},
        {0755, 06755, 0755}, {06755, 02755, 02755}, {02755, 02745, 02745}, {02644, 02644, 02644},
        {02644, 0644, 0644}, {06755, 06755, 06755}, {01777, 0777, 01777},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t mode = (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | cases[i].mode);
        CHECK_EQ_U(bale_root_permissions(mode, cases[i].backing), cases[i].permissions);
    }
    for (unsigned mode = 0; mode <= 07777; mode++) {
        uint16_t in_root = (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | mode);
        unsigned backing = bale_root_backing_mode(in_root);

        CHECK_EQ_U(bale_root_permissions(in_root, backing), mode);
        CHECK_EQ_U(backing & 0600, 0600);
        CHECK_EQ_U(backing & ~06777u, 0);
    }
}

static void test_features(void)
{
    enum { PART = 0x74726170 }; /* "part" */
    static const struct {
        struct rule rule;
        const char *feature;
    } cases[] = {
        {{"one tag", NEW, {{FIELD(ROOT_AT_FEATURES), 0x4c524154}}}, "TARL"},
        {{"a tag after a gap", BAD, {{FIELD(ROOT_AT_FEATURE_2), 0x4c524154}}}, ""},
        {{"one bit after a gap", BAD, {{ROOT_AT_FEATURE_2 + 3, 1, 0x80}}}, ""},
        {{"the first of two",
          NEW,
          {{FIELD(ROOT_AT_FEATURES), 0x31303030}, {FIELD(ROOT_AT_FEATURE_2), 0x32303030}}},
         "0001"},
        {{"unprintable characters", NEW, {{FIELD(ROOT_AT_FEATURES), 0x7fff1f0a}}}, "????"},
        {{"the first and the last printable character",
          NEW,
          {{FIELD(ROOT_AT_FEATURES), 0x7e20207e}}},
         "~  ~"},
        {{"one character", NEW, {{FIELD(ROOT_AT_FEATURES), 0x41}}}, "A???"},
        {{"a tag comes before bad fields",
          NEW,
          {{FIELD(ROOT_AT_FEATURES), 0x4c524154}, {FIELD(ROOT_AT_GENERATION), 0}}},
         "TARL"},
        {{"the tag of extent parts", OK, {{FIELD(ROOT_AT_FEATURES), PART}}}, ""},
        {{"a tag twice", BAD, {{FIELD(ROOT_AT_FEATURES), PART}, {FIELD(ROOT_AT_FEATURE_2), PART}}},
         ""},
        {{"the tag of extent parts after a gap", BAD, {{FIELD(ROOT_AT_FEATURE_2), PART}}}, ""},
        {{"a tag after that of extent parts",
          NEW,
          {{FIELD(ROOT_AT_FEATURES), PART}, {FIELD(ROOT_AT_FEATURE_2), 0x4c524154}}},
         "TARL"},
        {{"a newer version comes before a tag",
          NEW,
          {{FIELD(ROOT_AT_FEATURES), 0x4c524154}, {FIELD(ROOT_AT_VERSION), 2}}},
         ""},
    };

    for (size_t i = 0; i < RULES(cases); i++) {
        uint8_t slot[BALE_ROOT_SIZE], again[BALE_ROOT_SIZE];
        struct bale_root root;
        char feature[5];

        memcpy(slot, slot_bytes, sizeof(slot));
        edit_apply(&cases[i].rule, slot);
        edit_seal(slot, sizeof(slot));
        int err = bale_root_decode(slot, &root, feature);
        edit_check(&cases[i].rule, err);
        CHECK_EQ_STR(feature, cases[i].feature);
        if (err == BALE_OK) {
            CHECK_EQ_U(root.features, BALE_FEATURE_PARTS);
            bale_root_encode(&root, again);
            CHECK_EQ_MEM(again, slot, sizeof slot);
        }
    }
}

int main(void)
{
    test_layout();
    test_every_flipped_byte();
    test_rules();
    test_features();
    test_permissions();
    return check_result();
}
