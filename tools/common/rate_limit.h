/* A limit for the bytes that are processed each second. */
#ifndef BALE_TOOLS_COMMON_RATE_LIMIT_H
#define BALE_TOOLS_COMMON_RATE_LIMIT_H

#include <stdint.h>
#include <time.h>

#include "format/reason.h"

struct bale_rate_limit {
    uint64_t rate; /* bytes a second; 0: no limit */
    struct timespec next;
};

/* A zeroed struct has no limit. Parses "20M/s" or "20M". 0, or BALE_E_INVALID with why. */
int bale_rate_limit_parse(const char *text, struct bale_rate_limit *limit, struct bale_reason *why);

/* Call it after each part of the work: sleeps until the next part may begin, or until a signal
 * comes. Time that was not used earlier does not add up. */
void bale_rate_limit_keep(struct bale_rate_limit *limit, uint64_t bytes);

#endif
