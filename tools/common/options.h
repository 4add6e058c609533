/* The options of a command: walking through them, and reporting wrong usage. One thread. */
#ifndef BALE_TOOLS_COMMON_OPTIONS_H
#define BALE_TOOLS_COMMON_OPTIONS_H

#include <getopt.h>
#include <stdint.h>

#include "tools/balefs.h"

/* Prints a message about wrong usage that ends with ": see balefs COMMAND --help". Returns
 * command->usage. */
int bale_usage_error(const struct bale_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same about a codec's setting: it ends with ": see balefs help codecs". */
int bale_codec_error(const struct bale_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* getopt_long with our messages. shorts begins with ':' and ends with 'h'; longs has "help". Prints
 * the command's help for -h and --help. */
enum { BALE_OPTION_END = -1, BALE_OPTION_BAD = -2, BALE_OPTION_HELP = -3 };
int bale_options_next(const struct bale_command *command, int argc, char **argv, const char *shorts,
                      const struct option *longs);

/* The exit code of a command after BALE_OPTION_BAD or BALE_OPTION_HELP. */
int bale_options_status(const struct bale_command *command, int option);

/* Parses the argument of the option --name, a whole number from 1 to most. 0, or the exit code. */
int bale_count_take(const struct bale_command *command, const char *name, uint64_t most,
                    unsigned *count);

/* The reason without the name of an attribute before it, such as "user.balefs.match: ", because the
 * user gave an option and no attribute. Points into why. */
const char *bale_reason(const char *why);

#endif
