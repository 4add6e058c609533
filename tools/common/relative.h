/* A bound that is a part of the range that each file's array has. */
#ifndef BALE_TOOLS_COMMON_RELATIVE_H
#define BALE_TOOLS_COMMON_RELATIVE_H

#include <stdbool.h>

#include "format/codecs.h"
#include "format/reason.h"

enum bale_relative {
    BALE_RELATIVE_BOUND,  /* the setting has one */
    BALE_RELATIVE_EXACT,  /* nothing is to be rounded: why says what the file is or lacks; the
                           * setting is one without loss */
    BALE_RELATIVE_FAILED, /* why says what went wrong */
};

/* Reads a regular file from where its descriptor stands, which stays, to its end. Completes the
 * setting of bale_setting_parse_relative with the range of the array's finite elements. is_over (may
 * be NULL): whether to end early, which fails. */
enum bale_relative bale_relative_setting(int fd, double relative, bool (*is_over)(void),
                                         struct bale_setting *setting, struct bale_reason *why);

#endif
