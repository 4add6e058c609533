#include "kernels/round/round.h"
#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"

/* Chunks have 64 KiB or more, and the library gives other bytes back. */
enum {
    SETTINGS =
        SETTINGS_ALL & ~(SETTINGS_CHUNK_SIZES | SETTINGS_DAMAGE | SETTINGS_API | SETTINGS_GPU_API),
};

static const struct codec_setting settings[] = {
    {"cusz:f32,abs=0.001953125", SETTINGS},
    {"cusz:f32,abs=0.001953125,dims=30x20x100,pipeline=rle+huffman", SETTINGS},
    {"cusz:f32,abs=0.001953125,be,offset=3,pipeline=rle", SETTINGS_FRAMES},
    {"cusz:f64,abs=0.0009765625,dims=100x100,pipeline=huffman", SETTINGS_FRAMES},
    {"cusz:f32,abs=0.001953125,dims=30x20x100,pipeline=gpulz+huffman", SETTINGS},
    {.text = NULL},
};

/* ---- Data: of the first setting's type and step, unless its name says something else ---- */

static void round_all(enum bale_round_type type, bool big_endian, double step, uint8_t *raw,
                      size_t length)
{
    struct bale_rounding rounding;
    uint64_t bits;

    memcpy(&bits, &step, sizeof bits);
    REQUIRE(bale_rounding_make(&rounding, type, big_endian, bits) == BALE_OK);
    bale_round(&rounding, raw, length / bale_rounding_width(&rounding));
}

/* Random steps up and down, few and small ones. */
static void walk(uint64_t seed, uint8_t *out, size_t length)
{
    int64_t q = 0;

    for (size_t at = 0; at < length; at += 4) {
        uint64_t random = data_next(&seed);
        float x = (float)q * 0x1p-8f;
        memcpy(out + at, &x, length - at < 4 ? length - at : 4);
        q += random % 8 == 0 ? 1 : random % 8 == 1 ? -1 : 0;
        if (random % 509 == 8)
            q += (int64_t)(random >> 40) - (1 << 23);
    }
}

/* Waves in 30 x 20 x 100 elements, in integers. */
static double wave(size_t i)
{
    const int64_t x = (int64_t)(i % 30) - 15, y = (int64_t)(i / 30 % 20) - 10;
    const int64_t z = (int64_t)(i / 600 % 100) - 50;

    return (double)(x * x * 40 - y * y * 31 + z * z * 7 + x * y * z) / 4096;
}

static void sample_waves(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 4; i++) {
        const float x = (float)wave(i);
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

/* Waves with holes and what no multiple is near to. */
static void sample_listed(uint8_t *raw, size_t length)
{
    static const uint32_t odd[] = {0x7fc00001, 0xff800000, 0x7f7fffff, 0x80000000, 0x00000001};

    sample_waves(raw, length);
    for (size_t i = 0; i < 5; i++)
        memcpy(raw + length / 4 / 6 * i * 4, &odd[i], 4);
}

static void sample_sparse(uint8_t *raw, size_t length)
{
    uint64_t seed = 5;

    memset(raw, 0, length);
    for (size_t i = 0; i < length / 4; i += 1 + data_next(&seed) % 900) {
        const float x = (float)(data_next(&seed) % 7000) * 0.3f;
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

/* A few rows of waves, again and again. */
static void sample_repeated(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 4; i++) {
        const float x = (float)(wave(i % 60) * (i % 7000 < 3500));
        memcpy(raw + 4 * i, &x, 4);
    }
    round_all(BALE_ROUND_F32, false, 0x1p-8, raw, length);
}

static void sample_big_endian(uint8_t *raw, size_t length)
{
    sample_waves(raw, length - 3);
    for (size_t i = 0; i + 4 <= length - 3; i += 4) {
        uint32_t x;
        memcpy(&x, raw + i, 4);
        x = __builtin_bswap32(x);
        memcpy(raw + i, &x, 4);
    }
    memmove(raw + 3, raw, length - 3);
    memset(raw, 'h', 3);
}

static void sample_doubles(uint8_t *raw, size_t length)
{
    for (size_t i = 0; i < length / 8; i++) {
        const double x = wave(i) * (i % 1000 == 0 ? 1e9 : 1);
        memcpy(raw + 8 * i, &x, 8);
    }
    round_all(BALE_ROUND_F64, false, 0x1p-9, raw, length);
}

static const struct codec_sample samples[] = {
    {"waves", "cusz:f32,abs=0.001953125,dims=30x20x100", 70000, 16, sample_waves,
     "three dimensions, two chunks that share a codebook"},
    {"listed", "cusz:f32,abs=0.001953125,dims=30x20", 24000, 13, sample_listed,
     "NaN, an infinity, an edge, -0 and a denormal"},
    {"sparse", "cusz:f32,abs=0.001953125", 65536, 16, sample_sparse, "runs of zeros"},
    {"rle", "cusz:f32,abs=0.001953125,pipeline=rle", 40000, 14, sample_sparse,
     "codes of equal length"},
    {"big-endian", "cusz:f32,abs=0.001953125,be,offset=3,dims=30x20x100", 30000, 13,
     sample_big_endian, "big-endian elements that begin at byte 3"},
    {"doubles", "cusz:f64,abs=0.0009765625,dims=30x20x100", 48000, 14, sample_doubles,
     "binary64, some far from their neighbours"},
    {"huffman", "cusz:f32,abs=0.001953125,pipeline=huffman", 20000, 12, sample_waves,
     "no runs, and a prediction in one dimension"},
    {"gpulz", "cusz:f32,abs=0.001953125,pipeline=gpulz+huffman", 48000, 14, sample_repeated,
     "matches, short ones, too"},
    {"gpulz-long", "cusz:f64,abs=0.0009765625,pipeline=gpulz+huffman,dims=30x20", 48000, 14,
     sample_doubles, "long matches only, and segments that have none"},
    {.name = NULL},
};

/* Shapes that strain the codec. */
enum { SHAPE_WALK, SHAPE_NAN, SHAPE_HUGE, SHAPE_SPARSE, SHAPES };

static void shape_fill(unsigned kind, uint8_t *out, size_t length)
{
    uint64_t seed = length;

    walk(seed, out, length);
    for (size_t i = 0; kind != SHAPE_WALK && i < length / 4; i++) {
        const uint64_t random = data_next(&seed);
        float x = (float)((int64_t)random % 65536) * 0x1p-8f;
        if (kind == SHAPE_NAN && random % 40)
            continue;
        if (kind == SHAPE_NAN)
            x = -__builtin_nanf("");
        if (kind == SHAPE_HUGE)
            x *= random % 3 ? 0x1p13f : 0x1p100f;
        if (kind == SHAPE_SPARSE && random % 100)
            x = 0;
        memcpy(out + 4 * i, &x, 4);
    }
}

/* ---- Streams: kernels/cusz/spec.md ---- */

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

/* The same where low bits of runs follow. */
static void plan_low_runs(struct plan *p, const char *second)
{
    const char *first = "0000 11101 11110 11111 00000" /* 0, -1, 1, 64 */
                        "0111 1111100";                /* 252 zeros */
    uint32_t held = 0;

    plan_make(p, false);
    p->part.data[AT_LEAD] = 128;
    p->b.length = 0;
    bytes_add_number(&p->b, 8, 1);
    bytes_add_number(&p->b, bits_in(first), 2);
    bytes_add_number(&p->b, bits_in(second), 2);
    add_bits(&p->b, &held, first);
    add_bits(&p->b, &held, second);
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
}

static void streams(codec_stream_visit *visit, void *arg)
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
    bad_bytes(&to);
    bad_parts(&to);
    bad_matches(&to);
    bad_runs(&to);
}

/* A short chunk has no room for a codebook. */
extern const struct codec_case codec_case_cusz;
const struct codec_case codec_case_cusz = {
    .id = BALE_CODEC_CUSZ,
    .defined = true,
    .least = 400,
    .fill = walk,
    .shapes = SHAPES,
    .shape_fill = shape_fill,
    .settings = settings,
    .setting_parameters = 0, /* without a field */
    .frame_parameters = 1,
    .samples = samples,
    .streams = streams,
};
