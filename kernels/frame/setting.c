/* Codec settings as text. Everything about a codec's options comes from format/codecs.c. */
#include "kernels/frame/setting.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "kernels/frame/field.h"

enum { DIGITS = 9 }; /* the most that always fit an int */

/* A codec and its options. */
struct grammar {
    const struct bale_codec_about *codec;
    const struct bale_option *options;
    size_t count;
};

/* A buffer of the caller's that texts are appended to. */
struct text {
    char *at;
    size_t size;
    size_t length;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *text, const char *format, ...)
{
    bool room = text->length < text->size;
    va_list args;
    int written;

    va_start(args, format);
    written = vsnprintf(room ? text->at + text->length : NULL, room ? text->size - text->length : 0,
                        format, args);
    va_end(args);
    text->length += written > 0 ? (size_t)written : 0;
}

static const char *separator(size_t i, size_t count)
{
    return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

static struct grammar grammar_of(const struct bale_codec_about *codec)
{
    struct grammar grammar = {.codec = codec};

    grammar.options = bale_codec_options(codec->id, &grammar.count);
    return grammar;
}

static bool is_word(const struct bale_option *option)
{
    return option->values && option->values->word;
}

/* With one option, whose value is a number, its key may be left out. */
static bool may_omit_key(const struct grammar *grammar)
{
    return grammar->count == 1 && !is_word(grammar->options);
}

/* "level=, s=, w= and c=NUMBER", "for=ratio and for=speed" */
static void add_keys(struct text *why, const struct grammar *grammar)
{
    for (size_t i = 0; i < grammar->count; i++) {
        const struct bale_option *option = &grammar->options[i];
        if (!is_word(option)) {
            add(why, "%s%s=%s", separator(i, grammar->count), option->key,
                i + 1 == grammar->count ? "NUMBER" : "");
            continue;
        }
        for (size_t k = 0; k < option->value_count; k++)
            add(why, "%s%s=%s", separator(k, option->value_count), option->key,
                option->values[k].word);
    }
}

static void add_range(struct text *text, const struct bale_option *option)
{
    if (option->range)
        add(text, "%s", option->range);
    else
        add(text, "%d to %d%s", option->min, option->max, option->min < 0 ? " without 0" : "");
}

static int refuse_option(struct text *why, const struct grammar *grammar, const char *option)
{
    add(why, "\"%.32s\" is not an option of %s, which has ", option, grammar->codec->name);
    add_keys(why, grammar);
    add(why, ".");
    return BALE_E_INVALID;
}

static int refuse_number(struct text *why, const struct grammar *grammar,
                         const struct bale_option *option, int number)
{
    add(why, "The %s of %s is ", option->key, grammar->codec->name);
    add_range(why, option);
    add(why, ", not %d.", number);
    return BALE_E_INVALID;
}

/* Names the options that set one field, too, if there are such. */
static int refuse_twice(struct text *why, const struct grammar *grammar, const char *option)
{
    add(why, "\"%.32s\" is given twice", option);
    for (size_t i = 0; i < grammar->count; i++)
        for (size_t k = i + 1; k < grammar->count; k++)
            if (grammar->options[i].at == grammar->options[k].at)
                add(why, ", or %s and %s both", grammar->options[i].key, grammar->options[k].key);
    add(why, ".");
    return BALE_E_INVALID;
}

/* Decimal, with a minus where the option is a codec's only one; no blanks, no plus. Returns its
 * end, or NULL. */
static const char *read_number(const char *text, bool may_be_negative, int *number)
{
    bool negative = may_be_negative && *text == '-';
    size_t digits = 0;
    int n = 0;

    for (text += negative; *text >= '0' && *text <= '9' && digits < DIGITS; text++, digits++)
        n = 10 * n + (*text - '0');
    *number = negative ? -n : n;
    return digits > 0 ? text : NULL;
}

/* An option's end: a comma leads to another one, which a codec's only option has not. */
static bool ends(const struct grammar *grammar, const char *text)
{
    return *text == '\0' || (*text == ',' && grammar->count > 1);
}

/* Whether the option has the number; *field is what it means. */
static bool find_number(const struct bale_option *option, int number, int *field)
{
    *field = number;
    if (!option->values)
        return bale_option_has(option, number);
    for (size_t i = 0; i < option->value_count; i++)
        if (option->values[i].number == number) {
            *field = option->values[i].field;
            return true;
        }
    return false;
}

/* The end of a word of the option's that the text begins with, or NULL. */
static const char *read_word(const struct bale_option *option, const char *text, int *field)
{
    for (size_t i = 0; i < option->value_count; i++) {
        size_t length = strlen(option->values[i].word);
        if (strncmp(text, option->values[i].word, length) == 0 &&
            (text[length] == '\0' || text[length] == ',')) {
            *field = option->values[i].field;
            return text + length;
        }
    }
    return NULL;
}

/* The option whose key and '=' the text begins with; *value is what follows. */
static const struct bale_option *find_option(const struct grammar *grammar, const char *text,
                                             const char **value)
{
    for (size_t i = 0; i < grammar->count; i++) {
        size_t length = strlen(grammar->options[i].key);
        if (strncmp(text, grammar->options[i].key, length) == 0 && text[length] == '=') {
            *value = text + length + 1;
            return &grammar->options[i];
        }
    }
    *value = text;
    return may_omit_key(grammar) ? grammar->options : NULL;
}

/* Reads the option at *text, and moves that to its end. *given has a bit for each field that an
 * option before has set: the bit at which the field begins. */
static int read_option(const struct grammar *grammar, const char **text, uint16_t *parameter,
                       uint16_t *given, struct text *why)
{
    const char *value, *end;
    const struct bale_option *option = find_option(grammar, *text, &value);
    int number = 0, field = 0;

    if (!option)
        return refuse_option(why, grammar, *text);
    end = is_word(option) ? read_word(option, value, &field)
                          : read_number(value, grammar->count == 1, &number);
    if (!end || !ends(grammar, end))
        return refuse_option(why, grammar, may_omit_key(grammar) ? value : *text);
    if (*given >> option->at & 1)
        return refuse_twice(why, grammar, *text);
    if (!is_word(option) && !find_number(option, number, &field))
        return refuse_number(why, grammar, option, number);
    *given |= (uint16_t)(1u << option->at);
    *parameter = bale_option_set(option, *parameter, field);
    *text = end;
    return BALE_OK;
}

/* options: what is behind the colon, or NULL. */
static int read_options(const struct grammar *grammar, const char *options, int16_t *parameter,
                        struct text *why)
{
    uint16_t given = 0, p = 0;

    for (size_t i = 0; i < grammar->count; i++)
        if (!grammar->options[i].alias)
            p = bale_option_set(&grammar->options[i], p, grammar->options[i].without);
    if (options && grammar->count == 0) {
        add(why, "The codec %s has no options.", grammar->codec->name);
        return BALE_E_INVALID;
    }
    while (options) {
        if (read_option(grammar, &options, &p, &given, why) < 0)
            return BALE_E_INVALID;
        options = *options == ',' ? options + 1 : NULL;
    }
    *parameter = (int16_t)p;
    return BALE_OK;
}

/* The codec whose name is text[0, length), or NULL. */
static const struct bale_codec_about *find_codec(const char *text, size_t length)
{
    const struct bale_codec_about *codec;

    for (size_t i = 0; (codec = bale_codec_at(i)); i++)
        if (strlen(codec->name) == length && memcmp(codec->name, text, length) == 0)
            return codec;
    return NULL;
}

static int refuse_codec(struct text *why, const char *text, size_t length)
{
    size_t count = 0;

    while (bale_codec_at(count))
        count++;
    add(why, "There is no codec \"%.*s\". Known are ", (int)(length < 32 ? length : 32), text);
    for (size_t i = 0; i < count; i++)
        add(why, "%s%s", separator(i, count), bale_codec_at(i)->name);
    add(why, ".");
    return BALE_E_INVALID;
}

static int parse_field(const struct bale_codec_about *codec, const char *colon,
                       struct bale_setting *parsed, struct bale_setting *setting, double *relative,
                       struct text *why)
{
    struct bale_reason reason = {0};
    int err = bale_field_parse(codec->name, codec->id, colon ? colon + 1 : NULL, &parsed->field,
                               relative, &reason);

    if (err == BALE_OK)
        *setting = *parsed;
    else
        add(why, "%s", reason.text);
    return err;
}

static int parse(const char *text, struct bale_setting *setting, double *relative, struct text *why)
{
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    const struct bale_codec_about *codec = find_codec(text, length);
    struct bale_setting parsed = {0};
    struct grammar grammar;

    if (!codec)
        return refuse_codec(why, text, length);
    parsed.codec = codec->id;
    if (bale_codec_has_field(codec->id))
        return parse_field(codec, colon, &parsed, setting, relative, why);
    grammar = grammar_of(codec);
    if (read_options(&grammar, colon ? colon + 1 : NULL, &parsed.parameter, why) < 0)
        return BALE_E_INVALID;
    *setting = parsed;
    return BALE_OK;
}

/* The reason quotes the text, but has to stay one line whatever that holds. */
static int parse_line(const char *text, struct bale_setting *setting, double *relative,
                      struct bale_reason *why)
{
    struct text reason = {.at = why ? why->text : NULL, .size = why ? sizeof why->text : 0};
    int err = parse(text, setting, relative, &reason);

    if (err < 0 && why)
        for (char *c = why->text; *c; c++)
            if (iscntrl((unsigned char)*c))
                *c = '?';
    return err;
}

int bale_setting_parse(const char *text, struct bale_setting *setting, struct bale_reason *why)
{
    return parse_line(text, setting, NULL, why);
}

int bale_setting_parse_relative(const char *text, struct bale_setting *setting, double *relative,
                                struct bale_reason *why)
{
    *relative = 0;
    return parse_line(text, setting, relative, why);
}

int bale_setting_set_range(struct bale_setting *setting, double relative, double low, double high,
                           struct bale_reason *why)
{
    return bale_field_set_range(bale_codec_name(setting->codec), relative, low, high,
                                &setting->field, why);
}

static void add_value(struct text *text, const struct bale_option *option, int field)
{
    if (!option->values) {
        add(text, "%d", field);
        return;
    }
    for (size_t i = 0; i < option->value_count; i++)
        if (option->values[i].field == field) {
            if (option->values[i].word)
                add(text, "%s", option->values[i].word);
            else
                add(text, "%d", option->values[i].number);
            return;
        }
}

/* A codec's only number is always printed; other options where they are not the default. */
void bale_setting_print(struct bale_setting setting, char *text, size_t size)
{
    const struct bale_codec_about *codec = bale_codec_about(setting.codec);
    struct text out = {.at = text, .size = size};
    struct grammar grammar;
    const char *before = ":";

    if (!codec) {
        add(&out, "unknown-%u", setting.codec);
        return;
    }
    grammar = grammar_of(codec);
    add(&out, "%s", codec->name);
    if (setting.field.type != BALE_FIELD_NONE) {
        char field[BALE_FIELD_TEXT];

        bale_field_print(codec->id, &setting.field, field, sizeof field);
        add(&out, ":%s", field);
        return;
    }
    for (size_t i = 0; i < grammar.count; i++) {
        const struct bale_option *option = &grammar.options[i];
        int field = bale_option_field(option, (uint16_t)setting.parameter);
        if (option->alias || (!may_omit_key(&grammar) && field == option->without))
            continue;
        add(&out, "%s", before);
        if (!may_omit_key(&grammar))
            add(&out, "%s=", option->key);
        add_value(&out, option, field);
        before = ",";
    }
}

void bale_option_explain(const struct bale_option *option, char *text, size_t size)
{
    struct text out = {.at = text, .size = size};

    add_range(&out, option);
}

void bale_codec_explain(const struct bale_codec_about *codec, char *text, size_t size)
{
    struct grammar grammar = grammar_of(codec);
    struct text out = {.at = text, .size = size};

    add(&out, "%s", codec->name);
    if (grammar.count > 1 || bale_codec_has_field(codec->id))
        add(&out, "[:OPTIONS]");
    else if (grammar.count == 1 && !is_word(grammar.options))
        add(&out, "[:%s=N]", grammar.options->key);
    else if (grammar.count == 1) {
        add(&out, "[:%s=", grammar.options->key);
        for (size_t i = 0; i < grammar.options->value_count; i++)
            add(&out, "%s%s", i > 0 ? "|" : "", grammar.options->values[i].word);
        add(&out, "]");
    }
}
