#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"

static const struct codec_setting settings[] = {{"fsst", SETTINGS_ALL}, {.text = NULL}};

static void mixed_text(uint8_t *raw, size_t length)
{
    sample_text(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"text", "fsst", 70000, 16, sample_text, "text, two chunks that share the symbols"},
    {"small", "fsst", 1500, 16, sample_text, "the part has room for few symbols"},
    {"numbers", "fsst", 40001, 15, sample_numbers, "numbers of eight bytes, and one byte"},
    {"mixed", "fsst", 12000, 12, mixed_text, "the second chunk is stored raw"},
    {.name = NULL},
};

/* ---- Streams: kernels/fsst/spec.md ---- */

enum {
    Q, /* codes of the symbols "q", "xyz" and "abcdefgh" */
    XYZ,
    EIGHT,
    NO_SYMBOL,
    ESCAPE = 255,
    SPLITS = 3,
    RAW_MAX = 1100,
    AT_WIDTH = 2,
    AT_LENGTHS = 3,
};

/* A run of codes: so often EIGHT, XYZ, Q, then a byte after an escape if there is one. */
struct split {
    unsigned eights, xyzs, qs;
    uint8_t literal; /* 0: none */
};

struct plan {
    struct split splits[SPLITS];
    unsigned count;
    uint8_t width; /* of the lengths */
};

static void add_part(struct codec_bytes *b)
{
    static const uint8_t counts[8] = {1, 0, 1, 0, 0, 0, 0, 1};

    bytes_add(b, counts, sizeof counts);
    bytes_add(b, "qxyzabcdefgh", 12);
}

static void add_codes(struct codec_bytes *b, unsigned code, unsigned count)
{
    while (count-- > 0)
        bytes_add_number(b, code, 1);
}

static unsigned codes_of(const struct split *s)
{
    return s->eights + s->xyzs + s->qs + (s->literal ? 2 : 0);
}

static void add_lengths(struct codec_bytes *b, const struct plan *p)
{
    unsigned least = codes_of(&p->splits[0]);
    uint32_t bits = 0;

    for (unsigned i = 1; i < p->count; i++)
        least = codes_of(&p->splits[i]) < least ? codes_of(&p->splits[i]) : least;
    bytes_add_number(b, least, 2);
    bytes_add_number(b, p->width, 1);
    for (unsigned i = 0; i < p->count; i++)
        bits |= (codes_of(&p->splits[i]) - least) << i * p->width;
    bytes_add_number(b, bits, (int)(p->count * p->width + 7) / 8);
}

static struct codec_bytes build(const struct plan *p)
{
    struct codec_bytes b = {.length = 0};

    add_lengths(&b, p);
    for (unsigned i = 0; i < p->count; i++) {
        const struct split *s = &p->splits[i];
        add_codes(&b, EIGHT, s->eights);
        add_codes(&b, XYZ, s->xyzs);
        add_codes(&b, Q, s->qs);
        add_codes(&b, ESCAPE, s->literal ? 1 : 0);
        add_codes(&b, s->literal, s->literal ? 1 : 0);
    }
    return b;
}

static uint32_t expand(const struct plan *p, uint8_t *raw)
{
    struct codec_bytes b = {.length = 0};

    for (unsigned i = 0; i < p->count; i++) {
        const struct split *s = &p->splits[i];
        for (unsigned n = 0; n < s->eights; n++)
            bytes_add(&b, "abcdefgh", 8);
        for (unsigned n = 0; n < s->xyzs; n++)
            bytes_add(&b, "xyz", 3);
        add_codes(&b, 'q', s->qs);
        add_codes(&b, s->literal, s->literal ? 1 : 0);
    }
    memcpy(raw, b.data, b.length);
    return b.length;
}

/* Whom the streams are for. */
struct visitor {
    codec_stream_visit *visit;
    void *arg;
};

/* as: the plan whose raw bytes the stream should stand for. */
static void show(const struct visitor *to, bool good, const char *name, const char *what,
                 const struct codec_bytes *part, const struct codec_bytes *b, const struct plan *as)
{
    uint8_t raw[RAW_MAX + 1] = {0};
    struct codec_stream stream = {.name = name,
                                  .what = what,
                                  .good = good,
                                  .part = part->data,
                                  .part_length = part->length,
                                  .stored = b->data,
                                  .length = b->length,
                                  .raw = raw};

    stream.raw_length = expand(as, raw);
    to->visit(to->arg, &stream);
}

/* spec.md's example. */
static const struct plan one = {.splits = {{20, 1, 1, '!'}}, .count = 1};

static const struct plan three = {
    .splits = {{64, 0, 0, 0}, {63, 2, 1, '?'}, {9, 0, 3, '.'}}, .count = 3, .width = 6};

static void good_streams(const struct visitor *to)
{
    struct codec_bytes part = {.length = 0}, b = build(&one);

    add_part(&part);
    show(to, true, "one-by-hand", "one split", &part, &b, &one);
    b = build(&three);
    show(to, true, "three-by-hand", "three splits of different lengths", &part, &b, &three);
}

/* A good plan with one change. */
static void bad_plans(const struct visitor *to)
{
    struct codec_bytes part = {.length = 0}, b;
    struct plan p = three;

    add_part(&part);
    p.splits[0] = (struct split){63, 2, 1, 0};
    p.splits[1] = (struct split){64, 0, 0, '?'};
    b = build(&p);
    show(to, false, "split-less", "a split of 511 bytes, and one of 513", &part, &b, &three);
    p = three, p.splits[0] = (struct split){63, 3, 0, 0},
    p.splits[1] = (struct split){63, 2, 0, '?'};
    b = build(&p);
    show(to, false, "split-more", "a symbol over the end of a split", &part, &b, &three);
    p = one, p.splits[0].literal = 0, p.splits[0].qs = 2;
    b = build(&p);
    b.data[b.length - 1] = NO_SYMBOL;
    show(to, false, "code", "a code without a symbol", &part, &b, &one);
    b.data[b.length - 1] = ESCAPE;
    show(to, false, "escape", "an escape is the last byte", &part, &b, &one);
    p = three, p.width = 11;
    b = build(&p);
    show(to, false, "width", "lengths of 11 bits", &part, &b, &three);
}

/* The streams of the plans with a byte changed. */
static void bad_bytes(const struct visitor *to)
{
    struct codec_bytes part = {.length = 0}, b = build(&three);

    add_part(&part);
    b.data[AT_LENGTHS + 2] |= 0x80;
    show(to, false, "spare", "a spare bit behind the lengths", &part, &b, &three);
    b = build(&three);
    b.data[0]++;
    show(to, false, "lengths-more", "lengths that add up to more", &part, &b, &three);
    b.data[0] -= 2;
    show(to, false, "lengths-less", "lengths that add up to less", &part, &b, &three);
    b = build(&one);
    b.data[AT_WIDTH] = 1;
    show(to, false, "lengths-missing", "lengths that take a code's place", &part, &b, &one);
}

/* A good stream with another part. */
static void bad_parts(const struct visitor *to)
{
    static const uint8_t other[] = {0,   1,   1,   0,   0,   0,   0,   1,   'q', 'q', 'x',
                                    'y', 'z', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
    struct codec_bytes part = {.length = 0}, b = build(&one);

    show(to, false, "part-missing", "the part is missing", &part, &b, &one);
    bytes_add_number(&part, 1, 1);
    bytes_add_number(&part, 'q', 1);
    show(to, false, "part-short", "a part without its eight counts", &part, &b, &one);
    part.length = 0;
    add_part(&part);
    part.length--;
    show(to, false, "part-less", "a symbol of the part ends behind it", &part, &b, &one);
    part.length += 2;
    show(to, false, "part-more", "a byte behind the symbols of the part", &part, &b, &one);
    part.length = 0;
    bytes_add(&part, other, sizeof other);
    show(to, false, "part-other", "the part of another extent", &part, &b, &one);
}

/* 256 symbols, in a chunk that is long enough for their part. */
static void too_many_symbols(const struct visitor *to)
{
    enum { RAW = 2560 };
    struct codec_bytes part = {.length = 0}, b = {.length = 0};
    uint8_t raw[RAW + 1];
    struct codec_stream stream = {.name = "symbols",
                                  .what = "256 symbols",
                                  .part = part.data,
                                  .stored = b.data,
                                  .raw = raw,
                                  .raw_length = RAW};

    bytes_add_number(&part, 255, 1);
    bytes_add_number(&part, 1, 1);
    for (int zeros = 0; zeros < 6; zeros++)
        bytes_add_number(&part, 0, 1);
    for (unsigned i = 0; i < 255; i++)
        bytes_add_number(&part, i, 1);
    bytes_add(&part, "aa", 2);
    bytes_add_number(&b, 256, 2);
    bytes_add_number(&b, 0, 1);
    add_codes(&b, 255 - 1, RAW / 2);
    memset(raw, 'a', sizeof raw);
    stream.part_length = part.length;
    stream.length = b.length;
    to->visit(to->arg, &stream);
}

static void streams(codec_stream_visit *visit, void *arg)
{
    const struct visitor to = {visit, arg};

    good_streams(&to);
    bad_plans(&to);
    bad_bytes(&to);
    bad_parts(&to);
    too_many_symbols(&to);
}

/* A short chunk has no room for symbols. */
extern const struct codec_case codec_case_fsst;
const struct codec_case codec_case_fsst = {
    .id = BALE_CODEC_FSST,
    .defined = true,
    .least = 300,
    .settings = settings,
    .setting_parameters = 1,
    .frame_parameters = 1,
    .samples = samples,
    .streams = streams,
};
