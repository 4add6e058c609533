#include "fs/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/base/container_of.h"
#include "kernels/base/lock.h"
#include "kernels/base/thread.h"
#include "kernels/frame/registry.h"

struct bale_pool {
    pthread_mutex_t lock; /* guards work, jobs, running and ending */
    pthread_cond_t work;
    struct bale_turns jobs; /* use: nanoseconds on a thread */
    unsigned running;
    bool ending;
    atomic_uint waking;                 /* calls of submit between the lock and their end */
    atomic_uint guests, guests_running; /* guests_running may pass its limit for a moment */
    unsigned started;
    pthread_t threads[];
};

/* The state of the calling thread as a guest. */
static _Thread_local struct {
    struct bale_pool *pool; /* NULL: it is no guest */
    struct bale_scratch *scratch;
    void (*around)(bool begins);
    bool running;
    bool counted;                 /* in guests_running */
    struct bale_job *after;       /* runs when the job has returned, or NULL */
    struct bale_pool *pool_after; /* where it goes if it may not run here */
} guest;

/* Waits for the next job of a thread. The last idle thread takes only a job of a user who has none
 * running; other jobs then wait for a thread whose job ends. NULL: the pool ends, and no job is
 * left. Under pool->lock. */
static struct bale_job *take_job(struct bale_pool *pool)
{
    struct bale_turn *turn;

    while (!(turn = bale_turns_next(&pool->jobs,
                                    pool->running + 1 >= pool->started && !pool->ending)) &&
           !pool->ending)
        pthread_cond_wait(&pool->work, &pool->lock);
    if (turn) {
        bale_turns_take(&pool->jobs, turn);
        bale_turns_hold(&pool->jobs, turn->user, 1);
        pool->running++;
    }
    return turn ? BALE_CONTAINER_OF(turn, struct bale_job, turn) : NULL;
}

static void *pool_thread(void *arg)
{
    struct bale_pool *pool = arg;
    struct bale_scratch *scratch = NULL;
    struct bale_job *job;

    pthread_mutex_lock(&pool->lock);
    while ((job = take_job(pool))) {
        pthread_mutex_unlock(&pool->lock);
        /* A thread without scratch tries again at its next job; jobs treat NULL as no memory. */
        if (!scratch)
            (void)bale_scratch_create(&scratch);
        uint32_t user = bale_working_for = job->turn.user;
        uint64_t begin = bale_clock_ns();
        job->run(job, scratch);
        pthread_mutex_lock(&pool->lock);
        bale_turns_use(&pool->jobs, user, (int64_t)(bale_clock_ns() - begin));
        bale_turns_hold(&pool->jobs, user, -1);
        pool->running--;
    }
    pthread_mutex_unlock(&pool->lock);
    bale_scratch_destroy(scratch);
    return NULL;
}

int bale_pool_create(const char *name, unsigned threads, struct bale_pool **out)
{
    unsigned all = threads + 1;
    struct bale_pool *pool = calloc(1, sizeof *pool + all * sizeof pool->threads[0]);

    if (!pool)
        return BALE_E_NOMEM;
    bale_short_lock_init(&pool->lock);
    pthread_cond_init(&pool->work, NULL);
    pool->jobs.sums = true;
    for (unsigned i = 0; i < all; i++) {
        if (bale_thread_start(&pool->threads[i], name, pool_thread, pool) != 0) {
            bale_pool_destroy(pool);
            return BALE_E_NOMEM;
        }
        pthread_mutex_lock(&pool->lock);
        pool->started++;
        pthread_mutex_unlock(&pool->lock);
    }
    *out = pool;
    return BALE_OK;
}

/* Wakes without the lock, which the woken thread wants at once: on the same processor it would run
 * before the lock is free. */
void bale_pool_submit(struct bale_pool *pool, struct bale_job *job)
{
    pthread_mutex_lock(&pool->lock);
    bale_turns_add(&pool->jobs, &job->turn);
    atomic_fetch_add(&pool->waking, 1);
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_signal(&pool->work);
    atomic_fetch_sub(&pool->waking, 1); /* from here on the pool may be gone */
}

void bale_pool_enter(struct bale_pool *pool, void (*around)(bool begins))
{
    if (bale_scratch_create(&guest.scratch) == BALE_OK) {
        guest.pool = pool;
        guest.around = around;
        atomic_fetch_add(&pool->guests, 1);
    }
}

void bale_pool_leave(struct bale_pool *pool)
{
    if (guest.pool) {
        atomic_fetch_sub(&pool->guests, 1);
        bale_scratch_destroy(guest.scratch);
        guest.pool = NULL;
    }
}

bool bale_pool_may_run(const struct bale_pool *host)
{
    return guest.pool == host && !guest.running &&
           atomic_load(&host->guests_running) < atomic_load(&host->guests) / 2;
}

/* Whether the calling guest may run a job now. It then counts as running one: others may have begun
 * since it was asked. */
static bool guest_begin(struct bale_pool *host)
{
    if (!bale_pool_may_run(host))
        return false;
    if (atomic_fetch_add(&host->guests_running, 1) >= atomic_load(&host->guests) / 2) {
        atomic_fetch_sub(&host->guests_running, 1);
        return false;
    }
    guest.running = guest.counted = true;
    return true;
}

static void guest_run(struct bale_job *job)
{
    uint32_t user = bale_working_for;
    bool around = guest.around && !job->writes_nothing; /* run may free the job */

    bale_working_for = job->turn.user;
    if (around)
        guest.around(true);
    job->run(job, guest.scratch);
    if (around)
        guest.around(false);
    bale_working_for = user;
    bale_pool_job_blocks_no_more();
    guest.running = false;
}

void bale_pool_run(struct bale_pool *host, struct bale_pool *pool, struct bale_job *job)
{
    if (guest.pool == host && guest.running && !guest.counted && !guest.after) {
        guest.after = job;
        guest.pool_after = pool;
        return;
    }
    while (job && guest_begin(host)) {
        guest_run(job);
        job = guest.after;
        pool = guest.pool_after;
        guest.after = NULL;
    }
    if (job)
        bale_pool_submit(pool, job);
}

void bale_pool_job_blocks_no_more(void)
{
    if (guest.counted)
        atomic_fetch_sub(&guest.pool->guests_running, 1);
    guest.counted = false;
}

bool bale_pool_in_job(void)
{
    return guest.running;
}

void bale_pool_destroy(struct bale_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i], NULL);
    /* The last job may have ended before the thread that submitted it goes on. */
    while (atomic_load(&pool->waking) > 0)
        sched_yield();
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
