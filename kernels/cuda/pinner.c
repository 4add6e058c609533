/* Pinning for a new context what was pinned for the one before, and again what was unpinned while a
 * context was kept. The devices are ready as soon as the first range is pinned; a thread pins the
 * others, in the order in which they came, which is that of their use, while batches of what is
 * pinned already are done. */
#include <time.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

void bale_cuda_count_pinned(struct cuda_engine *engine)
{
    pthread_mutex_lock(&engine->mutex);
    engine->stats.pinned = engine->is_pinned ? bale_cuda_pinned_bytes(&engine->pinned) : 0;
    pthread_mutex_unlock(&engine->mutex);
}

/* Pins the next range. With pinning. */
static int pin_next(struct cuda_engine *engine)
{
    const struct cuda_range *range = &engine->pinned.ranges[engine->pinned.usable];
    int err = bale_cuda_pin(engine->info[0].ordinal, range->memory, range->size);

    if (err == BALE_OK)
        bale_cuda_pinned_set_usable(&engine->pinned, engine->pinned.usable + 1);
    return err;
}

int bale_cuda_pin_first(struct cuda_engine *engine, struct bale_reason *why)
{
    int err;

    if (engine->is_pinned)
        return BALE_OK;
    bale_cuda_pinned_set_usable(&engine->pinned, 0);
    err = engine->pinned.count > 0 ? pin_next(engine) : BALE_OK;
    if (err < 0) {
        bale_cuda_pinned_set_usable(&engine->pinned, engine->pinned.count);
        bale_reason_set(why, "the host's memory cannot be pinned: %s", bale_err_text(err));
        return err;
    }
    engine->is_pinned = true;
    bale_cuda_count_pinned(engine);
    return BALE_OK;
}

/* While nothing is pinned, items of all ranges may come, and open the devices. */
void bale_cuda_unpin_all(struct cuda_engine *engine)
{
    for (size_t i = 0; engine->is_pinned && i < engine->pinned.usable; i++)
        bale_cuda_unpin(engine->info[0].ordinal, engine->pinned.ranges[i].memory);
    engine->is_pinned = false;
    bale_cuda_pinned_set_usable(&engine->pinned, engine->pinned.count);
    bale_cuda_count_pinned(engine);
}

void bale_cuda_yield_to_batches(struct cuda_engine *engine, uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / BALE_SECOND_NS), (long)(ns % BALE_SECOND_NS)};

    pthread_mutex_lock(&engine->mutex);
    bool busy = engine->busy_workers > 0;
    pthread_mutex_unlock(&engine->mutex);
    if (busy)
        nanosleep(&time, NULL);
}

/* False: there is nothing left to pin. */
static bool pin_one_more(struct cuda_engine *engine)
{
    uint64_t begin_ns;
    bool left;
    int err = BALE_OK;

    pthread_mutex_lock(&engine->pinning);
    begin_ns = bale_clock_ns();
    left = engine->is_pinned && engine->pinned.usable < engine->pinned.count;
    if (left)
        err = pin_next(engine);
    bale_cuda_count_pinned(engine);
    pthread_mutex_unlock(&engine->pinning);
    if (left && err == BALE_OK)
        bale_cuda_yield_to_batches(engine, bale_clock_ns() - begin_ns);
    if (err == BALE_OK)
        return left;
    bale_cuda_log(engine, BALE_GPU_WARNING,
                  "GPU: the host's memory cannot be pinned: %s: the CPU does what lies there",
                  bale_err_text(err));
    return false;
}

void *bale_cuda_pinner_thread(void *argument)
{
    struct cuda_engine *engine = argument;

    pthread_mutex_lock(&engine->mutex);
    while (!engine->stop) {
        if (!engine->pins_left) {
            pthread_cond_wait(&engine->pinner_wake, &engine->mutex);
            continue;
        }
        engine->pins_left = false;
        pthread_mutex_unlock(&engine->mutex);
        bool more = pin_one_more(engine);
        pthread_mutex_lock(&engine->mutex);
        engine->pins_left |= more;
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}
