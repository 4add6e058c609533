/* Waiting for an asynchronous call: pass a struct bale_wait as arg and one of the functions below
 * as the callback, then wait for the result. One thread waits. */
#ifndef BALE_FS_BASE_WAIT_H
#define BALE_FS_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct stat;

struct bale_wait {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool complete;  /* guarded by lock, like result */
    int64_t result; /* as the callback got it */
};

/* Its initialiser. */
#define BALE_WAIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0                              \
    }

/* Callbacks, any thread; arg is the struct bale_wait. One for each kind of callback: with a result
 * in bytes, with a bale_err, and for a file that closed, without a result. */
void bale_wait_done(void *arg, int64_t result);
void bale_wait_done_err(void *arg, int err);
void bale_wait_closed(void *arg, bool written, const struct stat *last);

/* Returns the result, 0 for bale_wait_closed. The same struct may then serve the next call. */
int64_t bale_wait_for(struct bale_wait *wait);

#endif
