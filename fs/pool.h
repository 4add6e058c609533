/* A fixed number of threads for work that may block on the backing store. A job never waits for
 * another job that has not started: what must wait for something else is submitted again by whoever
 * completes that. */
#ifndef BALE_FS_POOL_H
#define BALE_FS_POOL_H

#include "kernels/codec.h"

struct bale_job {
    /* scratch is the thread's own. The job may be freed by run. */
    void (*run)(struct bale_job *job, struct bale_scratch *scratch);
    struct bale_job *next; /* the pool's */
};

struct bale_pool;
int bale_pool_create(unsigned threads, struct bale_pool **pool);
void bale_pool_submit(struct bale_pool *pool, struct bale_job *job); /* first in, first out */
void bale_pool_destroy(struct bale_pool *pool); /* runs what is queued first; NULL is fine */

#endif
