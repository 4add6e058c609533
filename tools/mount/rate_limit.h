/* No faster than so many bytes a second. */
#ifndef BALE_TOOLS_MOUNT_RATE_LIMIT_H
#define BALE_TOOLS_MOUNT_RATE_LIMIT_H

#include <stdint.h>
#include <time.h>

#include "format/reason.h"

struct bale_rate_limit {
    uint64_t rate; /* bytes a second; 0: as fast as may be */
    struct timespec next;
};

/* Zeroed is as fast as may be. "20M/s", "20M". 0, or BALE_E_INVALID and why. */
int bale_rate_limit_parse(const char *text, struct bale_rate_limit *limit, struct bale_reason *why);

/* After so many bytes: sleeps until the next may begin. What was done late is not made up for. */
void bale_rate_limit_keep(struct bale_rate_limit *limit, uint64_t bytes);

#endif
