#include "fs/fuse/interrupt.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"

#define BUCKETS 256u
#define EARLY 64u

struct bale_interrupts {
    pthread_mutex_t lock; /* guards the rest */
    struct bale_interruptible *buckets[BUCKETS];
    /* The last few interrupts that found no request: another thread has read it and not yet added
     * it, or it has ended. */
    uint64_t early[EARLY];
    unsigned early_next;
};

/* The kernel numbers its requests in steps of two. */
static struct bale_interruptible **bucket_of(struct bale_interrupts *interrupts, uint64_t unique)
{
    return &interrupts->buckets[unique / 2 % BUCKETS];
}

int bale_interrupts_create(struct bale_interrupts **out)
{
    struct bale_interrupts *interrupts = calloc(1, sizeof *interrupts);

    if (!interrupts)
        return BALE_E_NOMEM;
    pthread_mutex_init(&interrupts->lock, NULL);
    *out = interrupts;
    return BALE_OK;
}

void bale_interrupts_destroy(struct bale_interrupts *interrupts)
{
    if (interrupts) {
        pthread_mutex_destroy(&interrupts->lock);
        free(interrupts);
    }
}

bool bale_interrupts_add(struct bale_interrupts *interrupts, struct bale_interruptible *request)
{
    bool early = false;
    struct bale_interruptible **bucket = bucket_of(interrupts, request->unique);

    pthread_mutex_lock(&interrupts->lock);
    for (unsigned i = 0; i < EARLY && !early; i++)
        early = interrupts->early[i] == request->unique;
    request->next = *bucket;
    *bucket = request;
    pthread_mutex_unlock(&interrupts->lock);
    return !early;
}

void bale_interrupts_remove(struct bale_interrupts *interrupts, struct bale_interruptible *request)
{
    pthread_mutex_lock(&interrupts->lock);
    struct bale_interruptible **at = bucket_of(interrupts, request->unique);
    while (*at != request)
        at = &(*at)->next;
    *at = request->next;
    pthread_mutex_unlock(&interrupts->lock);
}

/* NULL: it is not in the table. Under the lock. */
static struct bale_interruptible *find(struct bale_interrupts *interrupts, uint64_t unique)
{
    struct bale_interruptible *request = *bucket_of(interrupts, unique);

    while (request && request->unique != unique)
        request = request->next;
    return request;
}

void bale_interrupts_give_up(struct bale_interrupts *interrupts, uint64_t unique)
{
    pthread_mutex_lock(&interrupts->lock);
    struct bale_interruptible *request = find(interrupts, unique);
    if (request)
        atomic_store(&request->given_up, true);
    pthread_mutex_unlock(&interrupts->lock);
}

void bale_interrupts_deliver(struct bale_interrupts *interrupts, uint64_t unique)
{
    pthread_mutex_lock(&interrupts->lock);
    struct bale_interruptible *request = find(interrupts, unique);
    if (request)
        request->ref(request);
    else
        interrupts->early[interrupts->early_next++ % EARLY] = unique;
    pthread_mutex_unlock(&interrupts->lock);
    if (request)
        request->interrupt(request);
}
