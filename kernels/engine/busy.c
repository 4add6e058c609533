#include "kernels/engine/busy.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/base/clock.h"

#define LOOK_NS ((uint64_t)100 * 1000000u)
/* After a longer time, which may have been idle: programs that all begin now show soon. */
#define SOON_NS ((uint64_t)25 * 1000000u)
/* Busy: less than one part in so many of the time is idle. What is read or written has to be
 * copied as well, so with half of the CPUs decoding the other half no longer keeps up with the
 * copies. */
#define IDLE_PART 2

/* Ticks of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal. */
static bool read_ticks(uint64_t *all, uint64_t *idle)
{
    uint64_t ticks[8] = {0};
    FILE *file = fopen("/proc/stat", "re");
    int count;

    if (!file)
        return false;
    count = fscanf(file,
                   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                   " %" SCNu64 " %" SCNu64,
                   &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6],
                   &ticks[7]);
    fclose(file);
    *all = 0;
    for (int i = 0; i < 8; i++)
        *all += ticks[i];
    *idle = ticks[3] + ticks[4];
    return count >= 5;
}

static void update_from_ticks(struct bale_busy *busy, bool first)
{
    uint64_t all;
    uint64_t idle;

    if (!read_ticks(&all, &idle))
        return;
    if (!first && all > busy->all)
        atomic_store_explicit(&busy->busy, (idle - busy->idle) * IDLE_PART < all - busy->all,
                              memory_order_relaxed);
    busy->all = all;
    busy->idle = idle;
}

void bale_busy_update(struct bale_busy *busy)
{
    uint64_t now = bale_clock_ns();
    uint64_t looked = atomic_load(&busy->updated_ns);

    /* While one thread updates, the time lies in the future, so no other thread does. */
    if (now >= looked + LOOK_NS &&
        atomic_compare_exchange_strong(&busy->updated_ns, &looked, UINT64_MAX / 2)) {
        update_from_ticks(busy, looked == 0);
        atomic_store(&busy->updated_ns,
                     now >= looked + 2 * LOOK_NS ? now - (LOOK_NS - SOON_NS) : now);
    }
}
