/* Parts of chunks: any range of any chunk of every codec is what the whole chunk has there. Of a
 * damaged chunk it is BALE_E_CORRUPT or some bytes. Bytes lie in blocks of exactly their size, so
 * that a sanitizer sees a decoder that goes beyond. */
#include "format/err.h"
#include "kernels/frame/registry.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/codecs/data.h"

enum { MOST = 300000, RANGES = 40, DAMAGES = 120 };

static struct bale_scratch *scratch;
static uint64_t state = 5;

/* A chunk and its stream. */
struct chunk {
    const struct bale_codec *codec;
    int16_t parameter;
    struct bale_extent_part part; /* bytes lie in a block of their own, or are NULL */
    uint8_t *raw;
    uint32_t raw_length;
    uint32_t chunk_size;
    uint8_t *in;
    uint32_t length;
};

static uint32_t below(uint32_t n)
{
    return (uint32_t)(data_next(&state) % n);
}

static void *copy_of(const void *bytes, size_t length)
{
    void *copy = malloc(length);

    REQUIRE(copy);
    return memcpy(copy, bytes, length);
}

/* False: the chunk does not shrink, and has no stream. */
static bool make_chunk(struct chunk *c, const char *text, enum data_kind kind, uint32_t raw_length)
{
    static uint8_t raw[MOST], out[MOST], room[CODEC_PART_MAX];
    struct bale_setting setting = codec_setting_parse(text);

    data_fill(kind, raw_length, raw, raw_length);
    setting = bale_setting_choose(scratch, setting, raw, raw_length, BALE_CHUNK_LOG2_DEFAULT);
    *c = (struct chunk){.codec = bale_codec_find(setting.codec),
                        .parameter = setting.parameter,
                        .raw_length = raw_length,
                        .chunk_size = 4096};
    while (c->chunk_size < raw_length)
        c->chunk_size *= 2;
    void *work = bale_scratch_work(scratch, c->codec->id);
    c->part = codec_case_part(c->codec, work, c->parameter, raw, raw_length, room);
    int64_t length = c->codec->encode ? c->codec->encode(work, c->parameter, c->part, raw,
                                                         raw_length, out, raw_length - 1)
                                      : 0;
    if (length <= 0)
        return false;
    if (c->part.length > 0)
        c->part.bytes = copy_of(room, c->part.length);
    c->length = (uint32_t)length;
    c->raw = copy_of(raw, raw_length);
    c->in = copy_of(out, c->length);
    return true;
}

static void drop_chunk(struct chunk *c)
{
    free((void *)c->part.bytes);
    free(c->raw);
    free(c->in);
}

static int decode(const struct chunk *c, const uint8_t *in, uint32_t length, uint8_t *raw,
                  struct bale_wanted wanted)
{
    return c->codec->decode(bale_scratch_work(scratch, c->codec->id), c->parameter, c->part, in,
                            length, raw, c->raw_length, c->chunk_size, wanted);
}

static void check_range(const struct chunk *c, struct bale_wanted wanted)
{
    uint8_t *raw = malloc(c->raw_length);
    bool fine;

    REQUIRE(raw);
    memset(raw, 0xa5, c->raw_length);
    fine = CHECK_EQ(decode(c, c->in, c->length, raw, wanted), BALE_OK) &&
           CHECK_EQ_MEM(raw + wanted.from, c->raw + wanted.from, wanted.to - wanted.from);
    if (!fine)
        fprintf(stderr, "%s, parameter %d: bytes %u to %u of %u\n", c->codec->name, c->parameter,
                wanted.from, wanted.to, c->raw_length);
    free(raw);
}

static struct bale_wanted random_range(const struct chunk *c)
{
    uint32_t from = below(c->raw_length);
    uint32_t most = below(2) ? c->raw_length - from : 5000;

    if (most > c->raw_length - from)
        most = c->raw_length - from;
    return (struct bale_wanted){from, from + 1 + below(most)};
}

/* At the ends, at blocks of 4 KiB and beside them, and anywhere. */
static void check_ranges(const struct chunk *c)
{
    uint32_t n = c->raw_length;

    check_range(c, (struct bale_wanted){0, n});
    check_range(c, (struct bale_wanted){0, 1});
    check_range(c, (struct bale_wanted){n - 1, n});
    check_range(c, (struct bale_wanted){0, n - 1});
    check_range(c, (struct bale_wanted){1, n});
    for (uint32_t at = 4096; at < n; at += 4096 * (1 + at / 32768)) {
        check_range(c, (struct bale_wanted){at - 1, at});
        check_range(c, (struct bale_wanted){at, at + 4096 < n ? at + 4096 : n});
        check_range(c, (struct bale_wanted){at - 1, at + 1});
    }
    for (int i = 0; i < RANGES; i++)
        check_range(c, random_range(c));
}

static void check_damaged(const struct chunk *c)
{
    uint8_t *raw = malloc(c->raw_length);

    REQUIRE(raw);
    for (int round = 0; round < DAMAGES; round++) {
        uint8_t *in = copy_of(c->in, c->length);
        uint32_t length = round % 4 ? c->length : 1 + below(c->length);
        for (uint32_t edits = 1 + below(6); edits > 0; edits--)
            in[below(round % 2 || c->length < 64 ? c->length : 64)] = (uint8_t)data_next(&state);
        uint8_t *exact = copy_of(in, length);
        int err = decode(c, exact, length, raw, random_range(c));
        CHECK(err == BALE_OK || err == BALE_E_CORRUPT);
        free(exact);
        free(in);
    }
    free(raw);
}

static void test_setting(const char *text)
{
    static const uint32_t lengths[] = {200, 4096, 9001, 65536, MOST};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int kind = DATA_TEXT; kind < DATA_KINDS; kind++) {
            struct chunk c;
            if (!make_chunk(&c, text, (enum data_kind)kind, lengths[i]))
                continue;
            check_ranges(&c);
            check_damaged(&c);
            drop_chunk(&c);
        }
}

/* A decoder stops when it has what is wanted: damage behind that does not matter. */
static void test_stops(const char *text)
{
    struct chunk c;
    uint8_t *raw = malloc(MOST);

    REQUIRE(raw && make_chunk(&c, text, DATA_TEXT, MOST));
    memset(c.in + c.length - c.length / 16, 0xff, c.length / 16);
    CHECK_EQ(decode(&c, c.in, c.length, raw, (struct bale_wanted){0, MOST}), BALE_E_CORRUPT);
    check_range(&c, (struct bale_wanted){0, 4096});
    check_range(&c, (struct bale_wanted){100000, 110000});
    free(raw);
    drop_chunk(&c);
}

/* Pieces before those that are wanted are not decoded either. */
static void test_skips(const char *text)
{
    uint32_t counts_and_flags;
    struct chunk c;
    uint8_t *raw = malloc(MOST);

    REQUIRE(raw && make_chunk(&c, text, DATA_TEXT, MOST));
    counts_and_flags = MOST / 4; /* more than there are */
    REQUIRE(counts_and_flags < c.length / 2);
    memset(c.in + counts_and_flags, 0xff, 1000);
    CHECK_EQ(decode(&c, c.in, c.length, raw, (struct bale_wanted){0, MOST}), BALE_E_CORRUPT);
    check_range(&c, (struct bale_wanted){MOST - 5000, MOST});
    free(raw);
    drop_chunk(&c);
}

int main(void)
{
    const char *text;

    REQUIRE(bale_scratch_create(&scratch) == BALE_OK);
    for (size_t i = 0; (text = codec_settings_next(SETTINGS_ALL, &i));)
        if (codec_setting_parse(text).codec != BALE_CODEC_AUTO)
            test_setting(text);
    test_stops("lz4");
    test_stops("zstd:1");
    test_stops("gpulz:s=1");
    test_stops("culzss");
    test_skips("gpulz:s=1");
    test_skips("culzss");
    bale_scratch_destroy(scratch);
    return check_result();
}
