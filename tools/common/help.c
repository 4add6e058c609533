#include "tools/common/help.h"

#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "kernels/frame/field.h"
#include "kernels/frame/setting.h"
#include "tools/common/json.h"

enum { COLUMNS = 86 };

static const char mark[] = "{codecs}";

/* A text of words behind indent spaces, on as many lines as it takes. */
static void print_lines(const char *text, size_t indent)
{
    size_t column = 0;

    while (*text) {
        const size_t length = strcspn(text, " ");
        const bool first = column == 0, fits = column + 1 + length <= COLUMNS;
        printf("%s%*s%.*s", first || fits ? "" : "\n", first || !fits ? (int)indent : 1, "",
               (int)length, text);
        column = (first || !fits ? indent : column + 1) + length;
        text += length + (text[length] == ' ');
    }
    printf("\n");
}

/* The list, from column indent on. Returns the column behind it. */
static size_t print_codecs(size_t indent)
{
    const struct bale_codec_about *codec;
    size_t column = indent;

    for (size_t i = 0; (codec = bale_codec_at(i)); i++) {
        char text[BALE_SETTING_TEXT];
        bale_codec_explain(codec, text, sizeof text);
        if (column > indent && column + strlen(", ") + strlen(text) >= COLUMNS) {
            printf(",\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            column += (size_t)printf(", ");
        }
        column += (size_t)printf("%s", text);
    }
    return column;
}

void bale_help_print(const char *help)
{
    for (const char *at; (at = strstr(help, mark)); help = at + strlen(mark)) {
        size_t before = (size_t)(at - help);
        size_t line = before;

        while (line > 0 && help[line - 1] != '\n')
            line--;
        printf("%.*s", (int)before, help);
        print_codecs(before - line);
    }
    printf("%s", help);
}

/* The value that a key has when it is not given. */
static void default_text(const struct bale_option *option, char *text, size_t size)
{
    int number = option->without;
    const char *word = NULL;

    for (size_t i = 0; i < option->value_count; i++)
        if (option->values[i].field == option->without) {
            number = option->values[i].number;
            word = option->values[i].word;
        }
    if (word)
        snprintf(text, size, "%s", word);
    else
        snprintf(text, size, "%d", number);
}

void bale_help_codecs(void)
{
    const struct bale_codec_about *codec;

    printf("Codecs, written NAME or NAME:KEY=VALUE,... In brackets: the value of a key that is\n"
           "not given. If a codec has one number, KEY= may be left out: zstd:3.\n\n");
    for (size_t i = 0; (codec = bale_codec_at(i)); i++) {
        size_t count;
        const struct bale_option *options = bale_codec_options(codec->id, &count);

        printf("  %s\n", codec->name);
        if (bale_codec_has_field(codec->id))
            print_lines(bale_field_explain(codec->id), 4);
        for (size_t k = 0; k < count; k++) {
            char values[2 * BALE_SETTING_TEXT], without[BALE_SETTING_TEXT];
            bale_option_explain(&options[k], values, sizeof values);
            default_text(&options[k], without, sizeof without);
            printf("    %s=  %s", options[k].key, values);
            if (!options[k].alias)
                printf(" [%s]", without);
            printf("\n");
        }
    }
}

static json_t *options_json(const struct bale_codec_about *codec)
{
    json_t *array = json_array();
    size_t count;
    const struct bale_option *options = bale_codec_options(codec->id, &count);

    for (size_t k = 0; k < count; k++) {
        char values[2 * BALE_SETTING_TEXT], without[BALE_SETTING_TEXT];
        json_t *option = json_object();

        bale_option_explain(&options[k], values, sizeof values);
        default_text(&options[k], without, sizeof without);
        bale_json_text(option, "key", options[k].key);
        bale_json_text(option, "values", values);
        json_object_set_new(option, "default",
                            options[k].alias ? json_null() : json_string(without));
        json_array_append_new(array, option);
    }
    return array;
}

bool bale_help_codecs_json(void)
{
    const struct bale_codec_about *codec;
    json_t *array = json_array();

    for (size_t i = 0; (codec = bale_codec_at(i)); i++) {
        struct bale_setting setting;
        char text[BALE_SETTING_TEXT];
        json_t *object = json_object();
        bool complete = bale_setting_parse(codec->name, &setting, NULL) == BALE_OK;

        if (complete)
            bale_setting_print(setting, text, sizeof text);
        bale_json_text(object, "codec", codec->name);
        bale_json_count(object, "id", codec->id);
        json_object_set_new(object, "default", complete ? json_string(text) : json_null());
        json_object_set_new(object, "built_in", json_boolean(codec->built_in));
        json_object_set_new(object, "gpu", json_boolean(codec->device));
        json_object_set_new(object, "nvcomp", json_boolean(codec->closed));
        json_object_set_new(object, "gpu_most",
                            codec->most == INT16_MAX ? json_null() : json_integer(codec->most));
        json_object_set_new(object, "options", options_json(codec));
        json_array_append_new(array, object);
    }
    return bale_json_print(array);
}
