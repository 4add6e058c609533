/* The volume of a unit test, and the calls on its files that tests wait for. */
#ifndef BALE_TESTS_SUPPORT_VOLUME_H
#define BALE_TESTS_SUPPORT_VOLUME_H

#include "fs/base/wait.h"
#include "fs/cache/file.h"
#include "fs/cache/volume.h"
#include "tests/check.h"

#define VOLUME_NEVER_MS 1000000u /* an age that no dirty data reaches in a test */

static inline enum bale_session_state volume_session_state(const void *arg, uint32_t session)
{
    (void)arg;
    (void)session;
    return BALE_SESSION_CERTAIN;
}

/* Options of a volume that writes, without a reserve; its containers are of one session, which is
 * certain. memory: the cap in bytes; threads: of the engine. */
static inline struct bale_volume_options volume_options(uint64_t memory, unsigned threads)
{
    static _Atomic uint32_t session = 1;
    static pthread_rwlock_t roll = PTHREAD_RWLOCK_INITIALIZER;

    return (struct bale_volume_options){
        .memory = memory,
        .threads = threads,
        .reserve_fd = -1,
        .container = {.session = &session,
                      .session_roll = &roll,
                      .writable = true,
                      .session_state = volume_session_state},
    };
}

static inline void volume_file_write(struct bale_file *file, uint64_t offset, const void *data,
                                     size_t length)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_write(file, offset, data, length, bale_wait_done, &wait);
    CHECK_EQ_U((uint64_t)bale_wait_for(&wait), length);
}

static inline void volume_file_flush(struct bale_file *file, bool durable)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_flush(file, durable, bale_wait_done, &wait);
    CHECK_EQ(bale_wait_for(&wait), BALE_OK);
}

/* Gives up the last reference; returns when the file is closed. */
static inline void volume_file_close(struct bale_file *file)
{
    struct bale_wait wait = BALE_WAIT;

    bale_file_on_close(file, bale_wait_closed, &wait);
    bale_file_unref(file);
    bale_wait_for(&wait);
}

#endif
