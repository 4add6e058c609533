#include "tests/codecs/cases.h"

#define DECLARE_BUILT_IN(name, NAME, id, frame) extern const struct codec_case codec_case_##name;
#define DECLARE(name, ...) extern const struct codec_case codec_case_##name;
BALE_CODEC_LIST(DECLARE_BUILT_IN, DECLARE)
extern const struct codec_case codec_case_auto;

#define ADDRESS_BUILT_IN(name, NAME, id, frame) &codec_case_##name,
#define ADDRESS(name, ...) &codec_case_##name,
static const struct codec_case *const cases[] = {&codec_case_auto,
                                                 BALE_CODEC_LIST(ADDRESS_BUILT_IN, ADDRESS)};

enum { CASES = sizeof cases / sizeof cases[0], SETTINGS_OF_ALL_MAX = 1000, STREAM_MAX = 4096 };

const struct codec_case *codec_case_at(size_t i)
{
    return i < CASES ? cases[i] : NULL;
}

const struct codec_case *codec_case_of(uint8_t id)
{
    for (size_t i = 0; i < CASES; i++)
        if (cases[i]->id == id)
            return cases[i];
    return NULL;
}

unsigned codec_case_kinds(const struct codec_case *c)
{
    return DATA_KINDS + c->shapes;
}

void codec_case_fill(const struct codec_case *c, unsigned kind, uint8_t *out, size_t length)
{
    if (kind < DATA_KINDS)
        data_fill((enum data_kind)kind, length, out, length);
    else
        c->shape_fill(kind, out, length);
}

/* ---- Streams ---- */

struct deriving {
    codec_stream_visit *visit;
    void *arg;
    bool named; /* those of the first good stream are vectors */
};

static void derive(const struct deriving *d, const struct codec_stream *good, const char *name,
                   const char *what, uint32_t length, uint32_t raw_length)
{
    uint8_t stored[STREAM_MAX + 1];
    struct codec_stream bad = *good;

    REQUIRE(length <= sizeof stored && good->length < sizeof stored);
    memcpy(stored, good->stored, good->length);
    stored[good->length] = 0;
    bad.name = d->named ? NULL : name;
    bad.what = what;
    bad.good = false;
    bad.stored = stored;
    bad.length = length;
    bad.raw_length = raw_length;
    d->visit(d->arg, &bad);
}

static void visit_and_derive(void *arg, const struct codec_stream *stream)
{
    enum { RAW_LENGTHS = 40 };
    struct deriving *d = arg;
    uint32_t length = stream->length, raw = stream->raw_length;

    d->visit(d->arg, stream);
    if (!stream->good)
        return;
    derive(d, stream, "short", "decodes to a byte less than the raw length", length, raw + 1);
    derive(d, stream, "long", "decodes to a byte more than the raw length", length, raw - 1);
    derive(d, stream, "trailing", "a byte behind the stream", length + 1, raw);
    derive(d, stream, "truncated", "the stream's last byte is missing", length - 1, raw);
    for (uint32_t cut = 1; cut < length - 1; cut++)
        derive(d, stream, NULL, "the stream's end is missing", cut, raw);
    for (uint32_t other = 1; other < RAW_LENGTHS && other < raw - 1; other++)
        derive(d, stream, NULL, "another raw length", length, other);
    d->named = true;
}

void codec_case_streams(const struct codec_case *c, codec_stream_visit *visit, void *arg)
{
    struct deriving d = {.visit = visit, .arg = arg};

    if (c->streams)
        c->streams(visit_and_derive, &d);
}

struct bale_field codec_case_field(uint8_t id)
{
    return codec_setting_parse(codec_case_of(id)->settings[0].text).field;
}

struct bale_extent_part codec_case_part(const struct bale_codec *codec, void *work,
                                        int16_t parameter, const uint8_t *raw, uint32_t raw_length,
                                        uint8_t room[static CODEC_PART_MAX])
{
    const struct bale_field field = codec_case_field(codec->id);
    uint32_t most = raw_length / 8 < CODEC_PART_MAX ? raw_length / 8 : CODEC_PART_MAX;
    int64_t length;

    if (!codec->learn)
        return (struct bale_extent_part){NULL, 0};
    length = codec->learn(work, parameter, &field, 0, BALE_CELL, raw, raw_length, room, most);
    REQUIRE(length >= 0 && length <= most);
    return (struct bale_extent_part){room, (uint32_t)length};
}

/* ---- Settings of the table ---- */

const char *codec_settings_next(unsigned set, size_t *i)
{
    size_t before = 0;

    for (size_t c = 0; c < CASES; c++)
        for (const struct codec_setting *s = cases[c]->settings; s->text; s++, before++)
            if (before >= *i && s->sets & set) {
                *i = before + 1;
                return s->text;
            }
    return NULL;
}

struct bale_setting codec_setting_parse(const char *text)
{
    struct bale_setting setting;

    REQUIRE(bale_setting_parse(text, &setting, NULL) == BALE_OK);
    return setting;
}

struct bale_setting codec_settings_pick(unsigned set, uint64_t random)
{
    const char *of_set[SETTINGS_OF_ALL_MAX];
    size_t count = 0;

    for (size_t i = 0; (of_set[count] = codec_settings_next(set, &i)) != NULL; count++)
        REQUIRE(count + 1 < SETTINGS_OF_ALL_MAX);
    return codec_setting_parse(of_set[random % count]);
}

/* ---- Settings from a codec's options ---- */

/* Of a range the ends, then the number after the least, and the middle. */
static unsigned value_count(const struct bale_option *option)
{
    int numbers = option->max - option->min + 1;

    if (option->alias)
        return 1;
    return option->values ? option->value_count : (unsigned)(numbers < 4 ? numbers : 4);
}

static int nth_value(const struct bale_option *option, unsigned n)
{
    const int some[] = {option->min, option->max, option->min + 1, (option->min + option->max) / 2};

    return option->values ? option->values[n].field : some[n];
}

bool codec_grid(uint8_t id, unsigned n, struct bale_setting *setting)
{
    size_t count;
    const struct bale_option *options = bale_codec_options(id, &count);
    unsigned all = 1;

    for (size_t k = 0; k < count; k++)
        all *= value_count(&options[k]);
    for (unsigned i = 0; i < all; i++) {
        uint16_t parameter = 0;
        unsigned rest = i;
        bool fits = true;
        for (size_t k = 0; k < count; rest /= value_count(&options[k++]))
            if (!options[k].alias) {
                int field = nth_value(&options[k], rest % value_count(&options[k]));
                fits = fits && bale_option_has(&options[k], field);
                parameter = bale_option_set(&options[k], parameter, field);
            }
        *setting = (struct bale_setting){
            .codec = id, .parameter = (int16_t)parameter, .field = codec_case_field(id)};
        if (fits && bale_codec_about(id)->in_frame(parameter) && n-- == 0)
            return true;
    }
    return false;
}

static int random_value(const struct bale_option *option, uint64_t random)
{
    if (option->values)
        return option->values[random % option->value_count].field;
    return option->min + (int)(random % (unsigned)(option->max - option->min + 1));
}

struct bale_setting codec_setting_random(uint8_t id, uint64_t *state)
{
    size_t count;
    const struct bale_option *options = bale_codec_options(id, &count);
    uint16_t parameter;
    bool fits;

    do {
        parameter = 0;
        fits = true;
        for (size_t k = 0; k < count; k++)
            if (!options[k].alias) {
                int field = random_value(&options[k], data_next(state));
                fits = fits && bale_option_has(&options[k], field);
                parameter = bale_option_set(&options[k], parameter, field);
            }
    } while (!fits || !bale_codec_about(id)->in_frame(parameter));
    return (struct bale_setting){
        .codec = id, .parameter = (int16_t)parameter, .field = codec_case_field(id)};
}
