/* Streams of cusz, made by hand: good ones, and each that breaks a rule (kernels/cusz/spec.md). */
#include "tests/codecs/streams.h"

#include "tests/codecs/bytes.h"

/* Bits from the highest of a byte on. */
static void add_bits(struct codec_bytes *b, uint32_t *held, const char *bits)
{
    for (; *bits; bits++) {
        if (*bits == ' ')
            continue;
        if (*held % 8 == 0)
            b->data[b->length++] = 0;
        if (*bits == '1')
            b->data[b->length - 1] |= (uint8_t)(0x80 >> *held % 8);
        ++*held;
    }
}

static unsigned bits_in(const char *bits)
{
    unsigned count = 0;

    for (; *bits; bits++)
        count += *bits != ' ';
    return count;
}

/* Tokens 0 to 12 have their numbers as codes of 4 bits, and 13 to 17 and 143 codes of 5. */
static void add_part(struct codec_bytes *part, unsigned flags, unsigned lead)
{
    static const uint8_t lengths[] = {0x44, 0x44, 0x44, 0x44, 0x44, 0x44, 0x54, 0x55, 0x55,
                                      0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xf0, 0xc0, 0x05};
    const uint64_t step = UINT64_C(0x3fe0000000000000); /* 0.5 */

    part->length = 0;
    bytes_add_number(part, flags, 1);
    bytes_add_number(part, lead, 1);
    bytes_add_number(part, (uint32_t)step, 4);
    bytes_add_number(part, (uint32_t)(step >> 32), 4);
    bytes_add(part, lengths, sizeof lengths);
}
enum { AT_FLAGS, AT_LEAD, AT_STEP, AT_CODES = 10 };

/* A stream and what it stands for. */
struct plan {
    struct codec_bytes part, b;
    uint8_t raw[2400];
    uint32_t raw_length;
};
enum { ELEMENTS = 275, LONG = 256, LONG_BITS = 48 };

static void add_float(struct plan *p, float x)
{
    memcpy(p->raw + p->raw_length, &x, 4);
    p->raw_length += 4;
}

/* Order 1: 0, -1, 0, 64 and on, 63 and on; with a lead, a tail and two listed elements. */
static void plan_make(struct plan *p, bool lists)
{
    uint32_t held = 0;

    *p = (struct plan){.raw_length = 0};
    add_part(&p->part, 1 << 2, lists ? 1 : 0);
    bytes_add_number(&p->b, lists ? 8 + 128 : 8, 1);
    if (lists) {
        bytes_add_number(&p->b, 2, 4);
        bytes_add(&p->b, "dend", 4);
        p->raw[p->raw_length++] = 'd';
    }
    bytes_add_number(&p->b, LONG_BITS, 2);
    bytes_add_number(&p->b, 13, 2);
    add_bits(&p->b, &held, "0000 11101 11110 11111 00000");  /* 0, -1, 1, 64 */
    add_bits(&p->b, &held, "0111 0110 0101 0100 0011 0010"); /* 252 zeros */
    add_bits(&p->b, &held, "11101 0100 0001");               /* -1, 18 zeros */
    add_float(p, 0), add_float(p, -0.5f), add_float(p, 0);
    for (int i = 3; i < LONG; i++)
        add_float(p, 32);
    for (int i = LONG; i < ELEMENTS; i++)
        add_float(p, 31.5f);
    if (lists) {
        const float listed[2] = {31.6f, 31.4f};
        bytes_add_number(&p->b, ELEMENTS - 3, 4);
        bytes_add_number(&p->b, ELEMENTS - 1, 4);
        bytes_add(&p->b, listed, sizeof listed);
        memcpy(p->raw + 1 + 4 * (ELEMENTS - 3), &listed[0], 4);
        memcpy(p->raw + 1 + 4 * (ELEMENTS - 1), &listed[1], 4);
        memcpy(p->raw + p->raw_length, "end", 3);
        p->raw_length += 3;
    }
}

/* The same where low bits of runs follow; flags: beside the lead. */
static void plan_coded(struct plan *p, unsigned flags, const char *first, const char *second)
{
    uint32_t held = 0;

    plan_make(p, false);
    p->part.data[AT_LEAD] = (uint8_t)flags;
    p->b.length = 0;
    bytes_add_number(&p->b, 8, 1);
    bytes_add_number(&p->b, bits_in(first), 2);
    bytes_add_number(&p->b, bits_in(second), 2);
    add_bits(&p->b, &held, first);
    add_bits(&p->b, &held, second);
}

static void plan_low_runs(struct plan *p, const char *second)
{
    plan_coded(p, 128,
               "0000 11101 11110 11111 00000" /* 0, -1, 1, 64 */
               "0111 1111100",                /* 252 zeros */
               second);
}

/* 0, -1, 0, -65 and on, -66 and on, with words that are turned. */
static void plan_turned(struct plan *p)
{
    plan_coded(p, 128 + 64,
               "0000 11101 11101"          /* 0, -1, and 1 as -1 */
               "11111 00001 0111 1111100", /* -65, 252 zeros */
               "11101 0100 0010");         /* another group: -1, 18 zeros */
    p->raw_length = 0;
    add_float(p, 0), add_float(p, -0.5f), add_float(p, 0);
    for (int i = 3; i < ELEMENTS; i++)
        add_float(p, i < LONG ? -32.5f : -33);
}

/* The bits of each of two segments, and the raw bytes of those that are right. */
static const char near_and_far[] = "11101 11110 0000"    /* -1, 1, 0 */
                                   "1000 1 00000010"     /* 5 words at distance 3 */
                                   "11111 00011"         /* -66 */
                                   "11100 0111 1110100"; /* 257 and 246 at distance 1 */
static const char near[] = "11101 0110 010101";          /* -1, 87 at distance 1 */
enum { PIECE = 512, WITH_MATCHES = 600 };

/* Order 1, with matches, in segments of 2^9 elements. */
static void plan_matches(struct plan *p, const char *first, const char *second)
{
    static const int8_t begin[] = {-1, 1, 0, -1, 1, 0, -1, 1};
    uint32_t held = 0;
    int32_t sum = 0;

    *p = (struct plan){.raw_length = 0};
    add_part(&p->part, 1 << 2 | 1 << 4 | 128, 0);
    bytes_add_number(&p->b, 9, 1);
    bytes_add_number(&p->b, bits_in(first), 2);
    bytes_add_number(&p->b, bits_in(second), 2);
    add_bits(&p->b, &held, first);
    add_bits(&p->b, &held, second);
    for (int i = 0; i < WITH_MATCHES; i++) {
        sum += i < 8 ? begin[i] : i < PIECE ? -66 : -1;
        add_float(p, (float)sum / 2);
    }
}

/* Whom the streams are for. */
struct visitor {
    codec_stream_visit *visit;
    void *arg;
};

static void show(const struct visitor *to, bool good, const char *name, const char *what,
                 const struct plan *p)
{
    const struct codec_stream stream = {.name = name,
                                        .what = what,
                                        .good = good,
                                        .part = p->part.data,
                                        .part_length = p->part.length,
                                        .stored = p->b.data,
                                        .length = p->b.length,
                                        .raw = p->raw,
                                        .raw_length = p->raw_length};

    to->visit(to->arg, &stream);
}

/* A byte of the part or of the stream that is another. */
struct change {
    const char *name, *what;
    bool part, lists;
    uint32_t at; /* from the end if END is added */
    uint8_t value;
};
enum { END = 1 << 16 };

static const struct change changes[] = {
    {"spare-part", "runs of zeros in a part with matches", true, false, AT_FLAGS, 1 << 2 | 128},
    {"lead", "a lead of an element", true, false, AT_LEAD, 4},
    {"step-negative", "a negative step", true, false, AT_STEP + 7, 0xbf},
    {"codes-over", "codes that are too many", true, false, AT_CODES, 0x43},
    {"codes-under", "codes that are too few", true, false, AT_CODES, 0x45},
    {"log2-less", "segments of 2^7 elements", false, false, 0, 7},
    {"log2-more", "segments of 2^16 elements", false, false, 0, 16},
    {"log2-other", "one segment, and the lengths of two", false, false, 0, 9},
    {"list-none", "a list that is not there", false, false, 0, 8 + 128},
    {"list-empty", "an empty list", false, true, 1, 0},
    {"list-long", "a list longer than the chunk", false, true, 3, 255},
    {"segment-more", "a segment that ends behind its codes", false, false, 1, LONG_BITS + 1},
    {"segment-less", "a segment that ends before its codes", false, false, 1, LONG_BITS - 1},
    {"segment-behind", "a segment that ends behind the chunk", false, false, 4, 64},
    {"few", "codes that stand for too few words", false, false, END + 1, 0x00},
    {"run", "a run over the end of a segment", false, false, END + 1, 0x10},
    {"spare", "a spare bit that is not zero", false, false, END + 1, 0x09},
    {"position", "a position behind the elements", false, true, END + 12, 0x13},
    {"position-twice", "a position that is there twice", false, true, END + 12, 0x10},
    {"position-order", "a position that is less than the one before", false, true, END + 12, 0x0f},
};

static void bad_bytes(const struct visitor *to)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        const struct change *c = &changes[i];
        struct codec_bytes *b;
        struct plan p;

        plan_make(&p, c->lists);
        b = c->part ? &p.part : &p.b;
        b->data[c->at < END ? c->at : b->length - (c->at - END)] = c->value;
        show(to, false, c->name, c->what, &p);
    }
}

static void bad_parts(const struct visitor *to)
{
    static const struct {
        const char *name, *what;
        uint8_t top[2];
    } steps[] = {{"step-zero", "a step of 0", {0, 0}},
                 {"step-denormal", "a step below 2^-1021", {0x10, 0}},
                 {"step-large", "a step above 2^1021", {0xd0, 0x7f}},
                 {"step-infinite", "an infinite step", {0xf0, 0x7f}},
                 {"step-nan", "a step that is no number", {0xf8, 0x7f}}};
    struct plan p;

    plan_make(&p, false);
    p.part.length = 0;
    show(to, false, "part-missing", "the part is missing", &p);
    p.part.length = AT_CODES;
    show(to, false, "part-short", "a part without codes", &p);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        plan_make(&p, false);
        memcpy(p.part.data + AT_STEP + 6, steps[i].top, 2);
        show(to, false, steps[i].name, steps[i].what, &p);
    }
    plan_make(&p, false);
    p.part.data[AT_FLAGS] = 2 << 2;
    memmove(p.part.data + AT_CODES + 4, p.part.data + AT_CODES, p.part.length - AT_CODES);
    memset(p.part.data + AT_CODES, 0, 4);
    p.part.length += 4;
    show(to, false, "stride", "a stride of 0", &p);
    plan_make(&p, false);
    for (int i = 0; i < 15; i++)
        bytes_add_number(&p.part, 0xf0, 1);
    bytes_add_number(&p.part, 0x11, 1);
    show(to, false, "tokens", "lengths of more tokens than there are", &p);
}

static void bad_matches(const struct visitor *to)
{
    static const struct {
        const char *name, *what, *first, *second;
    } bad[] = {
        {"match-first", "a match before which there are no words", near_and_far, "0110 010101"},
        {"match-before", "a match that begins before its segment",
         "11101 11110 0000 1000 1 00000011", near},
        {"match-long", "a match over the end of its segment", near_and_far, "11101 0110 010110"},
        {"match-longest", "257 words over the end of a segment", near_and_far, "11101 11100"},
        {"match-short", "matches that stand for too few words", near_and_far, "11101 0110 010100"},
        {"match-length-cut", "a segment that ends in a match's length", near_and_far,
         "11101 0110 01010"},
        {"match-distance-cut", "a segment that ends in a match's distance", near_and_far,
         "11101 11010 010101 0000000"},
    };
    struct plan p;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plan_matches(&p, bad[i].first, bad[i].second);
        show(to, false, bad[i].name, bad[i].what, &p);
    }
}

static void bad_runs(const struct visitor *to)
{
    static const struct {
        const char *name, *what, *second;
    } bad[] = {
        {"low-run", "a run over the end of a segment, by its low bits", "11101 0100 0011"},
        {"low-run-short", "runs that stand for too few words", "11101 0100 0001"},
        {"low-run-cut", "a segment that ends in a run's low bits", "11101 0100 001"},
    };
    struct plan p;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        plan_low_runs(&p, bad[i].second);
        show(to, false, bad[i].name, bad[i].what, &p);
    }
    plan_matches(&p, near_and_far, near);
    p.part.data[AT_LEAD] = 128;
    show(to, false, "low-runs-matches", "low bits of runs, and matches", &p);
    plan_matches(&p, near_and_far, near);
    p.part.data[AT_LEAD] = 64;
    show(to, false, "turned-matches", "words that are turned, and matches", &p);
}

void cusz_streams(codec_stream_visit *visit, void *arg)
{
    const struct visitor to = {visit, arg};
    struct plan p;

    plan_make(&p, false);
    show(&to, true, "by-hand", "two segments", &p);
    plan_make(&p, true);
    show(&to, true, "listed-by-hand", "a lead, a tail and two listed elements", &p);
    plan_matches(&p, near_and_far, near);
    show(&to, true, "matches-by-hand", "matches at distances of 1 and 3, and the longest", &p);
    plan_low_runs(&p, "11101 0100 0010");
    show(&to, true, "low-runs-by-hand", "runs with low bits", &p);
    plan_turned(&p);
    show(&to, true, "turned-by-hand", "words that are turned, and those of the next group", &p);
    bad_bytes(&to);
    bad_parts(&to);
    bad_matches(&to);
    bad_runs(&to);
}
