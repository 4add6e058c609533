#include "kernels/engine/copies.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/base/thread.h"

#define PIECE ((size_t)256 << 10)  /* that a thread takes at a time */
#define WORTH ((size_t)1024 << 10) /* less is copied before another thread is awake */
enum { THREADS_MOST = 8, PIECES = 512 };

struct piece {
    uint8_t *to;
    const uint8_t *from;
    size_t length;
};

struct bale_copies {
    pthread_mutex_t mutex; /* guards the members up to next */
    pthread_cond_t wake;   /* a round began, or stop was set */
    pthread_cond_t ended;
    uint64_t round;
    unsigned busy; /* threads that have not finished the round */
    bool stop;
    atomic_size_t next; /* piece to take */
    /* Only the user's thread changes these, and only between rounds. */
    struct piece pieces[PIECES];
    size_t count;
    size_t bytes;
    unsigned started;
    pthread_t threads[THREADS_MOST];
};

static void copy_pieces(struct bale_copies *c)
{
    size_t i;

    while ((i = atomic_fetch_add(&c->next, 1)) < c->count)
        memcpy(c->pieces[i].to, c->pieces[i].from, c->pieces[i].length);
}

static void *copy_thread(void *argument)
{
    struct bale_copies *c = argument;
    uint64_t round = 0;

    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (c->round == round && !c->stop)
            pthread_cond_wait(&c->wake, &c->mutex);
        if (c->stop)
            break;
        round = c->round;
        pthread_mutex_unlock(&c->mutex);
        copy_pieces(c);
        pthread_mutex_lock(&c->mutex);
        if (--c->busy == 0)
            pthread_cond_signal(&c->ended);
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

/* The threads block all signals, which are for the program's own threads. With fewer threads
 * copies only take longer. */
static void start_threads(struct bale_copies *c, unsigned count)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (c->started < count &&
           bale_thread_start(&c->threads[c->started], "balefs-copy", copy_thread, c) == 0)
        c->started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int bale_copies_create(unsigned threads, struct bale_copies **copies)
{
    struct bale_copies *c = calloc(1, sizeof *c);

    if (!c)
        return BALE_E_NOMEM;
    pthread_mutex_init(&c->mutex, NULL);
    pthread_cond_init(&c->wake, NULL);
    pthread_cond_init(&c->ended, NULL);
    start_threads(c, (threads < THREADS_MOST ? threads : THREADS_MOST) - 1);
    *copies = c;
    return BALE_OK;
}

void bale_copies_destroy(struct bale_copies *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->mutex);
    c->stop = true;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->mutex);
    for (unsigned i = 0; i < c->started; i++)
        pthread_join(c->threads[i], NULL);
    pthread_cond_destroy(&c->ended);
    pthread_cond_destroy(&c->wake);
    pthread_mutex_destroy(&c->mutex);
    free(c);
}

void bale_copies_add(struct bale_copies *c, void *to, const void *from, size_t length)
{
    for (size_t at = 0; at < length; at += PIECE) {
        if (c->count == PIECES)
            bale_copies_run(c);
        size_t part = length - at < PIECE ? length - at : PIECE;
        c->pieces[c->count++] =
            (struct piece){(uint8_t *)to + at, (const uint8_t *)from + at, part};
        c->bytes += part;
    }
}

static void run_with_threads(struct bale_copies *c)
{
    pthread_mutex_lock(&c->mutex);
    c->round++;
    c->busy = c->started;
    pthread_cond_broadcast(&c->wake);
    pthread_mutex_unlock(&c->mutex);
    copy_pieces(c);
    pthread_mutex_lock(&c->mutex);
    while (c->busy > 0)
        pthread_cond_wait(&c->ended, &c->mutex);
    pthread_mutex_unlock(&c->mutex);
}

void bale_copies_run(struct bale_copies *c)
{
    atomic_store(&c->next, 0);
    if (c->bytes >= WORTH && c->started > 0)
        run_with_threads(c);
    else
        copy_pieces(c);
    c->count = 0;
    c->bytes = 0;
}
