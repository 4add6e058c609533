#include "fs/cache/grow.h"

#include "fs/base/log.h"
#include "fs/base/memory_claim.h"
#include "fs/cache/queue.h"
#include "fs/cache/reserve.h"
#include "fs/cache/volume_state.h"
#include "kernels/base/container_of.h"

void bale_volume_grow(struct bale_volume *volume)
{
    uint64_t cap = bale_memory_cap(volume->memory), most = bale_memory_gpu_cap();

    if (volume->options.memory || most <= cap)
        return;
    uint64_t bound = bale_memory_limit() / 16 - cap;
    uint64_t more = bale_memory_claim(most - cap, bound, &volume->claim);
    if (more == 0)
        return;
    bale_memory_grow(volume->memory, cap + more);
    bale_queue_set_limit(volume->queue);
    bale_reserve_grow(volume);
    bale_volume_wake(volume);
    bale_log(BALE_LOG_DEBUG, "memory: up to %llu MiB for the GPU, %llu MiB of them to be stored",
             (unsigned long long)bale_memory_cap(volume->memory) >> 20,
             (unsigned long long)atomic_load(&volume->dirty_limit) >> 20);
}

/* A job, since to reserve space takes a second where that means zeroing it. */
static void grow_job(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    bale_volume_grow(BALE_CONTAINER_OF(job, struct bale_volume, grow_job));
}

void bale_volume_grow_if_due(struct bale_volume *volume)
{
    if (!atomic_exchange(&volume->grow_due, false))
        return;
    volume->grow_job.run = grow_job;
    bale_pool_submit(volume->pool, &volume->grow_job);
}
