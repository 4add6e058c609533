/* The monotonic clock in nanoseconds. */
#ifndef BALE_KERNELS_BASE_CLOCK_H
#define BALE_KERNELS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define BALE_SECOND_NS UINT64_C(1000000000)
#define BALE_MILLISECOND_NS UINT64_C(1000000)

static inline uint64_t bale_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * BALE_SECOND_NS + (uint64_t)now.tv_nsec;
}

#endif
