/* Threads with names: ps -T, top -H and debuggers show which is which. */
#ifndef BALE_KERNELS_BASE_THREAD_H
#define BALE_KERNELS_BASE_THREAD_H

#include <pthread.h>

/* Starts a thread. name has at most 15 characters, what the kernel keeps. 0, or an errno. */
static inline int bale_thread_start(pthread_t *thread, const char *name, void *(*body)(void *),
                                    void *arg)
{
    int e = pthread_create(thread, NULL, body, arg);

    if (e == 0)
        (void)pthread_setname_np(*thread, name);
    return e;
}

#endif
