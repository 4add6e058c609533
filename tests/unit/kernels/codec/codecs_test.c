/* Every codec with its case (tests/codecs/cases.h): streams made by hand are decoded or refused;
 * data that strains it comes back; settings from its options; a damaged stream gets one of two
 * answers. Bytes lie in blocks of exactly their size, so that a sanitizer sees any excess. */
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "tests/codecs/cases.h"
#include "tests/vectors/craft.h"

enum { LENGTH_MAX = 70000, DAMAGE_LENGTH = 9001, DAMAGE_ROUNDS = 4000 };

static struct bale_scratch *scratch;

static uint8_t *allocate(size_t length)
{
    uint8_t *block = malloc(length > 0 ? length : 1);

    REQUIRE(block);
    return block;
}

static uint8_t *copy_of(const void *bytes, size_t length)
{
    uint8_t *copy = allocate(length);

    if (length > 0)
        memcpy(copy, bytes, length);
    return copy;
}

static int decode(const uint8_t *in, size_t length, uint8_t *raw, uint32_t raw_length)
{
    uint8_t *exact = copy_of(in, length);
    int err = bale_frame_decode(scratch, exact, length, raw, raw_length, NULL);

    free(exact);
    return err;
}

/* ---- Streams made by hand ---- */

struct streams {
    const struct codec_case *c;
    unsigned good, bad;
};

static void check_stream(void *arg, const struct codec_stream *stream)
{
    struct streams *streams = arg;
    uint8_t *frame = allocate(CRAFT_HEAD_MAX + stream->part_length + stream->length);
    size_t length = craft_frame(streams->c->id, stream, frame);
    uint8_t *raw = allocate(stream->raw_length);
    bool ok = CHECK_EQ(decode(frame, length, raw, stream->raw_length),
                       stream->good ? BALE_OK : BALE_E_CORRUPT);

    if (ok && stream->good)
        ok = CHECK_EQ_MEM(raw, stream->raw, stream->raw_length);
    if (!ok)
        fprintf(stderr, "    %s, parameter %04x: %s (%u bytes for %u)\n",
                bale_codec_name(streams->c->id), stream->parameter, stream->what, stream->length,
                stream->raw_length);
    *(stream->good ? &streams->good : &streams->bad) += 1;
    free(raw);
    free(frame);
}

static void test_streams(const struct codec_case *c)
{
    struct streams streams = {.c = c};

    codec_case_streams(c, check_stream, &streams);
    if (!CHECK(streams.good > 0 && streams.bad > 0))
        fprintf(stderr, "    %s has no streams\n", bale_codec_name(c->id));
}

/* ---- Data ---- */

/* The frame of the bytes, which must decode to them; *length is its length. */
static uint8_t *round_trip(struct bale_setting setting, const uint8_t *bytes, uint32_t raw_length,
                           size_t *length)
{
    struct bale_frame frame = {.raw_length = raw_length, .chunk_log2 = 16};
    uint8_t *raw = copy_of(bytes, raw_length);
    uint8_t *out = allocate(bale_frame_bound(raw_length, frame.chunk_log2));

    REQUIRE(bale_frame_encode(scratch, setting, raw, &frame, out, length) == BALE_OK);
    memset(raw, 0xa5, raw_length);
    CHECK_EQ(decode(out, *length, raw, raw_length), BALE_OK);
    CHECK_EQ_MEM(raw, bytes, raw_length);
    free(raw);
    return out;
}

/* Every kind of data with each setting that the options can spell, at its limits. */
static void test_grid(const struct codec_case *c)
{
    static const uint32_t lengths[] = {1, 40, 4097, 65536, LENGTH_MAX};
    enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
    uint8_t *data = allocate(LENGTH_MAX);
    struct bale_setting setting;
    unsigned n = 0;
    size_t length;

    for (; codec_grid(c->id, n, &setting); n++)
        for (unsigned kind = 0; kind < codec_case_kinds(c); kind++) {
            uint32_t raw_length = lengths[(n + kind) % LENGTHS];
            codec_case_fill(c, kind, data, raw_length);
            free(round_trip(setting, data, raw_length, &length));
        }
    CHECK(n > 0);
    free(data);
}

/* A frame with damage in its chunks and checksums that match: the decoder answers, and stays within
 * its blocks. */
static void check_damage(struct bale_setting setting, const uint8_t *data, uint64_t *state)
{
    uint8_t *raw = allocate(DAMAGE_LENGTH);
    size_t length, head = craft_head(setting.codec);
    uint8_t *frame = round_trip(setting, data, DAMAGE_LENGTH, &length);
    uint8_t *in = allocate(length);

    CHECK(length < DAMAGE_LENGTH);
    for (int round = 0; round < DAMAGE_ROUNDS && length > head; round++) {
        size_t some = round % 2 || length < head + 40 ? length - head : 40;
        memcpy(in, frame, length);
        for (uint64_t edits = 1 + data_next(state) % 6; edits > 0; edits--)
            in[head + data_next(state) % some] = (uint8_t)data_next(state);
        craft_seal(in, 1);
        int err = decode(in, length, raw, DAMAGE_LENGTH);
        CHECK(err == BALE_E_CORRUPT || (err == BALE_OK && memcmp(raw, data, DAMAGE_LENGTH) == 0));
    }
    free(in);
    free(frame);
    free(raw);
}

static void test_damage(const struct codec_case *c)
{
    uint8_t *data = allocate(DAMAGE_LENGTH);
    uint64_t state = 5;
    const char *text;

    if (c->fill)
        c->fill(7, data, DAMAGE_LENGTH);
    else
        data_fill(DATA_TEXT, 7, data, DAMAGE_LENGTH);
    for (size_t s = 0; (text = codec_settings_next(SETTINGS_DAMAGE, &s)) != NULL;)
        if (codec_setting_parse(text).codec == c->id)
            check_damage(codec_setting_parse(text), data, &state);
    free(data);
}

int main(void)
{
    const struct codec_case *c;

    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    for (size_t i = 0; (c = codec_case_at(i)); i++) {
        if (bale_codec_about(c->id)->built_in)
            continue;
        test_streams(c);
        test_grid(c);
        test_damage(c);
    }
    bale_scratch_destroy(scratch);
    return check_result();
}
