/* Memory that a GPU's engine has pinned and does not use is given back to the system when that has
 * little left, and not otherwise. usage: give_back_test PLUGIN */
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/cache/flusher.h"
#include "tests/support/volume.h"

#define MIB ((uint64_t)1 << 20)

static atomic_bool scarce;

static bool is_scarce(void)
{
    return atomic_load(&scarce);
}

static struct bale_gpu_stats stats_of(struct bale_volume *volume)
{
    struct bale_volume_stats stats;

    bale_volume_stats(volume, &stats);
    return stats.engine.device;
}

int main(int argc, char **argv)
{
    struct bale_volume_options options = volume_options(64 * MIB, 1);
    struct bale_volume *volume;

    REQUIRE(argc == 2);
    setenv("BALE_FAKE_GPU", "keeps", 1);
    options.engine.plugin = argv[1];
    options.engine.choice = BALE_ENGINE_GPU;
    REQUIRE(bale_volume_create(&options, &volume) == BALE_OK);
    volume->memory_is_scarce = is_scarce;
    bale_volume_open_gpu(volume);
    while (stats_of(volume).pinned < 64 * MIB)
        usleep(1000);
    uint8_t *block = bale_memory_allocate(volume->memory, MIB);
    block[0] = 1;
    bale_memory_free(volume->memory, block, MIB);

    atomic_store(&scarce, true); /* in use */
    bale_flusher_give_back(volume);
    CHECK_EQ_U(stats_of(volume).pinned, 64 * MIB);
    CHECK_EQ(block[0], 1);

    atomic_store(&scarce, false);
    bale_volume_release_gpu(volume);
    bale_flusher_give_back(volume);
    CHECK(stats_of(volume).kept);
    CHECK_EQ_U(stats_of(volume).pinned, 64 * MIB);
    CHECK_EQ(block[0], 1);

    atomic_store(&scarce, true);
    bale_flusher_give_back(volume);
    CHECK(stats_of(volume).kept);
    CHECK_EQ_U(stats_of(volume).pinned, 0);
    CHECK_EQ(block[0], 0);

    bale_dispatch_wake_gpu(volume->engine);
    CHECK(stats_of(volume).open);
    CHECK_EQ_U(stats_of(volume).pinned, 64 * MIB);
    CHECK_EQ(bale_volume_destroy(volume), BALE_OK);
    return check_result();
}
