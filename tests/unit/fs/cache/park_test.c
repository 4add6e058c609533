/* Writes that wait: parked until the next wake, never beyond one that came since they looked. */
#include "tests/unit/fs/cache/parked.h"

int main(void)
{
    struct bale_volume_options options = volume_options((uint64_t)64 << 20, 1);
    struct bale_volume *volume;
    struct parked late, frozen, cancelled;

    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);

    /* A wake between the look and the parking: the write looks again. The volume is frozen so that
     * the flusher wakes nobody. */
    parked_look(&late, volume);
    bale_volume_wake(volume);
    bale_volume_set_frozen(volume);
    bale_volume_park(volume, &late.write);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 0);
    CHECK_EQ(bale_wait_for(&late.wait), false);

    /* A wake of a frozen volume is none. */
    parked_look(&frozen, volume);
    bale_volume_wake(volume);
    bale_volume_park(volume, &frozen.write);
    bale_volume_wake(volume);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 1);
    CHECK(bale_volume_set_thawed(volume) == NULL);
    bale_volume_wake(volume);
    CHECK_EQ(bale_wait_for(&frozen.wait), false);

    /* Cancelled before it was parked. */
    const atomic_bool cancel = true;
    parked_look(&cancelled, volume);
    cancelled.write.cancel = &cancel;
    bale_volume_park(volume, &cancelled.write);
    CHECK_EQ(bale_wait_for(&cancelled.wait), true);

    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
