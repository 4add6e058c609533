/* Joining a thread that may hang in a driver. */
#ifndef BALE_KERNELS_BASE_JOIN_H
#define BALE_KERNELS_BASE_JOIN_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

/* How long the end of a program waits for such a thread before it abandons it. */
#define BALE_PATIENCE_S 5u

/* Joins the thread if it ends within so many seconds. False: it did not, and is not joined. */
static inline bool bale_join_within(pthread_t thread, unsigned seconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    return pthread_timedjoin_np(thread, NULL, &until) == 0;
}

#endif
