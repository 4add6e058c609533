/* Syncing a volume where the backing file system cannot be synced as a whole: what was closed
 * before counts too. */
#include "fs/cache/volume.h"

#include "format/err.h"
#include "tests/support/volume.h"

static struct {
    int begun, closed, ended, tainted;
    int closed_error;
    uint32_t ended_session;
} calls;

static int begin_checkpoint(void *arg, uint32_t *session)
{
    (void)arg;
    calls.begun++;
    *session = 7;
    return BALE_OK;
}

static int end_checkpoint(void *arg, uint32_t session)
{
    (void)arg;
    calls.ended++;
    calls.ended_session = session;
    return BALE_OK;
}

static int sync_closed(void *arg)
{
    (void)arg;
    calls.closed++;
    return calls.closed_error;
}

static void tainted(void *arg)
{
    (void)arg;
    calls.tainted++;
}

static int64_t sync_volume(struct bale_volume *volume)
{
    struct bale_wait wait = BALE_WAIT;

    bale_volume_sync(volume, true, bale_wait_done_err, &wait);
    return bale_wait_for(&wait);
}

int main(void)
{
    struct bale_volume_options options = volume_options((uint64_t)32 << 20, 2);
    struct bale_volume *volume;

    options.sync_each = true;
    options.checkpoint_begin = begin_checkpoint;
    options.checkpoint_end = end_checkpoint;
    options.sync_closed = sync_closed;
    options.tainted = tainted;
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    CHECK_EQ(sync_volume(volume), BALE_OK);
    CHECK_EQ(calls.begun, 1);
    CHECK_EQ(calls.closed, 1);
    CHECK_EQ(calls.ended, 1);
    CHECK_EQ_U(calls.ended_session, 7);
    CHECK_EQ(calls.tainted, 0);
    /* What the earlier session wrote may be lost: it does not end, and nothing counts any more. */
    calls.closed_error = BALE_E_IO;
    CHECK_EQ(sync_volume(volume), BALE_E_IO);
    CHECK_EQ(calls.closed, 2);
    CHECK_EQ(calls.ended, 1);
    CHECK_EQ(calls.tainted, 1);
    calls.closed_error = BALE_OK;
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
