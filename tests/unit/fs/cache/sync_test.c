/* Syncing a volume where the backing file system cannot be synced as a whole: what was closed
 * before counts too. */
#include "fs/cache/volume.h"

#include "format/err.h"
#include "fs/base/wait.h"
#include "tests/check.h"

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

static enum bale_session_state certain(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

static int64_t sync_volume(struct bale_volume *volume)
{
    struct bale_wait wait = BALE_WAIT;

    bale_volume_sync(volume, true, bale_wait_done_err, &wait);
    return bale_wait_for(&wait);
}

int main(void)
{
    static _Atomic uint32_t session = 1;
    static pthread_rwlock_t roll = PTHREAD_RWLOCK_INITIALIZER;
    struct bale_volume_options options = {
        .memory = (uint64_t)32 << 20,
        .threads = 2,
        .reserve_fd = -1,
        .sync_each = true,
        .checkpoint_begin = begin_checkpoint,
        .checkpoint_end = end_checkpoint,
        .sync_closed = sync_closed,
        .tainted = tainted,
        .container = {.session = &session,
                      .session_roll = &roll,
                      .writable = true,
                      .session_state = certain},
    };
    struct bale_volume *volume;

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
