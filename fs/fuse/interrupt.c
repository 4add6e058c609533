#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/mount.h"

#define BUCKETS 256u
#define EARLY 64u

struct bale_interrupts {
    pthread_mutex_t lock;
    struct bale_interruptible *buckets[BUCKETS];
    /* Interrupts whose request another thread has read and not yet added, or which is over: the
     * last few. */
    uint64_t early[EARLY];
    unsigned early_next;
};

/* The kernel's numbers of requests go up in twos. */
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

bool bale_interrupts_add(struct bale_interrupts *interrupts, struct bale_interruptible *what)
{
    bool early = false;
    struct bale_interruptible **bucket = bucket_of(interrupts, what->unique);

    pthread_mutex_lock(&interrupts->lock);
    for (unsigned i = 0; i < EARLY && !early; i++)
        early = interrupts->early[i] == what->unique;
    what->next = *bucket;
    *bucket = what;
    pthread_mutex_unlock(&interrupts->lock);
    return !early;
}

void bale_interrupts_remove(struct bale_interrupts *interrupts, struct bale_interruptible *what)
{
    pthread_mutex_lock(&interrupts->lock);
    struct bale_interruptible **at = bucket_of(interrupts, what->unique);
    while (*at != what)
        at = &(*at)->next;
    *at = what->next;
    pthread_mutex_unlock(&interrupts->lock);
}

void bale_interrupts_deliver(struct bale_interrupts *interrupts, uint64_t unique)
{
    pthread_mutex_lock(&interrupts->lock);
    struct bale_interruptible *what = *bucket_of(interrupts, unique);
    while (what && what->unique != unique)
        what = what->next;
    if (what)
        what->ref(what);
    else
        interrupts->early[interrupts->early_next++ % EARLY] = unique;
    pthread_mutex_unlock(&interrupts->lock);
    if (what)
        what->interrupt(what);
}
