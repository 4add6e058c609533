/* Times as nanoseconds since the epoch, as containers store them, and as struct timespec. */
#ifndef BALE_FS_BASE_TIMESPEC_H
#define BALE_FS_BASE_TIMESPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Times before 1677 and after 2262 do not fit into 64 bits: they wrap. */
static inline int64_t bale_nanoseconds_of(struct timespec time)
{
    return (int64_t)((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec);
}

/* Times before the epoch too: tv_nsec is never negative. */
static inline struct timespec bale_timespec_of(int64_t nanoseconds)
{
    int64_t seconds = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
    bool before = rest < 0;

    return (struct timespec){before ? seconds - 1 : seconds, before ? rest + 1000000000 : rest};
}

#endif
