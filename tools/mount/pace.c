#include "tools/mount/pace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/options.h"

/* Less is a unit that was forgotten. */
#define RATE_MIN ((uint64_t)64 << 10)

int bale_pace_parse(const char *text, struct bale_pace *pace, char *why)
{
    char size[BALE_TEXT];
    size_t length = strlen(text);
    uint64_t rate = 0;

    if (length > 2 && strcmp(text + length - 2, "/s") == 0)
        length -= 2;
    snprintf(size, sizeof size, "%.*s", (int)(length < sizeof size ? length : 0), text);
    if (!bale_size_parse(size, &rate) || rate == 0)
        snprintf(why, BALE_WHY, "give a size, as 20M/s");
    else if (rate < RATE_MIN)
        snprintf(why, BALE_WHY, "that is %s/s: give at least 64K, such as 20M",
                 bale_size_text(rate, size));
    else
        pace->rate = rate;
    return rate < RATE_MIN ? BALE_E_INVALID : BALE_OK;
}

void bale_pace_keep(struct bale_pace *pace, uint64_t bytes)
{
    struct timespec now;

    if (pace->rate == 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec > pace->next.tv_sec ||
        (now.tv_sec == pace->next.tv_sec && now.tv_nsec > pace->next.tv_nsec))
        pace->next = now;
    double seconds = (double)bytes / (double)pace->rate;
    uint64_t ns = (uint64_t)pace->next.tv_nsec + (uint64_t)(seconds * 1e9);
    pace->next.tv_sec += (time_t)(ns / 1000000000);
    pace->next.tv_nsec = (long)(ns % 1000000000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &pace->next, NULL) == EINTR)
        continue;
}
