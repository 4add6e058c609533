/* generate DIRECTORY: writes the frame vectors and their INDEX. README says what they are for.
 *
 * Everything follows from the numbers here; only what liblz4 and libzstd emit may differ with their
 * version. */
#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"
#include "tests/vectors/craft.h"

enum { STORE_RAW = 4200 };

static struct bale_scratch *scratch;
static const char *directory;
static FILE *listing;
static uint8_t raw[SAMPLE_MAX];
static uint8_t frame[SAMPLE_MAX + 1000];

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "generate: %s\n", what);
    exit(EXIT_FAILURE);
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

static void emit_bad(const char *name, size_t length, const char *what)
{
    write_file(name, "frame", frame, length);
    fprintf(listing, "%s: %s\n", name, what);
}

static void emit_good(const char *name, size_t length, size_t raw_length, const char *what)
{
    emit_bad(name, length, what);
    write_file(name, "raw", raw, raw_length);
}

/* Encodes raw[0, raw_length) by a setting into frame; returns the frame's length. */
static size_t encode(const char *text, uint32_t raw_length, uint8_t chunk_log2)
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
    sample_random(raw, SAMPLE_MAX);
    emit_good("good-store-3", encode("store", 3, 26), 3, "three bytes, the largest chunk size");
    emit_good("good-store-9000", encode("store", 9000, 12), 9000,
              "three chunks, the last one short");
    emit_good("good-store-8192", encode("store", 8192, 12), 8192, "two full chunks");
}

/* ---- The codecs with directories ---- */

static const char *name_of(char name[64], bool good, const struct codec_case *c, const char *what)
{
    snprintf(name, 64, "%s-%s-%s", good ? "good" : "bad", bale_codec_name(c->id), what);
    return name;
}

static void emit_samples(const struct codec_case *c)
{
    char name[64];

    for (const struct codec_sample *s = c->samples; s && s->name; s++) {
        s->fill(raw, s->raw_length);
        emit_good(name_of(name, true, c, s->name), encode(s->setting, s->raw_length, s->chunk_log2),
                  s->raw_length, s->what);
    }
}

static void emit_stream(void *arg, const struct codec_stream *stream)
{
    const struct codec_case *c = arg;
    char name[64];

    if (!stream->name)
        return;
    size_t length = craft_frame(c->id, stream, frame);
    name_of(name, stream->good, c, stream->name);
    emit_bad(name, length, stream->what);
    if (stream->good)
        write_file(name, "raw", stream->raw, stream->raw_length);
}

/* ---- Heads ---- */

/* A frame of store with two chunks of 4096 and 104 random bytes. */
static size_t plain_store(void)
{
    sample_random(raw, STORE_RAW);
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

/* A frame of fsst with two chunks, of which the table has an extent part, too. */
static size_t plain_part(void)
{
    sample_text(raw, STORE_RAW);
    return encode("fsst", STORE_RAW, 12);
}

/* The same with another length of the part, its checksum, and the sum of all. */
static void emit_part(const char *name, uint32_t length, uint64_t checksum, uint32_t more,
                      const char *what)
{
    size_t frame_length = plain_part();
    uint32_t before = bale_get32(frame + FRAME_AT_TABLE);
    uint32_t sum = bale_get32(frame + FRAME_AT_STORED_LENGTH);

    bale_put32(frame + FRAME_AT_TABLE, length);
    bale_put64(frame + FRAME_AT_TABLE + FRAME_ENTRY_AT_CHECKSUM, checksum);
    bale_put32(frame + FRAME_AT_STORED_LENGTH, sum - before + length + more);
    craft_seal_head(frame, 2);
    emit_bad(name, frame_length - before + length + more, what);
}

static void parts(void)
{
    size_t length = plain_part();
    size_t at = FRAME_HEAD_MIN + 3 * FRAME_ENTRY_SIZE;

    frame[at] ^= 1;
    emit_bad("bad-part-bit", length, "a bit of the extent part");
    emit_part("bad-part-large", STORE_RAW / 8 + 1, 1, 0, "an extent part of more than an eighth");
    emit_part("bad-part-none", 0, bale_hash(raw, 0) ^ 1, 0,
              "an extent part of no bytes with another checksum than theirs");
    emit_part("bad-part-sum", 100, 1, 1, "not the sum of part and chunks");
    length = plain_part();
    bale_put32(frame + craft_at_chunk(frame, 0), 4096);
    bale_put32(frame + FRAME_AT_STORED_LENGTH, bale_get32(frame + FRAME_AT_TABLE) + 4096 +
                                                   bale_get32(frame + craft_at_chunk(frame, 1)));
    craft_seal_head(frame, 2);
    emit_bad("bad-part-gain", length, "part and chunks are too long together");
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
    const struct codec_case *c;
    char path[4096];

    if (argc != 2)
        die("usage: generate DIRECTORY");
    directory = argv[1];
    snprintf(path, sizeof path, "%s/INDEX", directory);
    listing = fopen(path, "w");
    if (!listing || bale_scratch_create(&scratch) < 0)
        die(path);
    good_store_and_zero();
    for (size_t i = 0; (c = codec_case_at(i)); i++) {
        emit_samples(c);
        codec_case_streams(c, emit_stream, (void *)c);
    }
    heads();
    parts();
    broken();
    bale_scratch_destroy(scratch);
    return fclose(listing) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
