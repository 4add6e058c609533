#include "tools/common/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/limits.h"

#define MESSAGE 4096
#define WORD 32 /* longer words are not compared beyond this */

const char *bale_clean_text(const char *in, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    size_t used = 0;

    for (; *in; in++) {
        unsigned char c = (unsigned char)*in;
        if (c >= 0x20 && c != 0x7f) {
            if (used + 2 > size)
                break;
            out[used++] = *in;
        } else {
            if (used + 5 > size)
                break;
            out[used++] = '\\';
            out[used++] = 'x';
            out[used++] = digits[c >> 4];
            out[used++] = digits[c & 15];
        }
    }
    out[used] = '\0';
    return out;
}

__attribute__((format(printf, 1, 0))) static void complain(const char *format, va_list args,
                                                           const char *tail)
{
    char text[MESSAGE], clean[MESSAGE];

    vsnprintf(text, sizeof text, format, args);
    size_t length = strlen(text);
    if (*tail && length > 0 && text[length - 1] == '.')
        text[length - 1] = '\0';
    bale_clean_text(text, clean, sizeof clean);
    /* An empty name would not be seen. */
    fprintf(stderr, "balefs: %s%s%s\n", clean[0] == ':' ? "''" : "", clean, tail);
}

void bale_message(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    complain(format, args, "");
    va_end(args);
}

int bale_usage_error(const struct bale_command *command, const char *format, ...)
{
    va_list args;
    char tail[64];

    snprintf(tail, sizeof tail, ": see balefs %s --help", command->name);
    va_start(args, format);
    complain(format, args, tail);
    va_end(args);
    return command->usage;
}

static void bad_option(const struct bale_command *command, int argc, char **argv, int option)
{
    const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    char letter[3] = {'-', (char)optopt, '\0'};
    /* getopt_long leaves the letter of a short option in optopt, and of an unknown long one
     * nothing. */
    bool is_long = optopt == 0 || strncmp(word, "--", 2) == 0;
    const char *name = is_long ? word : letter;

    if (option == ':')
        bale_usage_error(command, "%s lacks its value", name);
    else if (is_long && optopt != 0)
        bale_usage_error(command, "%s: this option takes no value", name);
    else
        bale_usage_error(command, "unknown or ambiguous option %s", name);
}

int bale_options_next(const struct bale_command *command, int argc, char **argv, const char *shorts,
                      const struct option *longs)
{
    opterr = 0;
    int option = getopt_long(argc, argv, shorts, longs, NULL);
    if (option == 'h') {
        fputs(command->help, stdout);
        return BALE_OPTION_HELP;
    }
    if (option != '?' && option != ':')
        return option;
    bad_option(command, argc, argv, option);
    return BALE_OPTION_BAD;
}

int bale_options_status(const struct bale_command *command, int option)
{
    return option == BALE_OPTION_HELP ? BALE_EXIT_DONE : command->usage;
}

bool bale_size_parse(const char *text, uint64_t *size)
{
    static const char units[] = "KMGTPE";
    char *end;

    /* strtod also takes signs, blanks, "inf" and hexadecimal numbers. */
    if (!isdigit((unsigned char)text[0]) ||
        (text[0] == '0' && tolower((unsigned char)text[1]) == 'x'))
        return false;
    double value = strtod(text, &end);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (unit) {
        value = ldexp(value, 10 * (int)(unit - units + 1));
        end++;
        if (*end == 'i')
            end++;
    }
    if (*end == 'B')
        end++;
    if (*end || value >= 0x1p63)
        return false;
    *size = (uint64_t)value;
    return true;
}

bool bale_extent_size_parse(const char *text, uint32_t *extent)
{
    uint64_t size;

    if (!bale_size_parse(text, &size) || size < BALE_EXTENT_MIN || size > BALE_EXTENT_MAX ||
        size % BALE_EXTENT_STEP != 0)
        return false;
    *extent = (uint32_t)size;
    return true;
}

bool bale_chunk_parse(const char *text, uint8_t *log2)
{
    uint64_t size;

    if (!bale_size_parse(text, &size) || !bale_chunk_is_valid(size))
        return false;
    *log2 = (uint8_t)__builtin_ctzll(size);
    return true;
}

bool bale_count_parse(const char *text, uint64_t low, uint64_t high, uint64_t *count)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (*end || errno || value < low || value > high)
        return false;
    *count = value;
    return true;
}

int bale_count_take(const struct bale_command *command, const char *name, uint64_t most,
                    unsigned *count)
{
    uint64_t value;

    if (!bale_count_parse(optarg, 1, most, &value))
        return bale_usage_error(command, "--%s %s: give a whole number from 1 to %llu", name,
                                optarg, (unsigned long long)most);
    *count = (unsigned)value;
    return 0;
}

const char *bale_size_text(uint64_t size, char text[static BALE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)size;
    size_t unit = 0;

    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, BALE_TEXT, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

const char *bale_ratio_text(uint64_t logical, uint64_t stored, char text[static BALE_TEXT])
{
    if (stored == 0)
        snprintf(text, BALE_TEXT, "-");
    else
        snprintf(text, BALE_TEXT, "%.2f", (double)logical / (double)stored);
    return text;
}

const char *bale_reason(const char *why)
{
    const char *end = strncmp(why, "user.balefs.", 12) == 0 ? strstr(why, ": ") : NULL;

    return end ? end + 2 : why;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned bale_word_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD + 1];
    size_t m = strnlen(a, WORD), n = strnlen(b, WORD);
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (unsigned j = 0; j <= n; j++)
        above[j] = before[j] = j;
    for (unsigned i = 1; i <= m; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[n];
}
