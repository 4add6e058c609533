#include "fs/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "format/err.h"

struct bale_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct bale_job *first;
    struct bale_job **last;
    bool ending;
    unsigned started;
    pthread_t threads[];
};

static void *serve(void *arg)
{
    struct bale_pool *pool = arg;
    struct bale_scratch *scratch = NULL;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->first && !pool->ending) {
            pthread_cond_wait(&pool->work, &pool->lock);
        }
        struct bale_job *job = pool->first;
        if (!job) {
            break;
        }
        pool->first = job->next;
        if (!pool->first) {
            pool->last = &pool->first;
        }
        pthread_mutex_unlock(&pool->lock);
        /* A thread without scratch tries again at its next job; jobs treat NULL as no memory. */
        if (!scratch) {
            (void)bale_scratch_create(&scratch);
        }
        job->run(job, scratch);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    bale_scratch_destroy(scratch);
    return NULL;
}

int bale_pool_create(unsigned threads, struct bale_pool **out)
{
    struct bale_pool *pool = calloc(1, sizeof *pool + threads * sizeof pool->threads[0]);
    if (!pool) {
        return BALE_E_NOMEM;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pool->last = &pool->first;
    for (; pool->started < threads; pool->started++) {
        if (pthread_create(&pool->threads[pool->started], NULL, serve, pool) != 0) {
            bale_pool_destroy(pool);
            return BALE_E_NOMEM;
        }
    }
    *out = pool;
    return BALE_OK;
}

void bale_pool_submit(struct bale_pool *pool, struct bale_job *job)
{
    job->next = NULL;
    pthread_mutex_lock(&pool->lock);
    *pool->last = job;
    pool->last = &job->next;
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void bale_pool_destroy(struct bale_pool *pool)
{
    if (!pool) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->started; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
