/* Notices the beginning of a burst of writes, so that a GPU can be opened before the first flush:
 * 32 MiB become dirty within a second. A program that appends to a log stays far below that. */
#ifndef BALE_FS_CACHE_BURST_H
#define BALE_FS_CACHE_BURST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define BALE_BURST_BYTES ((uint64_t)32 << 20)
#define BALE_BURST_MS 1000u

/* Starts as zeros. */
struct bale_burst {
    atomic_uint_fast64_t begin_ms; /* of the second that is counted */
    atomic_uint_fast64_t bytes;    /* in it */
};

/* Counts bytes that became dirty at this time of the monotonic clock. True: with them it is a
 * burst; once in each second. Any thread; if two begin a second at once, the bytes of one are not
 * counted. */
bool bale_burst_note(struct bale_burst *burst, uint64_t now_ms, uint64_t bytes);

#endif
