#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

struct member {
    struct wave_team *team;
    int rank;
    pthread_t thread;
};

struct wave_team {
    int threads; /* the caller included */
    int started; /* members that have a thread: ranks 1 to started */
    struct member *members;
    pthread_mutex_t lock; /* over all below */
    pthread_cond_t start, end;
    unsigned long round; /* members run once a round */
    int running;
    bool stop;
    wave_team_work *work;
    void *arg;
    int items;
};

static void flush_denormals(void)
{
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040U); /* FTZ and DAZ */
#endif
}

static void run_slab(wave_team_work *work, void *arg, int items, int rank, int threads)
{
    int first = (int)((long long)items * rank / threads);
    int last = (int)((long long)items * (rank + 1) / threads);

    if (first < last)
        work(arg, first, last);
}

static void *member_main(void *arg)
{
    const struct member *m = arg;
    struct wave_team *team = m->team;
    unsigned long seen = 0;

    flush_denormals();
    pthread_mutex_lock(&team->lock);
    for (;;) {
        while (team->round == seen && !team->stop)
            pthread_cond_wait(&team->start, &team->lock);
        if (team->stop)
            break;
        seen = team->round;
        wave_team_work *work = team->work;
        void *work_arg = team->arg;
        int items = team->items;
        pthread_mutex_unlock(&team->lock);
        run_slab(work, work_arg, items, m->rank, team->threads);
        pthread_mutex_lock(&team->lock);
        if (--team->running == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

int wave_team_create(int threads, struct wave_team **out)
{
    *out = NULL;
    if (threads < 1 || threads > WAVE_THREADS_MAX)
        return -EINVAL;
    struct wave_team *team = calloc(1, sizeof *team);
    if (!team)
        return -ENOMEM;
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->start, NULL);
    pthread_cond_init(&team->end, NULL);
    team->threads = threads;
    team->members = calloc((size_t)threads, sizeof *team->members);
    int rc = team->members ? 0 : -ENOMEM;
    for (int i = 1; rc == 0 && i < threads; i++) {
        team->members[i] = (struct member){.team = team, .rank = i};
        rc = -pthread_create(&team->members[i].thread, NULL, member_main, &team->members[i]);
        if (rc == 0)
            team->started = i;
    }
    if (rc != 0) {
        wave_team_destroy(team);
        return rc;
    }
    flush_denormals();
    *out = team;
    return 0;
}

void wave_team_destroy(struct wave_team *team)
{
    if (!team)
        return;
    pthread_mutex_lock(&team->lock);
    team->stop = true;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    for (int i = 1; i <= team->started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->end);
    pthread_cond_destroy(&team->start);
    pthread_mutex_destroy(&team->lock);
    free(team->members);
    free(team);
}

void wave_team_run(struct wave_team *team, wave_team_work *work, void *arg, int items)
{
    pthread_mutex_lock(&team->lock);
    team->work = work;
    team->arg = arg;
    team->items = items;
    team->running = team->threads - 1;
    team->round++;
    pthread_cond_broadcast(&team->start);
    pthread_mutex_unlock(&team->lock);
    run_slab(work, arg, items, 0, team->threads);
    pthread_mutex_lock(&team->lock);
    while (team->running > 0)
        pthread_cond_wait(&team->end, &team->lock);
    pthread_mutex_unlock(&team->lock);
}

int wave_team_threads(const struct wave_team *team)
{
    return team->threads;
}
