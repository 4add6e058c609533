#include "tools/inspect/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/store/store.h"
#include "kernels/base/cond.h"

/* Freed by whoever comes last: a thread that asks a store which stalls is left behind. */
struct query {
    char *store;
    char name[160];
    pthread_mutex_t lock; /* guards answered */
    pthread_cond_t ended;
    bool answered;
    atomic_bool one_has_left;
};

static void leave(struct query *query)
{
    if (!atomic_exchange(&query->one_has_left, true))
        return;
    pthread_cond_destroy(&query->ended);
    pthread_mutex_destroy(&query->lock);
    free(query->store);
    free(query);
}

static void *query_thread(void *arg)
{
    struct query *query = arg;
    char name[sizeof query->name] = "";

    (void)bale_store_written_by(query->store, name, sizeof name);
    pthread_mutex_lock(&query->lock);
    memcpy(query->name, name, sizeof name);
    query->answered = true;
    pthread_cond_signal(&query->ended);
    pthread_mutex_unlock(&query->lock);
    leave(query);
    return NULL;
}

static void await(struct query *query, char *name, size_t size)
{
    uint64_t deadline = bale_clock_ns() + BALE_SECOND_NS;

    pthread_mutex_lock(&query->lock);
    while (!query->answered && bale_cond_wait_until(&query->ended, &query->lock, deadline))
        ;
    snprintf(name, size, "%s", query->name);
    pthread_mutex_unlock(&query->lock);
}

void bale_writer_find(const char *store, char *name, size_t size)
{
    struct query *query = calloc(1, sizeof *query);
    pthread_t thread;

    *name = '\0';
    if (!query)
        return;
    query->store = strdup(store);
    pthread_mutex_init(&query->lock, NULL);
    bale_cond_init(&query->ended);
    if (query->store && pthread_create(&thread, NULL, query_thread, query) == 0) {
        pthread_detach(thread);
        await(query, name, size);
    } else {
        atomic_store(&query->one_has_left, true);
    }
    leave(query);
}
