/* A bound that is a part of the range that each file's array has. */
#ifndef BALE_TOOLS_STREAM_RELATIVE_H
#define BALE_TOOLS_STREAM_RELATIVE_H

#include <stdbool.h>

#include "format/codecs.h"
#include "tools/stream/pack.h"

/* Reads the source, a regular file, from where its descriptor stands, which stays, to its end.
 * Completes the setting of bale_setting_parse_relative with the range of the array's finite
 * elements. What is no array, or has no two different ones, gets a setting without loss, and a
 * message. False after a message. */
bool bale_relative_setting(const struct bale_source *source, double relative,
                           struct bale_setting *setting);

#endif
