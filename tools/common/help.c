#include "tools/common/help.h"

#include <stdio.h>
#include <string.h>

#include "kernels/frame/setting.h"

enum { COLUMNS = 86 };

static const char mark[] = "{codecs}";

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

static void print_default(const struct bale_option *option)
{
    if (option->alias)
        return;
    if (!option->values) {
        printf(" [%d]", option->without);
        return;
    }
    for (size_t i = 0; i < option->value_count; i++)
        if (option->values[i].field == option->without && option->values[i].word)
            printf(" [%s]", option->values[i].word);
        else if (option->values[i].field == option->without)
            printf(" [%d]", option->values[i].number);
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
        for (size_t k = 0; k < count; k++) {
            char values[2 * BALE_SETTING_TEXT];
            bale_option_explain(&options[k], values, sizeof values);
            printf("    %s=  %s", options[k].key, values);
            print_default(&options[k]);
            printf("\n");
        }
    }
}
