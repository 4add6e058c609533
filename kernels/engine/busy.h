/* Whether the most of the machine's CPUs are at work, whoever's. */
#ifndef BALE_KERNELS_ENGINE_BUSY_H
#define BALE_KERNELS_ENGINE_BUSY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros to begin with. */
struct bale_busy {
    atomic_uint_fast64_t updated_ns; /* 0: never */
    atomic_bool busy;
    uint64_t all, idle; /* ticks at the last look: whoever looks has them alone */
};

/* Looks, some times a second at most, and compares with the look before. Any thread; not with a lock
 * that others wait for: where there are many CPUs it takes a millisecond. */
void bale_busy_update(struct bale_busy *busy);

/* What was seen last. */
static inline bool bale_is_busy(const struct bale_busy *busy)
{
    return atomic_load_explicit(&busy->busy, memory_order_relaxed);
}

#endif
