#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/engine.h"

/* Items of one priority, first in, first out. */
struct queue {
    struct bale_item *first;
    struct bale_item *last;
};

struct worker {
    struct cpu_engine *engine;
    struct bale_scratch *scratch;
    pthread_t thread;
};

struct cpu_engine {
    struct bale_engine engine; /* first: the handle is a pointer to it */
    pthread_mutex_t mutex;     /* guards the four below */
    pthread_cond_t wake;       /* items came, or stop was set */
    struct queue queues[BALE_PRIORITIES];
    unsigned idle; /* workers waiting on wake */
    bool stop;
    unsigned started; /* workers with a thread */
    unsigned count;
    struct worker workers[];
};

static struct cpu_engine *from_handle(struct bale_engine *engine)
{
    return (struct cpu_engine *)engine;
}

static void push(struct cpu_engine *e, struct bale_item *item)
{
    struct queue *q = &e->queues[item->priority];

    item->next = NULL;
    if (q->first)
        q->last->next = item;
    else
        q->first = item;
    q->last = item;
}

static struct bale_item *pop(struct cpu_engine *e)
{
    for (int p = 0; p < BALE_PRIORITIES; p++) {
        struct queue *q = &e->queues[p];
        struct bale_item *item = q->first;
        if (item) {
            q->first = item->next;
            item->next = NULL;
            return item;
        }
    }
    return NULL;
}

static int run_encode(struct bale_scratch *scratch, struct bale_item *item)
{
    struct bale_frame *frame = &item->frame;

    if (frame->chunk_log2 > BALE_CHUNK_LOG2_MAX ||
        item->capacity < bale_frame_bound(frame->raw_length, frame->chunk_log2))
        return BALE_E_INVALID;
    return bale_frame_encode(scratch, item->setting, item->raw, frame, item->stored,
                             &item->stored_length);
}

static int run_item(struct bale_scratch *scratch, struct bale_item *item)
{
    if (item->place != BALE_PLACE_HOST)
        return BALE_E_INVALID;
    if (item->kind == BALE_ITEM_ENCODE)
        return run_encode(scratch, item);
    return bale_frame_decode(scratch, item->stored, item->stored_length, item->raw,
                             item->frame.raw_length, &item->frame);
}

/* Runs until stop is set and nothing is queued. An item's done may submit more: its own worker then
 * finds them. */
static void *run_worker(void *argument)
{
    struct worker *w = argument;
    struct cpu_engine *e = w->engine;

    pthread_mutex_lock(&e->mutex);
    for (;;) {
        struct bale_item *item = pop(e);
        if (item) {
            pthread_mutex_unlock(&e->mutex);
            item->status = run_item(w->scratch, item);
            item->done(item);
            pthread_mutex_lock(&e->mutex);
        } else if (e->stop) {
            break;
        } else {
            e->idle++;
            pthread_cond_wait(&e->wake, &e->mutex);
            e->idle--;
        }
    }
    pthread_mutex_unlock(&e->mutex);
    return NULL;
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    struct cpu_engine *e = from_handle(engine);
    unsigned items = 0;

    pthread_mutex_lock(&e->mutex);
    while (list) {
        struct bale_item *next = list->next;
        push(e, list);
        list = next;
        items++;
    }
    /* Nobody is woken for nothing; a busy worker looks at the queue by itself. */
    for (unsigned i = 0; i < items && i < e->idle; i++)
        pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->mutex);
}

/* Encoding stays with the workers, whose number is the user's choice. */
static bool here(struct bale_engine *engine, struct bale_item *item, struct bale_scratch *scratch)
{
    (void)engine;
    if (item->kind != BALE_ITEM_DECODE || !scratch)
        return false;
    item->status = run_item(scratch, item);
    return true;
}

static void destroy(struct bale_engine *engine)
{
    struct cpu_engine *e = from_handle(engine);

    pthread_mutex_lock(&e->mutex);
    e->stop = true;
    pthread_cond_broadcast(&e->wake);
    pthread_mutex_unlock(&e->mutex);
    for (unsigned i = 0; i < e->started; i++)
        pthread_join(e->workers[i].thread, NULL);
    for (unsigned i = 0; i < e->count; i++)
        bale_scratch_destroy(e->workers[i].scratch);
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->mutex);
    free(e);
}

static const struct bale_engine_ops ops = {
    .name = "cpu",
    .done_may_wait = true,
    .submit = submit,
    .here = here,
    .destroy = destroy,
};

/* Signals are for the program's own threads, so workers block them all. */
static int start_workers(struct cpu_engine *e)
{
    sigset_t all;
    sigset_t before;
    int err = BALE_OK;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; err == BALE_OK && e->started < e->count; e->started += err == BALE_OK) {
        struct worker *w = &e->workers[e->started];
        w->engine = e;
        err = bale_scratch_create(&w->scratch);
        if (err == BALE_OK && pthread_create(&w->thread, NULL, run_worker, w) != 0)
            err = BALE_E_NOMEM;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

int bale_engine_cpu_create(unsigned threads, struct bale_engine **engine)
{
    unsigned count = threads > 0 ? threads : bale_cpus();
    struct cpu_engine *e = calloc(1, sizeof *e + count * sizeof e->workers[0]);
    int err;

    if (!e)
        return BALE_E_NOMEM;
    e->engine.ops = &ops;
    e->count = count;
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->wake, NULL);
    err = start_workers(e);
    if (err < 0) {
        destroy(&e->engine);
        return err;
    }
    *engine = &e->engine;
    return BALE_OK;
}
