#include "fs/base/wait.h"

void bale_wait_done(void *arg, int64_t result)
{
    struct bale_wait *wait = arg;

    pthread_mutex_lock(&wait->lock);
    wait->result = result;
    wait->complete = true;
    pthread_cond_signal(&wait->wake);
    pthread_mutex_unlock(&wait->lock);
}

void bale_wait_done_err(void *arg, int err)
{
    bale_wait_done(arg, err);
}

void bale_wait_closed(void *arg, bool written, const struct stat *last)
{
    (void)written;
    (void)last;
    bale_wait_done(arg, 0);
}

int64_t bale_wait_for(struct bale_wait *wait)
{
    pthread_mutex_lock(&wait->lock);
    while (!wait->complete)
        pthread_cond_wait(&wait->wake, &wait->lock);
    wait->complete = false;
    pthread_mutex_unlock(&wait->lock);
    return wait->result;
}
