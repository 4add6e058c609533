/* Damaged frames, and hostile ones whose checksums are right: refused, or decoded to the right
 * bytes; never a crash. Bytes lie in blocks of exactly their size, so that a sanitizer sees a
 * decoder that goes beyond. */
#include "format/err.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"
#include "tests/vectors/craft.h"

enum { RAW = 5000, CHUNKS = 2 };

static struct bale_scratch *scratch;

struct sample {
    uint8_t raw[RAW];
    uint8_t stored[RAW + 1000];
    size_t length;
    struct bale_frame frame;
};

static void make(struct sample *s, const char *text)
{
    struct bale_setting setting = codec_setting_parse(text);
    const struct codec_case *c = codec_case_of(setting.codec);

    s->frame = (struct bale_frame){.raw_length = RAW, .chunk_log2 = 12};
    if (c->fill)
        c->fill(9, s->raw, RAW);
    else
        data_fill(setting.codec == BALE_CODEC_STORE ? DATA_RANDOM : DATA_TEXT, 9, s->raw, RAW);
    REQUIRE(bale_frame_encode(scratch, setting, s->raw, &s->frame, s->stored, &s->length) ==
            BALE_OK);
}

static int decode(const uint8_t *in, size_t length, uint8_t *raw)
{
    uint8_t *exact = malloc(length > 0 ? length : 1);
    int err;

    REQUIRE(exact);
    if (length > 0)
        memcpy(exact, in, length);
    err = bale_frame_decode(scratch, exact, length, raw, RAW, NULL);
    free(exact);
    return err;
}

static bool refused(int err)
{
    return err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED;
}

static void test_bits(const struct sample *s)
{
    uint8_t *in = malloc(s->length);
    uint8_t *raw = malloc(RAW);

    REQUIRE(in && raw);
    memcpy(in, s->stored, s->length);
    for (size_t bit = 0; bit < 8 * s->length; bit++) {
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK(refused(decode(in, s->length, raw)));
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    CHECK_EQ(decode(in, s->length, raw), BALE_OK);
    free(raw);
    free(in);
}

static void test_truncated(const struct sample *s)
{
    uint8_t *raw = malloc(RAW);

    REQUIRE(raw);
    for (size_t length = 0; length < s->length; length++)
        CHECK(refused(decode(s->stored, length, raw)));
    free(raw);
}

/* Refused, or the right bytes after all. */
static void check_hostile(const struct sample *s, const uint8_t *in, size_t length)
{
    uint8_t *raw = malloc(RAW);
    int err;

    REQUIRE(raw);
    err = decode(in, length, raw);
    if (err == BALE_OK)
        CHECK_EQ_MEM(raw, s->raw, RAW);
    else
        CHECK(refused(err));
    free(raw);
}

/* Every bit behind the table, then random damage, each with checksums that hold. */
static void test_sealed(const struct sample *s)
{
    size_t head = s->frame.head_length;
    uint64_t state = 17;
    uint8_t *in = malloc(s->length);

    REQUIRE(in);
    memcpy(in, s->stored, s->length);
    for (size_t bit = 8 * head; bit < 8 * s->length; bit++) {
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
        craft_seal(in, s->frame.chunks);
        check_hostile(s, in, s->length);
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (int round = 0; round < 3000; round++) {
        memcpy(in, s->stored, s->length);
        for (uint64_t edits = 1 + data_next(&state) % 8; edits > 0; edits--)
            in[head + data_next(&state) % (s->length - head)] = (uint8_t)data_next(&state);
        craft_seal(in, s->frame.chunks);
        check_hostile(s, in, s->length);
    }
    free(in);
}

/* The first chunk of each length from 1 on, with what follows moved up. */
static void test_short_chunk(const struct sample *s)
{
    uint32_t stored = bale_frame_chunk(s->stored, &s->frame, 0).stored;
    size_t head = bale_frame_chunks_at(&s->frame);
    uint8_t *in = malloc(s->length);
    uint8_t *raw = malloc(RAW);

    REQUIRE(in && raw);
    for (uint32_t length = 1; length < stored; length++) {
        memcpy(in, s->stored, head + length);
        memcpy(in + head + length, s->stored + head + stored, s->length - head - stored);
        bale_put32(in + craft_at_chunk(in, 0), length);
        bale_put32(in + FRAME_AT_STORED_LENGTH, s->frame.stored_length - (stored - length));
        craft_seal(in, s->frame.chunks);
        CHECK(refused(decode(in, s->length - (stored - length), raw)));
    }
    free(raw);
    free(in);
}

/* Another codec's bytes under this codec's id. */
static void test_wrong_codec(const struct sample *s)
{
    uint8_t *in = malloc(s->length);

    REQUIRE(in);
    for (int id = 0; id < 256; id++) {
        if (id == s->frame.codec)
            continue;
        memcpy(in, s->stored, s->length);
        in[FRAME_AT_CODEC] = (uint8_t)id;
        if (bale_codec_has_part((uint8_t)id) == bale_codec_has_part(s->frame.codec))
            craft_seal(in, s->frame.chunks);
        else
            craft_seal_head(in, s->frame.chunks); /* whose table has other entries */
        check_hostile(s, in, s->length);
    }
    free(in);
}

static void test_chunk(const struct sample *s)
{
    const uint32_t last = s->frame.chunks - 1;
    uint32_t stored = bale_frame_chunk(s->stored, &s->frame, last).stored;
    uint32_t raw_length = bale_frame_chunk_raw(&s->frame, last);
    uint8_t *in = malloc(stored);
    uint8_t *raw = malloc(raw_length);
    struct bale_wanted all = {0, raw_length};

    REQUIRE(in && raw);
    memcpy(in, s->stored + s->length - stored, stored);
    CHECK_EQ(bale_frame_decode_chunk(scratch, s->stored, &s->frame, last,
                                     s->stored + s->frame.head_length, in, raw, all),
             BALE_OK);
    CHECK_EQ_MEM(raw, s->raw + RAW - raw_length, raw_length);
    for (size_t bit = 0; bit < 8 * (size_t)stored; bit += 7) {
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
        CHECK_EQ(bale_frame_decode_chunk(scratch, s->stored, &s->frame, last,
                                         s->stored + s->frame.head_length, in, raw, all),
                 BALE_E_CORRUPT);
        in[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(raw);
    free(in);
}

/* A codec by itself, without checksums around it, takes a chunk for exactly its raw length and all
 * its stored bytes. */
static void test_codec_length(const struct sample *s)
{
    const struct bale_codec *codec = bale_codec_find(s->frame.codec);
    const struct bale_extent_part part = {s->stored + s->frame.head_length, s->frame.part.stored};
    const uint8_t *in = s->stored + bale_frame_chunks_at(&s->frame);
    uint32_t stored = bale_frame_chunk(s->stored, &s->frame, 0).stored;
    uint32_t size = bale_frame_chunk_raw(&s->frame, 0);
    int16_t parameter = (int16_t)s->frame.parameter;
    uint8_t raw[RAW];

    if (!codec->decode)
        return;
    CHECK_EQ(codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored, raw,
                           size, size, (struct bale_wanted){0, size}),
             BALE_OK);
    CHECK_EQ_MEM(raw, s->raw, size);
    CHECK_EQ(codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored, raw,
                           size + 1, 2 * size, (struct bale_wanted){0, size + 1}),
             BALE_E_CORRUPT);
    CHECK_EQ(codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored, raw,
                           size - 1, size, (struct bale_wanted){0, size - 1}),
             BALE_E_CORRUPT);
    CHECK_EQ(codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored - 1,
                           raw, size, size, (struct bale_wanted){0, size}),
             BALE_E_CORRUPT);
    CHECK_EQ(codec->decode(bale_scratch_work(scratch, codec->id), parameter, part, in, stored + 1,
                           raw, size, size, (struct bale_wanted){0, size}),
             BALE_E_CORRUPT);
}

/* The raw checksum is checked even if all stored bytes are right. */
static void test_raw_checksum(struct sample *s)
{
    uint8_t raw[RAW];

    s->stored[FRAME_AT_RAW_CHECKSUM] ^= 1;
    craft_seal_head(s->stored, s->frame.chunks);
    CHECK_EQ(decode(s->stored, s->length, raw), BALE_E_CORRUPT);
}

static void test_zero(void)
{
    struct sample s = {.frame = {.raw_length = RAW, .chunk_log2 = 12}};

    memset(s.raw, 'q', RAW);
    REQUIRE(bale_frame_encode(scratch, (struct bale_setting){.codec = BALE_CODEC_AUTO}, s.raw,
                              &s.frame, s.stored, &s.length) == BALE_OK);
    CHECK_EQ_U(s.length, FRAME_HEAD_MIN);
    test_bits(&s);
    test_truncated(&s);
    test_raw_checksum(&s);
}

int main(void)
{
    static struct sample s;
    const char *text;
    uint32_t last;

    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    for (size_t i = 0; (text = codec_settings_next(SETTINGS_DAMAGE, &i)) != NULL;) {
        make(&s, text);
        last = s.frame.chunks - 1; /* a codec of fields has larger chunks than it was asked for */
        REQUIRE(bale_codec_has_cells(s.frame.codec) ? last == 0 : s.frame.chunks == CHUNKS);
        CHECK(s.frame.codec == BALE_CODEC_STORE ||
              bale_frame_chunk(s.stored, &s.frame, last).stored <
                  bale_frame_chunk_raw(&s.frame, last));
        test_bits(&s);
        test_truncated(&s);
        test_sealed(&s);
        test_short_chunk(&s);
        test_wrong_codec(&s);
        test_chunk(&s);
        test_codec_length(&s);
        test_raw_checksum(&s);
    }
    test_zero();
    bale_scratch_destroy(scratch);
    return check_result();
}
