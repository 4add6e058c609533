/* A fixed number of threads for work that may block on the backing store. A job never waits for
 * another job that has not started: the code that completes what a job needs submits it again.
 * Users take turns by the time that their jobs have taken, and no user gets all threads. */
#ifndef BALE_FS_BASE_POOL_H
#define BALE_FS_BASE_POOL_H

#include <stdbool.h>

#include "kernels/base/turns.h"
#include "kernels/base/working_for.h"

struct bale_scratch;

struct bale_job {
    /* Runs once on a thread of the pool or of a guest, without locks. scratch belongs to that
     * thread; NULL if there is no memory for one. run may free the job. */
    void (*run)(struct bale_job *job, struct bale_scratch *scratch);
    /* The user whose job it is (set by the submitter): bale_working_for of its thread. */
    struct bale_turn turn;
    bool writes_nothing; /* to the store: a guest then runs the job without calling around */
};

struct bale_pool;
/* name: what ps and debuggers show of the threads, at most 15 characters. threads: the most that
 * the jobs of one user get; the pool has one more, for jobs of other users. */
int bale_pool_create(const char *name, unsigned threads, struct bale_pool **pool);
void bale_pool_submit(struct bale_pool *pool, struct bale_job *job);

/* Guests: handing a small job to another thread costs more than the job. Between enter and leave
 * the calling thread, which is none of the pool's, is a guest and may run jobs itself, with a
 * scratch of its own. around (may be NULL) is called on that thread before and after each such job
 * that may write. */
void bale_pool_enter(struct bale_pool *pool, void (*around)(bool begins));
void bale_pool_leave(struct bale_pool *pool);
/* Runs the job on the calling thread if that is a guest of host outside of a job and fewer than
 * half of the guests run one (the others go on taking requests when the store stalls); else submits
 * it to pool, which may be the host. The caller holds no lock that the job takes. */
void bale_pool_run(struct bale_pool *host, struct bale_pool *pool, struct bale_job *job);
/* Whether it would run a job on the calling thread now. Another guest may be faster. */
bool bale_pool_may_run(const struct bale_pool *host);
/* The rest of the calling guest's job does not block. From here on the guest counts as running no
 * job, and the next job that it gives to bale_pool_run runs when this one has returned. Call it
 * before the last reply of a job: the receiver may send its next request before the job has
 * returned. */
void bale_pool_job_blocks_no_more(void);
bool bale_pool_in_job(void);                    /* the calling thread is a guest and runs a job */
void bale_pool_destroy(struct bale_pool *pool); /* runs queued jobs first; NULL is fine */

#endif
