#include "tools/common/options.h"

#include <stdio.h>
#include <string.h>

#include "tools/common/help.h"
#include "tools/common/message.h"
#include "tools/common/size.h"

int bale_usage_error(const struct bale_command *command, const char *format, ...)
{
    va_list args;
    char tail[64];

    snprintf(tail, sizeof tail, ": see balefs %s --help", command->name);
    va_start(args, format);
    bale_message_list(format, args, tail);
    va_end(args);
    return command->usage;
}

int bale_codec_error(const struct bale_command *command, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    bale_message_list(format, args, ": see balefs help codecs");
    va_end(args);
    return command->usage;
}

static void bad_option(const struct bale_command *command, int argc, char **argv, int option)
{
    const char *word = optind > 0 && optind <= argc ? argv[optind - 1] : "";
    char letter[3] = {'-', (char)optopt, '\0'};
    /* After an error, getopt_long sets optopt to the letter of a short option, and to 0 for an
     * unknown long one. */
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
        bale_help_print(command->help);
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

const char *bale_reason(const char *why)
{
    const char *end = strncmp(why, "user.balefs.", 12) == 0 ? strstr(why, ": ") : NULL;

    return end ? end + 2 : why;
}
