#include "tests/codecs/bytes.h"
#include "tests/codecs/cases.h"

static const struct codec_setting settings[] = {
    {"lzr", SETTINGS_ALL & ~(unsigned)SETTINGS_CHUNK_SIZES},
    {"lzr:2", (SETTINGS_MOST | SETTINGS_DAMAGE) & ~(unsigned)SETTINGS_CHUNK_SIZES},
    {.text = NULL},
};

static void mixed_text(uint8_t *raw, size_t length)
{
    sample_text(raw, length);
    sample_mix(raw, length);
}

static const struct codec_sample samples[] = {
    {"1", "lzr:1", 70000, 16, sample_text, "text, two chunks, level 1"},
    {"2", "lzr:2", 70000, 16, sample_text, "text, two chunks, level 2"},
    {"numbers", "lzr:1", 40001, 15, sample_numbers, "numbers of eight bytes, and one byte"},
    {"mixed", "lzr:1", 12000, 12, mixed_text, "the second chunk is stored raw"},
    {.name = NULL},
};

/* ---- Streams: kernels/lzr/spec.md ----
 *
 * A symbol that alone occurs changes no state. So a stream whose tables have one symbol each, and
 * whose classes have no raw bits, is its states alone. */

enum {
    LANES = 32,
    CARRIED = 64,
    RUN_ONLY = 26,
    NO_MATCH = 0,
    LENGTH_18 = 16, /* match class */
    OFFSET_3 = 5,   /* offset class */
    OFFSET_LARGE = 20,
    LEVELS_1 = 1, /* form of a table: levels of one bit */
    NONE = -1,    /* no symbol */
    RAW_MAX = 6000,
};

struct part {
    uint16_t sequences;
    uint16_t more_words; /* that nothing reads */
    uint16_t high;       /* of each state; 1 is right */
    uint16_t used;       /* literals in the carries */
};

struct plan {
    uint8_t flags;
    unsigned tables; /* of literals */
    int literal, run, match, offset;
    struct part parts[2];
};

static void add_table(struct codec_bytes *b, int symbol, int symbols)
{
    if (symbol == NONE) {
        bytes_add_number(b, 0, 1);
        return;
    }
    bytes_add_number(b, LEVELS_1, 1);
    for (int group = 0; group < (symbols + 7) / 8; group += 8)
        bytes_add_number(b, symbol / 8 / 8 * 8 == group ? 1u << symbol / 8 % 8 : 0, 1);
    bytes_add_number(b, 1u << symbol % 8, 1);
    bytes_add_number(b, 0, 1);
}

static uint8_t carried_byte(unsigned part, unsigned q)
{
    return (uint8_t)(part * 100 + q);
}

static void add_words(struct codec_bytes *b, const struct part *part, unsigned index)
{
    if (part->sequences == 0 && part->more_words == 0)
        return;
    for (unsigned i = 0; i < part->more_words; i++)
        bytes_add_number(b, 0, 2);
    for (unsigned lane = 0; lane < LANES; lane++) {
        bytes_add_number(b, lane < part->used ? carried_byte(index, lane) : 0, 1);
        bytes_add_number(b, lane + LANES < part->used ? carried_byte(index, lane + LANES) : 0, 1);
    }
    for (unsigned lane = 0; lane < LANES; lane++)
        bytes_add_number(b, part->high, 2);
}

static struct codec_bytes build(const struct plan *plan)
{
    struct codec_bytes b = {.length = 0};
    const struct part *parts = plan->parts;
    unsigned streams = plan->flags & 1 ? 2 : 1;

    bytes_add_number(&b, plan->flags, 1);
    for (unsigned s = 0; s < streams; s++)
        bytes_add_number(&b, parts[s].sequences, 2);
    if (streams == 2)
        bytes_add_number(&b, 2 * LANES + parts[0].more_words, 2);
    for (unsigned t = 0; t < plan->tables; t++)
        add_table(&b, plan->literal == NONE ? NONE : plan->literal + (int)t, 256);
    add_table(&b, plan->run, 27);
    add_table(&b, plan->match, 61);
    add_table(&b, plan->offset, 62);
    if (b.length % 2 != 0)
        bytes_add_number(&b, 0, 1);
    for (unsigned s = 0; s < streams; s++)
        add_words(&b, &parts[s], s);
    return b;
}

static uint32_t literals_of(const struct plan *plan)
{
    return plan->run == RUN_ONLY ? 64 : (uint32_t)plan->run;
}

/* Decodes a good plan whose groups are one to a stream: classes without raw bits. */
static uint32_t expand(const struct plan *plan, uint8_t *raw)
{
    uint32_t at = 0, run = literals_of(plan);

    for (unsigned p = 0; p < 2; p++) {
        uint32_t literals = run * plan->parts[p].sequences;
        uint32_t coded = literals > CARRIED ? literals - CARRIED : 0;
        for (uint32_t s = 0, l = 0; s < plan->parts[p].sequences; s++) {
            for (uint32_t n = 0; n < run; n++, l++, at++)
                raw[at] = (uint8_t)(l < coded ? (uint8_t)(plan->literal + (int)(at % plan->tables))
                                              : carried_byte(p, l - coded));
            for (uint32_t n = 0; plan->run != RUN_ONLY && n < 18; n++, at++)
                raw[at] = raw[at - 3];
        }
    }
    return at;
}

/* The callback that gets the streams. */
struct visitor {
    codec_stream_visit *visit;
    void *arg;
};

static void show(const struct visitor *to, bool good, const char *name, const char *what,
                 const struct codec_bytes *b, const struct plan *plan)
{
    uint8_t raw[RAW_MAX + 1] = {0};
    struct codec_stream stream = {.name = name,
                                  .what = what,
                                  .good = good,
                                  .parameter = 1,
                                  .stored = b->data,
                                  .length = b->length,
                                  .raw = raw};

    stream.raw_length = expand(plan, raw);
    to->visit(to->arg, &stream);
}

/* 16 sequences of three literals, all in the carries, and 18 bytes at offset 3: spec.md's. */
static const struct plan simple = {.tables = 1,
                                   .literal = NONE,
                                   .run = 3,
                                   .match = LENGTH_18,
                                   .offset = OFFSET_3,
                                   .parts = {{.sequences = 16, .high = 1, .used = 48}}};

static const struct plan two = {.flags = 1,
                                .tables = 1,
                                .literal = 'x',
                                .run = 3,
                                .match = LENGTH_18,
                                .offset = OFFSET_3,
                                .parts = {{.sequences = 256, .high = 1, .used = CARRIED},
                                          {.sequences = 10, .high = 1, .used = 30}}};

static const struct plan runs = {.tables = 1,
                                 .literal = 'x',
                                 .run = RUN_ONLY,
                                 .match = NONE,
                                 .offset = NONE,
                                 .parts = {{.sequences = 20, .high = 1, .used = CARRIED}}};

static const struct plan four = {.flags = 2,
                                 .tables = 4,
                                 .literal = 'k',
                                 .run = 3,
                                 .match = LENGTH_18,
                                 .offset = OFFSET_3,
                                 .parts = {{.sequences = 40, .high = 1, .used = CARRIED}}};

static void good_streams(const struct visitor *to)
{
    static const struct {
        const char *name, *what;
        const struct plan *plan;
    } rows[] = {
        {"carried", "all literals are in the carries", &simple},
        {"two", "two streams", &two},
        {"runs", "literals and no matches", &runs},
        {"four", "four tables of literals", &four},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct codec_bytes b = build(rows[i].plan);
        show(to, true, rows[i].name, rows[i].what, &b, rows[i].plan);
    }
}

/* A good plan with one change. */
static void bad_plan(const struct visitor *to, const struct plan *as, struct plan plan,
                     const char *name, const char *what)
{
    struct codec_bytes b = build(&plan);

    show(to, false, name, what, &b, as);
}

static void bad_plans(const struct visitor *to)
{
    struct plan p = simple;

    p.flags = 4;
    bad_plan(to, &simple, p, "flags", "an unknown bit in the first byte");
    p = simple, p.parts[0].sequences = 0;
    bad_plan(to, &simple, p, "empty", "stream 0 has no sequences");
    p = simple, p.run = NONE;
    bad_plan(to, &simple, p, "no-runs", "the table of run classes has no symbol");
    p = simple, p.match = NONE;
    bad_plan(to, &simple, p, "no-matches", "a match class of a table without symbols");
    p = simple, p.offset = NONE;
    bad_plan(to, &simple, p, "no-offsets", "an offset class of a table without symbols");
    p = runs, p.literal = NONE;
    bad_plan(to, &runs, p, "no-literals", "a literal of a table without symbols");
    p = simple, p.offset = OFFSET_LARGE;
    bad_plan(to, &simple, p, "offset", "an offset before the chunk's start");
    p = simple, p.run = 28;
    bad_plan(to, &simple, p, "symbol", "a run class of 28");
    p = simple, p.parts[0].high = 0;
    bad_plan(to, &simple, p, "state-small", "a state below 2^15");
    p = simple, p.parts[0].high = 0x8000;
    bad_plan(to, &simple, p, "state-large", "a state of 2^31");
    p = simple, p.parts[0].high = 2;
    bad_plan(to, &simple, p, "state-end", "a state that does not end at its carry");
    p = simple, p.parts[0].used = 49;
    bad_plan(to, &simple, p, "carry", "a carry with a literal too many");
    p = simple, p.parts[0].more_words = 1;
    bad_plan(to, &simple, p, "words", "a word that no lane takes");
    p = two, p.parts[1].sequences = 0, p.parts[1].more_words = 1;
    bad_plan(to, &two, p, "words-of-none", "words of a stream without sequences");
    p = two, p.parts[0].sequences = 266, p.parts[1].sequences = 0;
    bad_plan(to, &two, p, "turn", "a stream has sequences when it is the other's turn");
    p = two, p.parts[1].sequences = 257;
    bad_plan(to, &two, p, "turn-other", "the other stream has sequences left at the end");
}

/* spec.md's example with some bytes changed. */
static void bad_bytes(const struct visitor *to)
{
    enum { LITERALS = 3, RUNS = 4, MATCHES = 8, OFFSETS = 12, PADDING = 43 };
    struct codec_bytes b;
    static const struct {
        const char *name, *what;
        uint32_t at;
        uint8_t value;
    } rows[] = {
        {"form", "a table of levels of 6 bits", RUNS, 6},
        {"form-none", "a table with flags and no bits", RUNS, 0x80},
        {"group", "a group without a symbol", RUNS + 2, 0},
        {"groups", "a table without groups", MATCHES + 1, 0},
        {"groups-spare", "a group that the alphabet does not have", RUNS + 1, 0x11},
        {"spare", "a spare bit of a table's numbers", OFFSETS + 3, 2},
        {"exact", "exact frequencies that do not add up", RUNS, 10},
        {"literal-form", "a table of literals with the form 9", LITERALS, 9},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        b = build(&simple);
        b.data[rows[i].at] = rows[i].value;
        show(to, false, rows[i].name, rows[i].what, &b, &simple);
    }
    b = build(&four);
    b.data[PADDING] = 1;
    show(to, false, "padding", "the byte before the words", &b, &four);
}

static void streams(codec_stream_visit *visit, void *arg)
{
    const struct visitor to = {visit, arg};

    good_streams(&to);
    bad_plans(&to);
    bad_bytes(&to);
}

/* A chunk of fewer bytes than its states is stored raw. */
extern const struct codec_case codec_case_lzr;
const struct codec_case codec_case_lzr = {
    .id = BALE_CODEC_LZR,
    .least = 300,
    .settings = settings,
    .setting_parameters = 2,
    .frame_parameters = 9,
    .samples = samples,
    .streams = streams,
};
