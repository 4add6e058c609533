/* Every rule of FORMAT.md section 6 on the head of a frame. */
#include "tests/unit/format/frame_data.h"

#define OK BALE_OK
#define BAD BALE_E_CORRUPT
#define NEW BALE_E_UNSUPPORTED
#define TOP (UINT64_C(1) << 63)

/* clang-format off */
static const struct rule rules[] = {
    {"magic", BAD, {{FRAME_AT_MAGIC, 1, 'b'}}},
    {"version 0", BAD, {{FIELD(FRAME_AT_VERSION), 0}}},
    {"version 2", NEW, {{FIELD(FRAME_AT_VERSION), 2}}},
    {"flags bit 0", NEW, {{FIELD(FRAME_AT_FLAGS), 1}}},
    {"flags bit 7", NEW, {{FIELD(FRAME_AT_FLAGS), 0x80}}},
    {"zero field, low", NEW, {{FIELD(FRAME_AT_ZERO), 1}}},
    {"zero field, high", NEW, {{FIELD(FRAME_AT_ZERO), 0x8000}}},
    {"chunk log2 11", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 11}}},
    {"chunk log2 27", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 27}}},
    {"chunk log2 0", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 0}}},
    {"chunk log2 255", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 255}}},
    {"raw length 0", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 0}}},
    {"raw length beyond 64 MiB", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), (64 << 20) + 1}}},
    {"raw length of all ones", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), UINT32_MAX}}},
    {"raw length, least for three chunks", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 8192 + 308}}},
    {"last chunk stored longer than raw", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 8192 + 307}}},
    {"raw length, most for three chunks", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 12288}}},
    {"last file offset", OK, {{FIELD(FRAME_AT_OFFSET), TOP - 1 - 10000}}},
    {"file offset beyond 2^63 - 1", BAD, {{FIELD(FRAME_AT_OFFSET), TOP - 10000}}},
    {"file offset wraps", BAD, {{FIELD(FRAME_AT_OFFSET), UINT64_MAX}}},
    {"generation 0, as in a stream", OK, {{FIELD(FRAME_AT_GENERATION), 0}}},
    {"generation of all ones", OK, {{FIELD(FRAME_AT_GENERATION), UINT64_MAX}}},
    {"stored length too small", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 4999}}},
    {"stored length too great", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 5001}}},
    {"stored length of all ones", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), UINT32_MAX}}},
    {"an empty chunk", BAD, {{FIELD(FRAME_AT_TABLE), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 5000 - 596}}},
    {"a chunk of one byte", OK, {{FIELD(FRAME_AT_TABLE), 1}, {FIELD(FRAME_AT_STORED_LENGTH), 5000 - 595}}},
    {"a chunk stored longer than raw", BAD,
     {{FRAME_AT_TABLE + FRAME_ENTRY_SIZE, 4, 4097}, {FIELD(FRAME_AT_STORED_LENGTH), 5001}}},
    {"stored lengths that wrap to the right sum", BAD,
     {{FIELD(FRAME_AT_TABLE), UINT32_MAX - 4000}, {FRAME_AT_TABLE + FRAME_ENTRY_SIZE, 4, 4096},
      {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 4905}}},
    {"codec lz4", OK, {{FIELD(FRAME_AT_CODEC), 2}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"lz4 with a parameter", BAD, {{FIELD(FRAME_AT_CODEC), 2}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"any zstd level", OK, {{FIELD(FRAME_AT_PARAMETER), 0x7fff}}},
    {"codec 4", NEW, {{FIELD(FRAME_AT_CODEC), 4}}},
    {"culzss of version 1", OK, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"culzss of version 2", OK, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 2}}},
    {"culzss of version 0", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"culzss of version 3", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 3}}},
    {"culzss of version 257", BAD, {{FIELD(FRAME_AT_CODEC), 16}, {FIELD(FRAME_AT_PARAMETER), 257}}},
    {"gpulz", OK, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x1dff}}},
    {"gpulz with its least parameter", OK,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x0020}}},
    {"gpulz with a window of 31", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x001f}}},
    {"gpulz with pieces of 128 KiB", BAD,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x0620}}},
    {"gpulz with adaptive symbols", BAD,
     {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x2020}}},
    {"gpulz with bit 14", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x4020}}},
    {"gpulz with bit 15", BAD, {{FIELD(FRAME_AT_CODEC), 17}, {FIELD(FRAME_AT_PARAMETER), 0x8020}}},
    {"lzr of level 1", OK, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 1}}},
    {"lzr of level 9", OK, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 9}}},
    {"lzr of level 0", BAD, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 0}}},
    {"lzr of level 10", BAD, {{FIELD(FRAME_AT_CODEC), 20}, {FIELD(FRAME_AT_PARAMETER), 10}}},
    {"a codec whose table has an entry more", BALE_E_SHORT, {{FIELD(FRAME_AT_CODEC), 18}}},
    {"codec auto", NEW, {{FIELD(FRAME_AT_CODEC), 255}}},
    {"an unknown codec comes before its table's rules", NEW,
     {{FIELD(FRAME_AT_CODEC), 22}, {FIELD(FRAME_AT_TABLE), 0}}},
    {"store", OK,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 10000},
      {FIELD(FRAME_AT_TABLE), 4096}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
    {"store with a parameter", BAD,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 1}, {FIELD(FRAME_AT_STORED_LENGTH), 10000},
      {FIELD(FRAME_AT_TABLE), 4096}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
    {"store with a chunk that is not raw", BAD,
     {{FIELD(FRAME_AT_CODEC), 0}, {FIELD(FRAME_AT_PARAMETER), 0}, {FIELD(FRAME_AT_STORED_LENGTH), 9999},
      {FIELD(FRAME_AT_TABLE), 4095}, {FRAME_AT_TABLE + 2 * FRAME_ENTRY_SIZE, 4, 1808}}},
};

#define CHUNK_AT(i) FRAME_AT_TABLE + (1 + (i)) * FRAME_ENTRY_SIZE, 4
#define PART_CHECKSUM FRAME_AT_TABLE + FRAME_ENTRY_AT_CHECKSUM, 8
#define OF_NOTHING UINT64_C(0x2d06800538d394c2)

/* The part has 40 bytes, the chunks 596, 4096 and 308, of 10000. */
static const struct rule part_rules[] = {
    {"as it is", OK, {{0}}},
    {"a sum without the part", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of no bytes", OK,
     {{FIELD(FRAME_AT_TABLE), 0}, {PART_CHECKSUM, OF_NOTHING}, {FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of no bytes with another checksum", BAD,
     {{FIELD(FRAME_AT_TABLE), 0}, {PART_CHECKSUM, OF_NOTHING ^ 1}, {FIELD(FRAME_AT_STORED_LENGTH), 5000}}},
    {"a part of an eighth", OK, {{FIELD(FRAME_AT_TABLE), 1250}, {FIELD(FRAME_AT_STORED_LENGTH), 6250}}},
    {"a part of more than an eighth", BAD,
     {{FIELD(FRAME_AT_TABLE), 1251}, {FIELD(FRAME_AT_STORED_LENGTH), 6251}}},
    {"a part of all ones", BAD, {{FIELD(FRAME_AT_TABLE), UINT32_MAX}}},
    {"the least gain", OK,
     {{CHUNK_AT(0), 4096}, {CHUNK_AT(2), 1599}, {FIELD(FRAME_AT_STORED_LENGTH), 9831}}},
    {"less gain", BAD,
     {{CHUNK_AT(0), 4096}, {CHUNK_AT(2), 1600}, {FIELD(FRAME_AT_STORED_LENGTH), 9832}}},
    {"fsst with a parameter", BAD, {{FIELD(FRAME_AT_PARAMETER), 1}}},
    {"cusz", OK, {{FIELD(FRAME_AT_CODEC), 19}}},
    {"float", OK, {{FIELD(FRAME_AT_CODEC), 21}}},
};

static const struct rule zero_rules[] = {
    {"parameter 0", OK, {{FIELD(FRAME_AT_PARAMETER), 0}}},
    {"parameter 255", OK, {{FIELD(FRAME_AT_PARAMETER), 255}}},
    {"parameter 256", BAD, {{FIELD(FRAME_AT_PARAMETER), 256}}},
    {"stored bytes", BAD, {{FIELD(FRAME_AT_STORED_LENGTH), 1}}},
    {"raw length 0", BAD, {{FIELD(FRAME_AT_RAW_LENGTH), 0}}},
    {"raw length 1", OK, {{FIELD(FRAME_AT_RAW_LENGTH), 1}}},
    {"chunk log2 12", OK, {{FIELD(FRAME_AT_CHUNK_LOG2), 12}}},
    {"chunk log2 11", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 11}}},
    {"chunk log2 27", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 27}}},
    {"chunk log2 255", BAD, {{FIELD(FRAME_AT_CHUNK_LOG2), 255}}},
    {"newer version", NEW, {{FIELD(FRAME_AT_VERSION), 9}}},
};
/* clang-format on */

static void test_rules(const struct rule *table, size_t count, const uint8_t *good, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[PART_HEAD];
        struct bale_frame frame;

        memcpy(bytes, good, length);
        edit_apply(&table[i], bytes);
        edit_seal(bytes, length);
        edit_check(&table[i], bale_frame_head_decode(bytes, length, &frame));
    }
}

int main(void)
{
    uint8_t part_bytes[PART_HEAD];

    make_part_bytes(part_bytes);
    test_rules(rules, RULES(rules), head_bytes, HEAD);
    test_rules(part_rules, RULES(part_rules), part_bytes, PART_HEAD);
    test_rules(zero_rules, RULES(zero_rules), zero_bytes, ZERO_HEAD);
    return check_result();
}
