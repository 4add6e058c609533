/* How long the CUDA engine keeps a device's context without work, with the limits of a mount: the
 * memory for batches goes after ten seconds, what is pinned if its user says so, and nothing more
 * before a quarter of an hour. The test sets the time since the last batch instead of waiting. */
#include <unistd.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"
#include "tests/check.h"

enum { SLOTS_MS = 10000, RELEASE_MS = 900000, RANGE = 1 << 20, SECOND_MS = 1000 };

/* tests/cuda/fake_driver.c */
uint64_t bale_driver_looks(void);

extern const struct bale_gpu bale_gpu_plugin;

static uint8_t memory[RANGE], more[RANGE];

static void ignore_log(int level, const char *text)
{
    (void)level;
    (void)text;
}

static struct cuda_engine *open_engine(void)
{
    const struct bale_gpu_options options = {
        .slots_ms = SLOTS_MS, .release_ms = RELEASE_MS, .log = ignore_log};
    struct bale_engine *engine;
    struct bale_reason why;

    REQUIRE(bale_gpu_plugin.open(&options, &engine, &why) == BALE_OK);
    REQUIRE(bale_gpu_plugin.pin(engine, memory, sizeof memory) == BALE_OK);
    return bale_cuda_engine(engine);
}

static struct bale_gpu_stats stats_of(struct cuda_engine *engine)
{
    struct bale_gpu_stats stats;

    bale_gpu_plugin.stats(&engine->base, &stats);
    return stats;
}

static void wake_supervisor(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    pthread_cond_signal(&engine->supervisor_wake);
    pthread_mutex_unlock(&engine->mutex);
    usleep(1000);
}

static void set_idle(struct cuda_engine *engine, unsigned seconds)
{
    pthread_mutex_lock(&engine->mutex);
    engine->idle_ns = bale_clock_ns() - seconds * BALE_SECOND_NS;
    pthread_mutex_unlock(&engine->mutex);
}

/* While a context is kept the supervisor asks the driver each time that it wakes, and then decides:
 * when it asks for the second time it has decided once. */
static void let_supervisor_decide(struct cuda_engine *engine)
{
    uint64_t looks = bale_driver_looks();

    while (bale_driver_looks() < looks + 2)
        wake_supervisor(engine);
}

static void count_call(void *count)
{
    ++*(unsigned *)count;
}

static bool is_unpinned(struct cuda_engine *engine)
{
    unsigned calls = 0;
    bool called = bale_gpu_plugin.while_unpinned(&engine->base, count_call, &calls);

    CHECK_EQ_U(calls, called);
    return called;
}

/* The context stays, and what was unpinned is pinned with the memory for the next batch. */
static void test_unpin(struct cuda_engine *engine)
{
    bale_gpu_plugin.unpin(&engine->base); /* not while there is memory for batches */
    wake_supervisor(engine);
    CHECK_EQ_U(stats_of(engine).pinned, sizeof memory);
    CHECK(!is_unpinned(engine));
    set_idle(engine, SLOTS_MS / SECOND_MS + 1);
    while (!stats_of(engine).kept)
        wake_supervisor(engine);
    let_supervisor_decide(engine);
    CHECK_EQ_U(stats_of(engine).pinned, sizeof memory);
    CHECK(!is_unpinned(engine));
    uint64_t opened_ns = stats_of(engine).opening.begin_ns;
    bale_gpu_plugin.unpin(&engine->base);
    while (!is_unpinned(engine) || !stats_of(engine).kept)
        usleep(1000);
    CHECK_EQ_U(stats_of(engine).pinned, 0);
    CHECK(stats_of(engine).device_memory > 0);
    REQUIRE(bale_gpu_plugin.pin(&engine->base, more, sizeof more) == BALE_OK); /* later */
    CHECK_EQ_U(stats_of(engine).pinned, 0);
    bale_gpu_plugin.wake(&engine->base);
    while (stats_of(engine).opening.begin_ns == opened_ns)
        usleep(1000);
    CHECK_EQ_U(stats_of(engine).opening.phase_ns[BALE_GPU_CONTEXT], 0);
    CHECK(stats_of(engine).opening.phase_ns[BALE_GPU_PINS] > 0);
    CHECK(!is_unpinned(engine));
    while (stats_of(engine).pinned < sizeof memory + sizeof more)
        usleep(1000);
}

int main(void)
{
    static const unsigned pauses[] = {36, 60, 300, 600, RELEASE_MS / SECOND_MS - 5};
    struct cuda_engine *engine = open_engine();
    uint64_t opened_ns = stats_of(engine).opening.begin_ns;

    set_idle(engine, SLOTS_MS / SECOND_MS + 1);
    while (!stats_of(engine).kept)
        wake_supervisor(engine);
    uint64_t kept = stats_of(engine).device_memory;
    CHECK(kept > 0);
    for (size_t i = 0; i < sizeof pauses / sizeof pauses[0]; i++) {
        set_idle(engine, pauses[i]);
        let_supervisor_decide(engine);
        struct bale_gpu_stats stats = stats_of(engine);
        CHECK(stats.kept);
        CHECK_EQ_U(stats.device_memory, kept);
        CHECK_EQ_U(stats.pinned, sizeof memory);
        CHECK(engine->is_pinned);
    }
    bale_gpu_plugin.wake(&engine->base);
    while (stats_of(engine).opening.begin_ns == opened_ns)
        usleep(1000);
    CHECK_EQ_U(stats_of(engine).opening.phase_ns[BALE_GPU_CONTEXT], 0);
    CHECK_EQ_U(stats_of(engine).opening.phase_ns[BALE_GPU_PINS], 0);

    test_unpin(engine);
    set_idle(engine, RELEASE_MS / SECOND_MS + 1);
    while (stats_of(engine).open || stats_of(engine).kept)
        wake_supervisor(engine);
    CHECK_EQ_U(stats_of(engine).device_memory, 0);
    CHECK_EQ_U(stats_of(engine).pinned, 0);
    CHECK(!engine->is_pinned);
    bale_engine_destroy(&engine->base);
    return check_result();
}
