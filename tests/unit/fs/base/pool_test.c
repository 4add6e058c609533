/* A pool's threads are shared by users: jobs of one that block, however many there are, leave a
 * thread for the others. */
#include "fs/base/pool.h"

#include <pthread.h>

#include "format/err.h"
#include "tests/check.h"

enum { THREADS = 4, STUCK = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned began, ended;
static bool go_on;
static uint32_t worked_for;

static void run_stuck(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)job, (void)scratch;
    pthread_mutex_lock(&lock);
    began++;
    pthread_cond_broadcast(&changed);
    while (!go_on)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void run_quick(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)job, (void)scratch;
    pthread_mutex_lock(&lock);
    worked_for = bale_working_for;
    ended++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

static void await(const unsigned *number, unsigned least)
{
    pthread_mutex_lock(&lock);
    while (*number < least)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

int main(void)
{
    static struct bale_job stuck[STUCK];
    struct bale_job quick[2] = {{.run = run_quick, .turn.user = 1002},
                                {.run = run_quick, .turn.user = 1003}};
    struct bale_pool *pool;

    REQUIRE(bale_pool_create("test", THREADS, &pool) == BALE_OK);
    for (unsigned i = 0; i < STUCK; i++) {
        stuck[i] = (struct bale_job){.run = run_stuck, .turn.user = 1001};
        bale_pool_submit(pool, &stuck[i]);
    }
    await(&began, THREADS);
    for (unsigned i = 0; i < 2; i++) {
        bale_pool_submit(pool, &quick[i]);
        await(&ended, i + 1); /* for ever, if one user may have all threads */
        CHECK_EQ_U(worked_for, quick[i].turn.user);
    }
    CHECK_EQ_U(began, THREADS);
    pthread_mutex_lock(&lock);
    go_on = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    bale_pool_destroy(pool);
    CHECK_EQ_U(began, STUCK);
    CHECK_EQ_U(bale_working_for, 0);
    return check_result();
}
