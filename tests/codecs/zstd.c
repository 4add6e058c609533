#include <zstd.h>

#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"

static const struct codec_setting settings[] = {
    {"zstd:-7", SETTINGS_MOST},
    {"zstd:-5", SETTINGS_DAMAGE},
    {"zstd:-3", SETTINGS_RANDOM},
    {"zstd:-2", SETTINGS_RANDOM},
    {"zstd:1", SETTINGS_ALL},
    {"zstd:level=3", SETTINGS_MOST | SETTINGS_RANDOM},
    {"zstd:6", SETTINGS_RANDOM},
    {"zstd:19", SETTINGS_FRAMES | SETTINGS_DAMAGE | SETTINGS_API},
    {.text = NULL},
};

static void mixed_text(uint8_t *raw, size_t length)
{
    sample_text(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"text", "zstd:1", 70000, 16, sample_text, "two chunks, level 1"},
    {"19", "zstd:19", 20000, 14, sample_text, "level 19"},
    {"minus-7", "zstd:-7", 20000, 14, sample_text, "level -7"},
    {"mixed", "zstd:3", 12000, 12, mixed_text, "the second chunk is stored raw"},
    {.name = NULL},
};

/* ---- Streams: RFC 8878, 3.1.1 ---- */

enum {
    MAGIC_BYTES = 4,
    BLOCK_RLE = 1,
    BLOCK_RESERVED = 3,
    DESCRIPTOR_DICTIONARY = 1,
    DESCRIPTOR_RESERVED = 8,
    DESCRIPTOR_CONTENT_2 = 0x40, /* a content size of two bytes, less 256 */
    WINDOW_8K = 13,              /* the least that holds the raw bytes */
    A_LENGTH = 2000,
    B_LENGTH = 3000,
    RAW_LENGTH = A_LENGTH + B_LENGTH,
};

static void begin(struct codec_bytes *b, uint8_t descriptor, unsigned window_log2)
{
    b->length = 0;
    bytes_add_number(b, 0xfd2fb528u, MAGIC_BYTES);
    bytes_add_number(b, descriptor, 1);
    bytes_add_number(b, (window_log2 - 10) << 3, 1);
}

static void add_block(struct codec_bytes *b, uint32_t type, uint8_t value, uint32_t size, bool last)
{
    bytes_add_number(b, (uint32_t)last | type << 1 | size << 3, 3);
    bytes_add_number(b, value, 1);
}

static void add_blocks(struct codec_bytes *b)
{
    add_block(b, BLOCK_RLE, 'a', A_LENGTH, false);
    add_block(b, BLOCK_RLE, 'b', B_LENGTH, true);
}

static void add_skippable(struct codec_bytes *b)
{
    bytes_add_number(b, 0x184d2a50u, MAGIC_BYTES);
    bytes_add_number(b, 0, 4);
}

/* The callback that gets the streams. */
struct visitor {
    codec_stream_visit *visit;
    void *arg;
    const uint8_t *raw;
};

static void show(const struct visitor *to, bool good, const char *name, const struct codec_bytes *b,
                 const char *what)
{
    const struct codec_stream stream = {.name = name,
                                        .what = what,
                                        .good = good,
                                        .stored = b->data,
                                        .length = b->length,
                                        .raw = to->raw,
                                        .raw_length = RAW_LENGTH};

    to->visit(to->arg, &stream);
}

static void good_streams(const struct visitor *to)
{
    struct codec_bytes b;

    begin(&b, 0, WINDOW_8K);
    add_blocks(&b);
    show(to, true, "no-content-size", &b, "window descriptor, no content size, RLE blocks");
    begin(&b, 0, 16);
    add_blocks(&b);
    show(to, true, "window", &b, "a window of the chunk size, 64 KiB, on a shorter chunk");

    ZSTD_CCtx *cctx = ZSTD_createCCtx();
    REQUIRE(cctx);
    ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
    b.length = (uint32_t)ZSTD_compress2(cctx, b.data, sizeof b.data, to->raw, RAW_LENGTH);
    ZSTD_freeCCtx(cctx);
    show(to, true, "checksum", &b, "with Zstandard's own content checksum");
    b.data[b.length - 1] ^= 1;
    show(to, false, "checksum", &b, "Zstandard's content checksum is wrong");
}

static void bad_headers(const struct visitor *to)
{
    struct codec_bytes b;

    begin(&b, 0, 17);
    add_blocks(&b);
    show(to, false, "window", &b, "a window of 128 KiB in chunks of 64 KiB");
    begin(&b, 0, 41);
    add_blocks(&b);
    show(to, false, "window-largest", &b, "a window of 2 TiB");
    begin(&b, DESCRIPTOR_DICTIONARY, WINDOW_8K);
    bytes_add_number(&b, 7, 1);
    add_blocks(&b);
    show(to, false, "dictionary", &b, "a dictionary id");
    begin(&b, DESCRIPTOR_RESERVED, WINDOW_8K);
    add_blocks(&b);
    show(to, false, "reserved", &b, "the reserved bit of the frame header descriptor");
    begin(&b, DESCRIPTOR_CONTENT_2, WINDOW_8K);
    bytes_add_number(&b, RAW_LENGTH + 1 - 256, 2);
    add_blocks(&b);
    show(to, false, "content-size", &b, "the content size is not the raw length");
}

static void bad_bodies(const struct visitor *to)
{
    struct codec_bytes b;

    begin(&b, 0, WINDOW_8K);
    add_blocks(&b);
    add_skippable(&b);
    show(to, false, "skippable-after", &b, "a skippable frame behind it");
    b.length = 0;
    add_skippable(&b);
    struct codec_bytes whole;
    begin(&whole, 0, WINDOW_8K);
    add_blocks(&whole);
    bytes_add(&b, whole.data, whole.length);
    show(to, false, "skippable-before", &b, "a skippable frame before it");
    begin(&b, 0, WINDOW_8K);
    add_block(&b, BLOCK_RLE, 'a', A_LENGTH, true);
    begin(&whole, 0, WINDOW_8K);
    add_block(&whole, BLOCK_RLE, 'b', B_LENGTH, true);
    bytes_add(&b, whole.data, whole.length);
    show(to, false, "two", &b, "two Zstandard frames");
    begin(&b, 0, WINDOW_8K);
    add_block(&b, BLOCK_RLE, 'a', A_LENGTH, false);
    add_block(&b, BLOCK_RESERVED, 'b', B_LENGTH, true);
    show(to, false, "block", &b, "a block of the reserved type");
}

static void streams(codec_stream_visit *visit, void *arg)
{
    uint8_t raw[RAW_LENGTH + 1];
    const struct visitor to = {visit, arg, raw};

    memset(raw, 'a', A_LENGTH);
    memset(raw + A_LENGTH, 'b', B_LENGTH + 1);
    good_streams(&to);
    bad_headers(&to);
    bad_bodies(&to);
}

extern const struct codec_case codec_case_zstd;
const struct codec_case codec_case_zstd = {
    .id = BALE_CODEC_ZSTD,
    .settings = settings,
    .setting_parameters = 26,
    .frame_parameters = UINT16_MAX + 1,
    .samples = samples,
    .streams = streams,
};
