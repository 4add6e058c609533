/* Writes that wait: parked until the next wake, never beyond one that came since they looked. */
#include "format/err.h"
#include "fs/cache/volume_state.h"
#include "kernels/base/container_of.h"
#include "tests/support/volume.h"

struct waiting {
    struct bale_parked_write parked;
    struct bale_wait wait;
};

static void waiting_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct waiting *waiting = BALE_CONTAINER_OF(job, struct waiting, parked.job);

    (void)scratch;
    bale_wait_done(&waiting->wait, waiting->parked.cancelled);
}

/* Looks, and finds that it must wait. */
static void waiting_look(struct waiting *waiting, const struct bale_volume *volume)
{
    *waiting = (struct waiting){.parked.job.run = waiting_job, .wait = BALE_WAIT};
    waiting->parked.wakes = bale_volume_wakes(volume);
}

int main(void)
{
    struct bale_volume_options options = volume_options((uint64_t)64 << 20, 1);
    struct bale_volume *volume;
    struct waiting late, frozen, cancelled;

    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);

    /* A wake between the look and the parking: the write looks again. The volume is frozen so that
     * the flusher wakes nobody. */
    waiting_look(&late, volume);
    bale_volume_wake(volume);
    bale_volume_set_frozen(volume);
    bale_volume_park(volume, &late.parked);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 0);
    CHECK_EQ(bale_wait_for(&late.wait), false);

    /* A wake of a frozen volume is none. */
    waiting_look(&frozen, volume);
    bale_volume_wake(volume);
    bale_volume_park(volume, &frozen.parked);
    bale_volume_wake(volume);
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 1);
    CHECK(bale_volume_set_thawed(volume) == NULL);
    bale_volume_wake(volume);
    CHECK_EQ(bale_wait_for(&frozen.wait), false);

    /* Cancelled before it was parked. */
    const atomic_bool cancel = true;
    waiting_look(&cancelled, volume);
    cancelled.parked.cancel = &cancel;
    bale_volume_park(volume, &cancelled.parked);
    CHECK_EQ(bale_wait_for(&cancelled.wait), true);

    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
