/* Help texts. */
#ifndef BALE_TOOLS_COMMON_HELP_H
#define BALE_TOOLS_COMMON_HELP_H

#include <stdbool.h>

#include "format/codecs.h"

/* Prints a command's help to standard output. "{codecs}" in it stands for the list of codecs with
 * their options, which is wrapped, and indented as the line that it is in. */
void bale_help_print(const char *help);

/* Prints what `balefs help codecs` says: every codec with its options, their values and defaults.
 */
void bale_help_codecs(void);

/* The same as JSON, an array. False, after a message, if it cannot be printed. */
bool bale_help_codecs_json(void);

#endif
