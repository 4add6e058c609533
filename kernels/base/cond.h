/* Condition variables whose waits end by the monotonic clock: setting the machine's clock neither
 * lengthens nor cuts short a wait. */
#ifndef BALE_KERNELS_BASE_COND_H
#define BALE_KERNELS_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/clock.h"

/* For bale_cond_wait_until; the caller destroys it. */
static inline void bale_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* Waits, with the mutex held, until woken or until bale_clock_ns() has reached deadline. False:
 * the deadline has passed. Wakes without a cause too, as any condition variable. */
static inline bool bale_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                        uint64_t deadline)
{
    struct timespec until = {.tv_sec = (time_t)(deadline / BALE_SECOND_NS),
                             .tv_nsec = (long)(deadline % BALE_SECOND_NS)};

    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

#endif
