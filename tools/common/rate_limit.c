#include "tools/common/rate_limit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "tools/common/size.h"

/* A smaller rate probably lacks its unit. */
#define RATE_MIN ((uint64_t)64 << 10)

int bale_rate_limit_parse(const char *text, struct bale_rate_limit *limit, struct bale_reason *why)
{
    char size[BALE_TEXT];
    size_t length = strlen(text);
    uint64_t rate = 0;

    if (length > 2 && strcmp(text + length - 2, "/s") == 0)
        length -= 2;
    snprintf(size, sizeof size, "%.*s", (int)(length < sizeof size ? length : 0), text);
    if (!bale_size_parse(size, &rate) || rate == 0)
        bale_reason_set(why, "give a size, as 20M/s");
    else if (rate < RATE_MIN)
        bale_reason_set(why, "that is %s/s: give at least 64K, such as 20M",
                        bale_size_text(rate, size));
    else
        limit->rate = rate;
    return rate < RATE_MIN ? BALE_E_INVALID : BALE_OK;
}

void bale_rate_limit_keep(struct bale_rate_limit *limit, uint64_t bytes)
{
    struct timespec now;

    if (limit->rate == 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > limit->next.tv_sec ||
        (now.tv_sec == limit->next.tv_sec && now.tv_nsec > limit->next.tv_nsec))
        limit->next = now;
    double seconds = (double)bytes / (double)limit->rate;
    uint64_t ns = (uint64_t)limit->next.tv_nsec + (uint64_t)(seconds * 1e9);
    limit->next.tv_sec += (time_t)(ns / 1000000000);
    limit->next.tv_nsec = (long)(ns % 1000000000);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &limit->next, NULL);
}
