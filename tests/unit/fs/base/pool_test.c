/* A pool's threads are shared by users: jobs of one that block, however many there are, leave a
 * thread for the others. Of the guests half may run jobs that block. */
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

static void begin_and_wait(void)
{
    pthread_mutex_lock(&lock);
    began++;
    pthread_cond_broadcast(&changed);
    while (!go_on)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void run_stuck(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)job, (void)scratch;
    begin_and_wait();
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

static pthread_t ran_on;
static bool ran;

static void run_noting(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)job, (void)scratch;
    pthread_mutex_lock(&lock);
    ran_on = pthread_self();
    ran = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* A guest's job, with the pool, while which another guest is given one. */
struct first_job {
    struct bale_job job;
    struct bale_pool *pool;
};

/* Waits until a noting job has run: whether this thread did. */
static bool ran_here(void)
{
    pthread_mutex_lock(&lock);
    while (!ran)
        pthread_cond_wait(&changed, &lock);
    bool here = pthread_equal(ran_on, pthread_self());
    ran = false;
    pthread_mutex_unlock(&lock);
    return here;
}

/* Another guest: whether it runs a job itself. */
static void *second_guest(void *arg)
{
    static bool itself;
    struct bale_pool *pool = arg;
    struct bale_job job = {.run = run_noting};

    bale_pool_enter(pool, NULL);
    bool may = bale_pool_may_run(pool);
    bale_pool_run(pool, pool, &job);
    itself = ran_here();
    CHECK(may == itself);
    bale_pool_leave(pool);
    return &itself;
}

static bool second_runs_itself(struct bale_pool *pool)
{
    pthread_t thread;
    void *itself = NULL;

    REQUIRE(pthread_create(&thread, NULL, second_guest, pool) == 0);
    REQUIRE(pthread_join(thread, &itself) == 0);
    return *(bool *)itself;
}

static void run_first(struct bale_job *job, struct bale_scratch *scratch)
{
    static struct bale_job inner[3];
    struct bale_pool *pool = ((struct first_job *)job)->pool;

    for (unsigned i = 0; i < 3; i++)
        inner[i] = (struct bale_job){.run = run_noting};
    CHECK(scratch != NULL);
    CHECK(bale_pool_in_job());
    CHECK(!bale_pool_may_run(pool));
    CHECK(!second_runs_itself(pool));
    bale_pool_run(pool, pool, &inner[0]);
    CHECK(!ran_here());
    bale_pool_job_blocks_no_more();
    CHECK(second_runs_itself(pool));
    bale_pool_job_blocks_no_more(); /* counts once */
    CHECK(second_runs_itself(pool));
    bale_pool_run(pool, pool, &inner[1]); /* when this one has returned */
    bale_pool_run(pool, pool, &inner[2]); /* one is enough */
    CHECK(!ran_here());
    CHECK(!ran);
    CHECK(bale_pool_in_job());
    ended++;
}

/* A guest that runs nothing. */
static void *idle_guest(void *arg)
{
    bale_pool_enter(arg, NULL);
    begin_and_wait();
    bale_pool_leave(arg);
    return NULL;
}

static void test_guests(void)
{
    struct first_job first = {.job.run = run_first};
    struct bale_pool *pool;
    pthread_t idle;

    REQUIRE(bale_pool_create("test", 1, &pool) == BALE_OK);
    first.pool = pool;
    began = ended = 0;
    go_on = false;
    bale_pool_enter(pool, NULL);
    REQUIRE(pthread_create(&idle, NULL, idle_guest, pool) == 0);
    await(&began, 1);
    for (unsigned i = 1; i <= 2; i++) {
        bale_pool_run(pool, pool, &first.job);
        CHECK_EQ_U(ended, i);
        CHECK(ran && ran_here());
        CHECK(!bale_pool_in_job());
    }
    pthread_mutex_lock(&lock);
    go_on = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    pthread_join(idle, NULL);
    bale_pool_leave(pool);
    bale_pool_destroy(pool);
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
    test_guests();
    return check_result();
}
