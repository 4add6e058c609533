/* The list of settings that a bench measures. */
#ifndef BALE_TOOLS_BENCH_SETTINGS_H
#define BALE_TOOLS_BENCH_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/codecs.h"
#include "format/reason.h"

enum { BALE_BENCH_SETTINGS = 64 };

struct bale_bench_settings {
    struct bale_setting list[BALE_BENCH_SETTINGS];
    size_t count;
};

/* Adds a setting that the user asks for. False: why, which may be NULL, says what is wrong. */
bool bale_bench_settings_add(struct bale_bench_settings *settings, const char *text,
                             struct bale_reason *why);

/* Adds every codec of the registry that takes such chunks except zero, which is almost the same as
 * store, and at the end both kinds of auto. */
void bale_bench_settings_all(struct bale_bench_settings *settings, unsigned chunk_log2);

#endif
