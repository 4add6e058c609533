/* Whether the machine's CPUs are all at work, whoever's. */
#ifndef BALE_KERNELS_BUSY_H
#define BALE_KERNELS_BUSY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zeros to begin with. */
struct bale_busy {
    atomic_uint_fast64_t looked_ns; /* 0: never */
    atomic_bool busy;
    uint64_t all, idle; /* ticks at the last look: whoever looks has them alone */
};

/* Since the look before this one, ten times a second at most; false until there were two. Any
 * thread. */
bool bale_cpus_busy(struct bale_busy *busy);

#endif
