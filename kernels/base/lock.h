/* Mutexes that many threads want at once, each for less time than it takes to sleep and to be
 * woken. A thread that finds one locked spins for a moment first. Otherwise each waiting thread
 * would sleep, and so would the next. */
#ifndef BALE_KERNELS_BASE_LOCK_H
#define BALE_KERNELS_BASE_LOCK_H

#include <pthread.h>

static inline void bale_short_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

#endif
