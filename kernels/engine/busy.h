/* Whether most of the machine's CPUs are busy, with the work of any process. */
#ifndef BALE_KERNELS_ENGINE_BUSY_H
#define BALE_KERNELS_ENGINE_BUSY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts as zeros. */
struct bale_busy {
    atomic_uint_fast64_t updated_ns; /* 0: never; in the future: a thread is updating */
    atomic_bool busy;
    uint64_t all, idle; /* ticks at the last update; of the thread that is updating */
};

/* Reads the CPUs' times, a few times a second at most, and compares them with the last ones. Any
 * thread, but without a lock that others wait for: with many CPUs it takes a millisecond. */
void bale_busy_update(struct bale_busy *busy);

/* The result of the last update. */
static inline bool bale_is_busy(const struct bale_busy *busy)
{
    return atomic_load_explicit(&busy->busy, memory_order_relaxed);
}

#endif
