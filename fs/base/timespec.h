/* Times as nanoseconds since the epoch, as containers store them, and as struct timespec. */
#ifndef BALE_FS_BASE_TIMESPEC_H
#define BALE_FS_BASE_TIMESPEC_H

#include <stdint.h>
#include <time.h>

static inline int64_t bale_nanoseconds_of(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Times before the epoch too: tv_nsec is never negative. */
static inline struct timespec bale_timespec_of(int64_t nanoseconds)
{
    int64_t rest = nanoseconds % 1000000000;

    rest += rest < 0 ? 1000000000 : 0;
    return (struct timespec){(nanoseconds - rest) / 1000000000, rest};
}

#endif
