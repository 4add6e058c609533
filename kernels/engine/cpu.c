#include "kernels/engine/cpu.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"

struct worker {
    struct cpu_engine *engine;
    struct bale_scratch *scratch;
    pthread_t thread;
};

struct cpu_engine {
    struct bale_engine engine; /* first: the handle is a pointer to it */
    struct bale_work_queue queue;
    _Atomic(struct bale_costs *) costs; /* told of what is measured; or NULL */
    struct bale_work_count count;
    unsigned started; /* workers with a thread */
    unsigned threads;
    struct worker workers[];
};

static struct cpu_engine *from_handle(struct bale_engine *engine)
{
    return (struct cpu_engine *)engine;
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
    if (item->memory_kind != BALE_MEMORY_HOST)
        return BALE_E_INVALID;
    if (item->kind == BALE_ITEM_ENCODE)
        return run_encode(scratch, item);
    return bale_frame_decode(scratch, item->stored, item->stored_length, item->raw,
                             item->frame.raw_length, &item->frame);
}

/* With its time taken where somebody wants to know: two readings of a clock. */
static void run(struct cpu_engine *e, struct bale_scratch *scratch, struct bale_item *item)
{
    struct bale_costs *costs = atomic_load_explicit(&e->costs, memory_order_acquire);
    unsigned work = bale_work_of(item);
    uint64_t begin = costs ? bale_clock_ns() : 0;

    item->status = run_item(scratch, item);
    if (costs && item->status == BALE_OK)
        bale_costs_cpu(costs, work, item->frame.raw_length, bale_clock_ns() - begin);
    if (item->status == BALE_OK)
        bale_work_add(&e->count, item);
}

/* Runs until stop is set and nothing is queued. An item's done may submit more: its own worker then
 * finds them. */
static void *run_worker(void *argument)
{
    struct worker *w = argument;
    struct bale_work_queue *queue = &w->engine->queue;
    struct bale_item *item;
    bool ended;

    pthread_mutex_lock(&queue->mutex);
    while ((item = bale_work_queue_pop(queue, &ended))) {
        pthread_mutex_unlock(&queue->mutex);
        if (!ended)
            run(w->engine, w->scratch, item);
        item->done(item);
        pthread_mutex_lock(&queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static void submit(struct bale_engine *engine, struct bale_item *list)
{
    bale_work_queue_push(&from_handle(engine)->queue, list);
}

/* Encoding stays with the workers, whose number is the user's choice. */
static bool run_inline(struct bale_engine *engine, struct bale_item *item,
                       struct bale_scratch *scratch)
{
    if (item->kind != BALE_ITEM_DECODE || !scratch)
        return false;
    run(from_handle(engine), scratch, item);
    return true;
}

static void destroy(struct bale_engine *engine)
{
    struct cpu_engine *e = from_handle(engine);

    pthread_mutex_lock(&e->queue.mutex);
    e->queue.stop = true;
    pthread_cond_broadcast(&e->queue.wake);
    pthread_mutex_unlock(&e->queue.mutex);
    for (unsigned i = 0; i < e->started; i++)
        pthread_join(e->workers[i].thread, NULL);
    for (unsigned i = 0; i < e->threads; i++)
        bale_scratch_destroy(e->workers[i].scratch);
    bale_work_queue_destroy(&e->queue);
    free(e);
}

static const struct bale_engine_ops ops = {
    .name = "cpu",
    .done_may_wait = true,
    .submit = submit,
    .run_inline = run_inline,
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
    for (; err == BALE_OK && e->started < e->threads; e->started += err == BALE_OK) {
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
    e->threads = count;
    bale_work_queue_init(&e->queue);
    err = start_workers(e);
    if (err < 0) {
        destroy(&e->engine);
        return err;
    }
    *engine = &e->engine;
    return BALE_OK;
}

struct bale_work_queue *bale_engine_cpu_queue(struct bale_engine *engine)
{
    return &from_handle(engine)->queue;
}

unsigned bale_engine_cpu_threads(const struct bale_engine *engine)
{
    return ((const struct cpu_engine *)engine)->threads;
}

const struct bale_work_count *bale_engine_cpu_count(const struct bale_engine *engine)
{
    return &((const struct cpu_engine *)engine)->count;
}

void bale_engine_cpu_measure(struct bale_engine *engine, struct bale_costs *costs)
{
    atomic_store_explicit(&from_handle(engine)->costs, costs, memory_order_release);
}
