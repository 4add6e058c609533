/* A thread that waits for the end of what it has begun and others carry out. */
#ifndef BALE_FS_BASE_WAIT_H
#define BALE_FS_BASE_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct bale_wait {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over;
    int64_t result;
};

/* Its first value. */
#define BALE_WAIT                                                                                  \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0                              \
    }

/* To be called at the end, from any thread, with the struct bale_wait as arg. One for each kind of
 * callback that there is: of files, of volumes, and of files that close. */
void bale_wait_done(void *arg, int64_t result);
void bale_wait_done_err(void *arg, int err);
void bale_wait_closed(void *arg);

/* Waits for it: the result, 0 for a file that closed. The next call can then be begun with it. */
int64_t bale_wait_for(struct bale_wait *wait);

#endif
