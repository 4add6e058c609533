#include "fs/base/pool.h"
#include "fs/fuse/opened.h"
#include "kernels/base/container_of.h"

unsigned bale_opened_count_waiters(const struct bale_use *waiters)
{
    unsigned n = 0;

    for (; waiters; waiters = waiters->next)
        n++;
    return n;
}

void bale_opened_call_waiters(struct bale_use *waiters, int e)
{
    while (waiters) {
        struct bale_use *next = waiters->next;
        waiters->ready(waiters, e);
        waiters = next;
    }
}

static void call_after_close(struct bale_use *use, int e)
{
    struct bale_mount *mount = use->mount;

    use->ready(use, e);
    pthread_mutex_lock(&mount->opened_lock);
    if (--mount->after_close == 0)
        pthread_cond_broadcast(&mount->closed);
    pthread_mutex_unlock(&mount->opened_lock);
}

static void use_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_use *use = BALE_CONTAINER_OF(job, struct bale_use, job);

    (void)scratch;
    call_after_close(use, use->e);
}

/* The close has not returned yet, and the thread may be one that must not stall in writes, because
 * closes that write nothing count on it. So a use that changes the store is called by a job of its
 * own; the first of these may run on this thread when the close has returned. */
void bale_opened_call_waiters_after_close(struct bale_use *waiters, int e)
{
    struct bale_use *changing = NULL, *next;

    for (; waiters; waiters = next) {
        next = waiters->next;
        if (waiters->changes) {
            waiters->next = changing;
            changing = waiters;
        } else {
            call_after_close(waiters, e);
        }
    }
    bale_pool_job_blocks_no_more();
    for (; changing; changing = next) {
        struct bale_pool *pool = bale_volume_pool(changing->mount->volume);
        next = changing->next;
        changing->e = e;
        changing->job.run = use_job;
        bale_pool_run(pool, pool, &changing->job);
    }
}
