/* What is a burst of writes, and what is not. */
#include "fs/cache/burst.h"
#include "tests/check.h"

#define MIB ((uint64_t)1 << 20)

/* How often it is a burst if so many bytes become dirty each millisecond. */
static unsigned bursts(uint64_t bytes, uint64_t begin_ms, uint64_t ms)
{
    struct bale_burst burst = {0};
    unsigned count = 0;

    for (uint64_t i = 0; i < ms; i++)
        count += bale_burst_note(&burst, begin_ms + i, bytes);
    return count;
}

int main(void)
{
    struct bale_burst burst = {0};

    /* A log: 20 MiB a second, for a minute. */
    CHECK_EQ_U(bursts(20 * MIB / 1000, 5000, 60000), 0);
    /* A stream of 1 GiB a second is noticed within its first second, and once a second. */
    CHECK_EQ_U(bursts(MIB, 5000, 33), 1);
    CHECK_EQ_U(bursts(MIB, 5000, 31), 0);
    CHECK_EQ_U(bursts(MIB, 5000, 10000), 10);
    /* All at once, after a long pause, and in the first second of the clock. */
    CHECK(bale_burst_note(&burst, 100000000, 64 * MIB));
    CHECK(!bale_burst_note(&burst, 100000001, 64 * MIB));
    CHECK(bale_burst_note(&burst, 200000000, 32 * MIB));
    CHECK_EQ_U(bursts(MIB, 0, 40), 1);
    return check_result();
}
