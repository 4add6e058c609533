/* A fixed number of threads for work that may block on the backing store. A job never waits for
 * another job that has not started: what must wait for something else is submitted again by whoever
 * completes that. */
#ifndef BALE_FS_BASE_POOL_H
#define BALE_FS_BASE_POOL_H

#include <stdbool.h>

#include "kernels/codec/codec.h"

struct bale_job {
    /* scratch is the thread's own. The job may be freed by run. */
    void (*run)(struct bale_job *job, struct bale_scratch *scratch);
    struct bale_job *next; /* the pool's */
};

struct bale_pool;
int bale_pool_create(unsigned threads, struct bale_pool **pool);
void bale_pool_submit(struct bale_pool *pool, struct bale_job *job); /* first in, first out */

/* Handing a small job to another thread costs more than the job. Between these the calling thread,
 * none of the pool's, is a guest, with a scratch of its own. around (may be NULL) is called when a
 * job begins and ends there. */
void bale_pool_enter(struct bale_pool *pool, void (*around)(bool begins));
void bale_pool_leave(struct bale_pool *pool);
/* Runs the job here if a guest calls, outside of a job, and fewer than half of the guests run one
 * (the others go on taking requests when the store stalls); else submits it. No lock may be held
 * that the job takes. */
void bale_pool_run(struct bale_pool *pool, struct bale_job *job);
bool bale_pool_in_job(void);                    /* the calling thread is a guest and runs a job */
void bale_pool_destroy(struct bale_pool *pool); /* runs what is queued first; NULL is fine */

#endif
