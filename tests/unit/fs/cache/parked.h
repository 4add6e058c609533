/* Writes that are parked, also in a volume in which only others than the flusher wake them. */
#ifndef BALE_TESTS_UNIT_FS_CACHE_PARKED_H
#define BALE_TESTS_UNIT_FS_CACHE_PARKED_H

#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/flusher.h"
#include "kernels/base/container_of.h"
#include "tests/support/volume.h"

/* A write of the test's own. Its result is whether it was cancelled. */
struct parked {
    struct bale_parked_write write;
    struct bale_wait wait;
};

static inline void parked_run(struct bale_job *job, struct bale_scratch *scratch)
{
    struct parked *parked = BALE_CONTAINER_OF(job, struct parked, write.job);

    (void)scratch;
    bale_wait_done(&parked->wait, parked->write.cancelled);
}

/* Looks, and finds that it must wait. */
static inline void parked_look(struct parked *parked, const struct bale_volume *volume)
{
    *parked = (struct parked){.write.job.run = parked_run, .wait = BALE_WAIT};
    parked->write.wakes = bale_volume_wakes(volume);
}

/* Ends the flusher, which would wake writes now and then. The one that takes its place, for
 * bale_volume_destroy, ends at once. */
static inline void parked_stop_flusher(struct bale_volume *volume)
{
    bale_flusher_stop(volume->flusher);
    bale_flusher_free(volume->flusher);
    REQUIRE(bale_flusher_start(volume, &volume->flusher) == BALE_OK);
}

static inline struct bale_file *parked_open(struct bale_volume *volume)
{
    const struct bale_container_attr defaults = {.extent = BALE_EXTENT_DEFAULT,
                                                 .setting.codec = BALE_CODEC_LZ4};
    char path[] = "/tmp/bale-parked-test-XXXXXX";
    int fd = mkstemp(path);
    struct bale_file *file;

    REQUIRE(fd >= 0);
    unlink(path);
    REQUIRE(bale_file_open(volume, fd, &defaults, "parked", &file, NULL) == BALE_OK);
    return file;
}

/* The write is to have been woken. One that was not is woken here, and so ends, too. */
static inline void parked_check_woken(struct bale_volume *volume, struct bale_wait *write,
                                      int64_t result)
{
    CHECK_EQ_U(bale_volume_waiting_writes(volume), 0);
    bale_volume_wake(volume);
    CHECK_EQ(bale_wait_for(write), result);
}

#endif
