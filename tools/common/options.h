/* What all commands share: options, messages, sizes. Not for threads but where said. */
#ifndef BALE_TOOLS_COMMON_OPTIONS_H
#define BALE_TOOLS_COMMON_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/balefs.h"

/* "balefs: " and the text, on stderr, in one write. Control characters come out as \xNN: names in a
 * store may be anybody's. From any thread. */
void bale_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* As bale_message, for wrong usage: ends with ": see balefs COMMAND --help". Returns
 * command->usage. */
int bale_usage_error(const struct bale_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* getopt_long, with our messages. shorts begins with ':'. --help and -h are known without being
 * named. */
enum { BALE_OPTION_END = -1, BALE_OPTION_BAD = -2, BALE_OPTION_HELP = -3 };
int bale_options_next(const struct bale_command *command, int argc, char **argv, const char *shorts,
                      const struct option *longs);

/* What a command returns after BALE_OPTION_BAD or BALE_OPTION_HELP. */
int bale_options_status(const struct bale_command *command, int option);

/* "123", "64K", "1.5G" (powers of 1024; "KiB" and "KB" likewise). */
bool bale_size_parse(const char *text, uint64_t *size);

/* An extent size as FORMAT.md allows it. */
bool bale_extent_size_parse(const char *text, uint32_t *extent);

/* A chunk size as FORMAT.md allows it, of which the format has the binary logarithm. */
bool bale_chunk_parse(const char *text, uint8_t *log2);

/* A whole number from low to high. */
bool bale_count_parse(const char *text, uint64_t low, uint64_t high, uint64_t *count);

/* Takes the option --name's argument, a whole number from 1 on: 0, or the exit code. */
int bale_count_take(const struct bale_command *command, const char *name, uint64_t most,
                    unsigned *count);

#define BALE_TEXT 24
/* "17 B", "1.5 MiB". Returns text. */
const char *bale_size_text(uint64_t size, char text[static BALE_TEXT]);
/* "3.40", or "-" where nothing is stored. Returns text. */
const char *bale_ratio_text(uint64_t logical, uint64_t stored, char text[static BALE_TEXT]);

/* Copies with control characters as \xNN; a longer text is cut. Returns out. */
const char *bale_clean_text(const char *in, char *out, size_t size);

/* why without the name of the attribute, "user.balefs.match: ", which who gave an option never
 * wrote. */
const char *bale_reason(const char *why);

/* How much alike two words are: the number of letters to change, add, take away or swap. */
unsigned bale_word_distance(const char *a, const char *b);

#endif
