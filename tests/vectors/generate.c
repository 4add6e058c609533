/* generate DIRECTORY: writes the frame vectors and their INDEX. README says what they are for.
 *
 * Everything follows from the numbers here; only what liblz4 and libzstd emit may differ with their
 * version. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/vectors/craft.h"
#include "tests/vectors/craft_stored.h"
#include "tests/vectors/generate.h"

enum { STORE_RAW = 4200 };

static struct bale_scratch *scratch;
static const char *directory;
static FILE *listing;
uint8_t raw[RAW_MAX];
uint8_t frame[FRAME_MAX];
static uint32_t state;

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "generate: %s\n", what);
    exit(EXIT_FAILURE);
}

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

void fill_random(size_t from, size_t to)
{
    state = 1;
    while (from < to)
        raw[from++] = (uint8_t)(next() >> 8);
}

void fill_text(size_t from, size_t to)
{
    static const char *const words[] = {"field ", "extent ", "chunk ", "frame ", "commit\n",
                                        "index ", "0.",      "of ",    "the ",   "and ",
                                        "in ",    "a ",      "1.5",    "-"};

    state = 2;
    while (from < to)
        for (const char *word = words[next() % (sizeof words / sizeof words[0])];
             *word && from < to; word++)
            raw[from++] = (uint8_t)*word;
}

static void write_file(const char *name, const char *ending, const void *data, size_t length)
{
    char path[4096];
    FILE *f;

    if (snprintf(path, sizeof path, "%s/%s.%s", directory, name, ending) >= (int)sizeof path)
        die("the directory's name is too long");
    f = fopen(path, "wb");
    if (!f || fwrite(data, 1, length, f) != length || fclose(f) != 0)
        die(path);
}

void emit_bad(const char *name, size_t length, const char *what)
{
    write_file(name, "frame", frame, length);
    fprintf(listing, "%s: %s\n", name, what);
}

void emit_good(const char *name, size_t length, size_t raw_length, const char *what)
{
    emit_bad(name, length, what);
    write_file(name, "raw", raw, raw_length);
}

size_t encode(const char *text, uint32_t raw_length, uint8_t chunk_log2)
{
    struct bale_frame head = {
        .raw_length = raw_length, .chunk_log2 = chunk_log2, .offset = 262144, .generation = 3};
    struct bale_setting setting;
    size_t length;

    if (bale_setting_parse(text, &setting, NULL) < 0 ||
        bale_frame_encode(scratch, setting, raw, &head, frame, &length) < 0)
        die(text);
    return length;
}

static void good_store_and_zero(void)
{
    raw[0] = 0x5a;
    emit_good("good-zero-1", encode("store", 1, 16), 1, "one byte");
    memset(raw, 0, 9000);
    emit_good("good-zero-9000", encode("store", 9000, 12), 9000,
              "three chunks of zeros, the last one short");
    memset(raw, 0xff, 4096);
    emit_good("good-zero-255", encode("store", 4096, 12), 4096, "one full chunk of 255");
    fill_random(0, RAW_MAX);
    emit_good("good-store-3", encode("store", 3, 26), 3, "three bytes, the largest chunk size");
    emit_good("good-store-9000", encode("store", 9000, 12), 9000,
              "three chunks, the last one short");
    emit_good("good-store-8192", encode("store", 8192, 12), 8192, "two full chunks");
}

static void good_libraries(void)
{
    fill_text(0, RAW_MAX);
    emit_good("good-lz4-text", encode("lz4", 20000, 12), 20000, "five chunks");
    emit_good("good-zstd-text", encode("zstd:1", 70000, 16), 70000, "two chunks, level 1");
    emit_good("good-zstd-19", encode("zstd:19", 20000, 14), 20000, "level 19");
    emit_good("good-zstd-minus-7", encode("zstd:-7", 20000, 14), 20000, "level -7");
    fill_random(4096, 8192);
    emit_good("good-lz4-mixed", encode("lz4", 12000, 12), 12000, "the second chunk is stored raw");
    emit_good("good-zstd-mixed", encode("zstd:3", 12000, 12), 12000,
              "the second chunk is stored raw");
}

/* 2000 bytes "a" and 3000 "b", which is what raw is filled with. */
static void zstd_blocks(struct craft_bytes *b)
{
    craft_zstd_block(b, BLOCK_RLE, 'a', 2000, false);
    craft_zstd_block(b, BLOCK_RLE, 'b', 3000, true);
}

static struct craft_bytes zstd_plain(void)
{
    struct craft_bytes b = {.length = 0};

    craft_zstd_begin(&b, 0, 13);
    zstd_blocks(&b);
    return b;
}

static size_t zstd_frame(const struct craft_bytes *b, uint32_t raw_length)
{
    return craft_frame(BALE_CODEC_ZSTD, b->data, b->length, raw, raw_length, frame);
}

static void fill_ab(void)
{
    memset(raw, 'a', 2000);
    memset(raw + 2000, 'b', RAW_MAX - 2000);
}

static void good_zstd_by_hand(void)
{
    struct craft_bytes b = zstd_plain();

    fill_ab();
    emit_good("good-zstd-no-content-size", zstd_frame(&b, 5000), 5000,
              "window descriptor, no content size, RLE blocks");
    b.length = 0;
    craft_zstd_begin(&b, 0, 16);
    zstd_blocks(&b);
    emit_good("good-zstd-window", zstd_frame(&b, 5000), 5000,
              "a window of the chunk size, 64 KiB, on a shorter chunk");

    ZSTD_CCtx *cctx = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
    b.length = (uint32_t)ZSTD_compress2(cctx, b.data, sizeof b.data, raw, 5000);
    ZSTD_freeCCtx(cctx);
    emit_good("good-zstd-checksum", zstd_frame(&b, 5000), 5000,
              "with Zstandard's own content checksum");
    b.data[b.length - 1] ^= 1;
    emit_bad("bad-zstd-checksum", zstd_frame(&b, 5000), "Zstandard's content checksum is wrong");
}

static void bad_zstd_headers(void)
{
    struct craft_bytes b = {.length = 0};

    fill_ab();
    craft_zstd_begin(&b, 0, 17);
    zstd_blocks(&b);
    emit_bad("bad-zstd-window", zstd_frame(&b, 5000), "a window of 128 KiB in chunks of 64 KiB");
    b.length = 0;
    craft_zstd_begin(&b, 0, 41);
    zstd_blocks(&b);
    emit_bad("bad-zstd-window-largest", zstd_frame(&b, 5000), "a window of 2 TiB");
    b.length = 0;
    craft_zstd_begin(&b, ZSTD_DICTIONARY, 13);
    craft_add_number(&b, 7, 1);
    zstd_blocks(&b);
    emit_bad("bad-zstd-dictionary", zstd_frame(&b, 5000), "a dictionary id");
    b.length = 0;
    craft_zstd_begin(&b, ZSTD_RESERVED, 13);
    zstd_blocks(&b);
    emit_bad("bad-zstd-reserved", zstd_frame(&b, 5000),
             "the reserved bit of the frame header descriptor");
    b.length = 0;
    craft_zstd_begin(&b, ZSTD_FCS_2, 13);
    craft_add_number(&b, 5001 - 256, 2);
    zstd_blocks(&b);
    emit_bad("bad-zstd-content-size", zstd_frame(&b, 5000),
             "the content size is not the raw length");
}

static void bad_zstd_bodies(void)
{
    struct craft_bytes b = {.length = 0};

    fill_ab();
    b = zstd_plain();
    emit_bad("bad-zstd-short", zstd_frame(&b, 5001), "decodes to a byte less than the raw length");
    emit_bad("bad-zstd-long", zstd_frame(&b, 4999), "decodes to a byte more than the raw length");
    craft_add_number(&b, 0, 1);
    emit_bad("bad-zstd-trailing", zstd_frame(&b, 5000), "a byte behind the Zstandard frame");
    b = zstd_plain();
    craft_add_number(&b, 0x184d2a50u, 4);
    craft_add_number(&b, 0, 4);
    emit_bad("bad-zstd-skippable-after", zstd_frame(&b, 5000), "a skippable frame behind it");
    b.length = 0;
    craft_add_number(&b, 0x184d2a50u, 4);
    craft_add_number(&b, 0, 4);
    craft_add(&b, zstd_plain().data, zstd_plain().length);
    emit_bad("bad-zstd-skippable-before", zstd_frame(&b, 5000), "a skippable frame before it");
    b.length = 0;
    craft_zstd_begin(&b, 0, 13);
    craft_zstd_block(&b, BLOCK_RLE, 'a', 2000, true);
    craft_zstd_begin(&b, 0, 13);
    craft_zstd_block(&b, BLOCK_RLE, 'b', 3000, true);
    emit_bad("bad-zstd-two", zstd_frame(&b, 5000), "two Zstandard frames");
    b = zstd_plain();
    b.length--;
    emit_bad("bad-zstd-truncated", zstd_frame(&b, 5000),
             "the last byte of the last block is missing");
    b.length = 0;
    craft_zstd_begin(&b, 0, 13);
    craft_zstd_block(&b, BLOCK_RLE, 'a', 2000, false);
    craft_zstd_block(&b, BLOCK_RESERVED, 'b', 3000, true);
    emit_bad("bad-zstd-block", zstd_frame(&b, 5000), "a block of the reserved type");
}

/* One sequence, literals "abcd" and a match of 4 + 15 + 6 bytes, and five last literals: 34
 * bytes. */
static struct craft_bytes lz4_plain(uint8_t offset)
{
    struct craft_bytes b = {.length = 0};

    craft_add_number(&b, 0x4f, 1);
    craft_add(&b, "abcd", 4);
    craft_add_number(&b, offset, 2);
    craft_add_number(&b, 6, 1);
    craft_add_number(&b, 0x50, 1);
    craft_add(&b, "vwxyz", 5);
    return b;
}

static size_t lz4_frame(const struct craft_bytes *b, uint32_t raw_length)
{
    return craft_frame(BALE_CODEC_LZ4, b->data, b->length, raw, raw_length, frame);
}

static void lz4_by_hand(void)
{
    struct craft_bytes b = lz4_plain(4);

    for (size_t i = 0; i < 29; i++)
        raw[i] = (uint8_t)('a' + i % 4);
    memcpy(raw + 29, "vwxyz!", sizeof "vwxyz!");
    emit_good("good-lz4-overlap", lz4_frame(&b, 34), 34, "a match that reaches into itself");
    emit_bad("bad-lz4-short", lz4_frame(&b, 35), "decodes to a byte less than the raw length");
    emit_bad("bad-lz4-long", lz4_frame(&b, 33), "decodes to a byte more than the raw length");
    b = lz4_plain(0);
    emit_bad("bad-lz4-offset-zero", lz4_frame(&b, 34), "a match at offset 0");
    b = lz4_plain(5);
    emit_bad("bad-lz4-offset", lz4_frame(&b, 34), "a match before the chunk's start");
    b = lz4_plain(4);
    craft_add_number(&b, 0, 1);
    emit_bad("bad-lz4-trailing", lz4_frame(&b, 34), "a byte behind the block");
    b.length -= 2;
    emit_bad("bad-lz4-truncated", lz4_frame(&b, 34), "the last literal is missing");
}

/* A frame of store with two chunks of 4096 and 104 random bytes. */
static size_t plain_store(void)
{
    fill_random(0, STORE_RAW);
    return encode("store", STORE_RAW, 12);
}

/* A sealed head in which one number is another. */
static void emit_field(const char *name, size_t at, int size, uint32_t value, const char *what)
{
    size_t length = plain_store();

    for (int i = 0; i < size; i++)
        frame[at + (size_t)i] = (uint8_t)(value >> 8 * i);
    craft_seal_head(frame, 2);
    emit_bad(name, length, what);
}

static void heads(void)
{
    emit_field("unsupported-version", FRAME_AT_VERSION, 1, 2, "version 2");
    emit_field("unsupported-flags", FRAME_AT_FLAGS, 1, 1, "a flag");
    emit_field("unsupported-zero", FRAME_AT_ZERO, 2, 256, "the zero field is not zero");
    emit_field("unsupported-codec", FRAME_AT_CODEC, 1, 254, "a codec nobody knows");
    emit_field("bad-magic", 0, 1, 'b', "the magic");
    emit_field("bad-version", FRAME_AT_VERSION, 1, 0, "version 0");
    emit_field("bad-store-parameter", FRAME_AT_PARAMETER, 2, 1, "store has no parameter");
    emit_field("bad-chunk-log2-small", FRAME_AT_CHUNK_LOG2, 1, 11, "chunks of 2 KiB");
    emit_field("bad-chunk-log2-large", FRAME_AT_CHUNK_LOG2, 1, 27, "chunks of 128 MiB");
    emit_field("bad-raw-length-0", FRAME_AT_RAW_LENGTH, 4, 0, "no raw bytes");
    emit_field("bad-raw-length-large", FRAME_AT_RAW_LENGTH, 4, (64u << 20) + 1, "more than 64 MiB");
    emit_field("bad-raw-length", FRAME_AT_RAW_LENGTH, 4, STORE_RAW + 1,
               "a raw byte more than the chunks have");
    emit_field("bad-offset", FRAME_AT_OFFSET + 4, 4, 0x80000000u, "beyond the greatest file size");
    emit_field("bad-raw-checksum", FRAME_AT_RAW_CHECKSUM, 1, 0, "the raw checksum");
    emit_field("bad-stored-length", FRAME_AT_STORED_LENGTH, 4, STORE_RAW - 1,
               "not the sum of the table");
    emit_field("bad-chunk-empty", FRAME_AT_TABLE, 4, 0, "a chunk of no stored bytes");
    emit_field("bad-chunk-large", FRAME_AT_TABLE, 4, 4097, "a chunk of more stored than raw bytes");
    emit_field("bad-chunk-store-short", FRAME_AT_TABLE, 4, 4095,
               "store with fewer stored than raw bytes");
    emit_field("bad-chunk-checksum", FRAME_AT_TABLE + FRAME_ENTRY_AT_CHECKSUM, 1, 0,
               "the checksum of a chunk");
}

static void broken(void)
{
    size_t length = plain_store();

    emit_bad("bad-truncated-head", 60, "ends within the chunk table");
    emit_bad("bad-truncated-chunk", length - 1, "the last byte is missing");
    frame[length] = 0;
    emit_bad("bad-trailing", length + 1, "a byte behind the frame");
    frame[length - 1] ^= 0x80;
    emit_bad("bad-stored-bit", length, "a bit of a chunk");
    plain_store();
    frame[FRAME_AT_OFFSET] ^= 1;
    emit_bad("bad-head-bit", length, "a bit of the head");
    memset(raw, 7, 100);
    length = encode("store", 100, 12);
    bale_put16(frame + FRAME_AT_PARAMETER, 256 + 7);
    craft_seal_head(frame, 0);
    emit_bad("bad-zero-parameter", length, "zero with a parameter above 255");
    bale_put16(frame + FRAME_AT_PARAMETER, 8);
    craft_seal_head(frame, 0);
    emit_bad("bad-zero-checksum", length, "zero with the raw checksum of another value");
}

int main(int argc, char **argv)
{
    char path[4096];

    if (argc != 2)
        die("usage: generate DIRECTORY");
    directory = argv[1];
    snprintf(path, sizeof path, "%s/INDEX", directory);
    listing = fopen(path, "w");
    if (!listing || bale_scratch_create(&scratch) < 0)
        die(path);
    good_store_and_zero();
    good_libraries();
    good_zstd_by_hand();
    bad_zstd_headers();
    bad_zstd_bodies();
    lz4_by_hand();
    gpulz();
    culzss();
    heads();
    broken();
    bale_scratch_destroy(scratch);
    return fclose(listing) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
