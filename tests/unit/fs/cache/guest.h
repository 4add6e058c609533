/* A thread that takes requests, as a session's do, and may run jobs of a pool itself. */
#ifndef BALE_TESTS_UNIT_FS_CACHE_GUEST_H
#define BALE_TESTS_UNIT_FS_CACHE_GUEST_H

#include <pthread.h>

#include "fs/base/pool.h"
#include "tests/check.h"

struct other_guest {
    struct bale_pool *pool;
    pthread_barrier_t barrier;
};

static inline void *be_other_guest(void *arg)
{
    struct other_guest *other = arg;

    bale_pool_enter(other->pool, NULL);
    pthread_barrier_wait(&other->barrier); /* it is a guest */
    pthread_barrier_wait(&other->barrier); /* it need be no more */
    bale_pool_leave(other->pool);
    return NULL;
}

/* Makes the call as a guest of the pool that may run a job: only half of the guests may, so another
 * one is there, which runs none. */
static inline void call_as_guest(struct bale_pool *pool, void (*call)(void *arg), void *arg)
{
    struct other_guest other = {.pool = pool};
    pthread_t thread;

    pthread_barrier_init(&other.barrier, NULL, 2);
    REQUIRE(pthread_create(&thread, NULL, be_other_guest, &other) == 0);
    pthread_barrier_wait(&other.barrier);
    bale_pool_enter(pool, NULL);
    call(arg);
    bale_pool_leave(pool);
    pthread_barrier_wait(&other.barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&other.barrier);
}

#endif
