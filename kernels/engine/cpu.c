#include "kernels/engine/cpu.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/base/container_of.h"
#include "kernels/base/thread.h"
#include "kernels/base/working_for.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"

struct worker {
    struct cpu_engine *engine;
    struct bale_scratch *scratch;
    pthread_t thread;
};

struct cpu_engine {
    struct bale_engine engine; /* what the users' handle points to */
    struct bale_work_queue queue;
    _Atomic(struct bale_costs *) costs; /* gets the measurements; or NULL */
    struct bale_work_count count;
    unsigned started; /* workers that have a thread */
    unsigned threads; /* as many as one user gets: one more is for others */
    struct worker workers[];
};

static struct cpu_engine *from_handle(struct bale_engine *engine)
{
    return BALE_CONTAINER_OF(engine, struct cpu_engine, engine);
}

static int encode_item(struct bale_scratch *scratch, struct bale_item *item)
{
    struct bale_frame *frame = &item->frame;

    if (frame->chunk_log2 > BALE_CHUNK_LOG2_MAX ||
        item->capacity < bale_frame_bound(frame->raw_length, frame->chunk_log2))
        return BALE_E_INVALID;
    return bale_frame_encode(scratch, item->setting, item->raw, frame, item->stored,
                             &item->stored_length);
}

static int execute_item(struct bale_scratch *scratch, struct bale_item *item)
{
    if (item->memory_kind != BALE_MEMORY_HOST)
        return BALE_E_INVALID;
    if (item->kind == BALE_ITEM_ENCODE)
        return encode_item(scratch, item);
    return bale_frame_decode(scratch, item->stored, item->stored_length, item->raw,
                             item->frame.raw_length, &item->frame);
}

static void run_item(struct cpu_engine *cpu, struct bale_scratch *scratch, struct bale_item *item)
{
    struct bale_costs *costs = atomic_load_explicit(&cpu->costs, memory_order_acquire);
    unsigned work = bale_work_of(item);
    uint64_t begin = bale_clock_ns();

    item->status = execute_item(scratch, item);
    if (costs && item->status == BALE_OK)
        bale_costs_cpu(costs, work, item->frame.raw_length, bale_clock_ns() - begin);
    if (item->status == BALE_OK)
        bale_work_add(&cpu->count, item);
}

/* Calls the items' done. An item is its owner's again then. */
static void report_items(struct bale_item *list)
{
    while (list) {
        struct bale_item *item = list;
        list = item->next;
        item->next = NULL;
        bale_working_for = item->turn.user;
        item->done(item);
    }
}

/* Runs until stop is set and the queue is empty. An item's done may submit more items, which
 * this worker then finds. */
static void *cpu_worker_thread(void *argument)
{
    struct worker *w = argument;
    struct bale_work_queue *queue = &w->engine->queue;
    struct bale_item *item;
    bool completed;

    pthread_mutex_lock(&queue->mutex);
    while ((item = bale_work_queue_pop(queue, &completed))) {
        pthread_mutex_unlock(&queue->mutex);
        enum bale_priority priority = item->priority;
        uint32_t user = bale_working_for = item->turn.user;
        uint64_t begin = bale_clock_ns();
        if (!completed)
            run_item(w->engine, w->scratch, item);
        report_items(item);
        pthread_mutex_lock(&queue->mutex);
        if (!completed)
            bale_work_queue_end(queue, priority, user, bale_clock_ns() - begin);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static void cpu_submit(struct bale_engine *engine, struct bale_item *list)
{
    bale_work_queue_push(&from_handle(engine)->queue, list);
}

/* Only decodes: encoding is for the workers, because the user chose their number. */
static bool cpu_run_inline(struct bale_engine *engine, struct bale_item *item,
                           struct bale_scratch *scratch)
{
    if (item->kind != BALE_ITEM_DECODE || !scratch)
        return false;
    run_item(from_handle(engine), scratch, item);
    return true;
}

static void cpu_destroy(struct bale_engine *engine)
{
    struct cpu_engine *cpu = from_handle(engine);

    pthread_mutex_lock(&cpu->queue.mutex);
    cpu->queue.stop = true;
    pthread_cond_broadcast(&cpu->queue.wake);
    pthread_mutex_unlock(&cpu->queue.mutex);
    for (unsigned i = 0; i < cpu->started; i++)
        pthread_join(cpu->workers[i].thread, NULL);
    for (unsigned i = 0; i <= cpu->threads; i++)
        bale_scratch_destroy(cpu->workers[i].scratch);
    bale_work_queue_destroy(&cpu->queue);
    free(cpu);
}

static const struct bale_engine_ops cpu_ops = {
    .name = "cpu",
    .submit = cpu_submit,
    .run_inline = cpu_run_inline,
    .destroy = cpu_destroy,
};

/* Workers block all signals, which are for the program's own threads. */
static int start_workers(struct cpu_engine *cpu)
{
    sigset_t all;
    sigset_t before;
    int err = BALE_OK;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; err == BALE_OK && cpu->started <= cpu->threads; cpu->started += err == BALE_OK) {
        struct worker *w = &cpu->workers[cpu->started];
        w->engine = cpu;
        err = bale_scratch_create(&w->scratch);
        if (err == BALE_OK &&
            bale_thread_start(&w->thread, "balefs-cpu", cpu_worker_thread, w) != 0)
            err = BALE_E_NOMEM;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

int bale_engine_cpu_create(unsigned threads, struct bale_engine **engine)
{
    unsigned count = threads > 0 ? threads : bale_cpus();
    struct cpu_engine *cpu = calloc(1, sizeof *cpu + (count + 1) * sizeof cpu->workers[0]);
    int err;

    if (!cpu)
        return BALE_E_NOMEM;
    cpu->engine.ops = &cpu_ops;
    cpu->threads = count;
    bale_work_queue_init(&cpu->queue);
    cpu->queue.workers = count + 1;
    err = start_workers(cpu);
    if (err < 0) {
        cpu_destroy(&cpu->engine);
        return err;
    }
    *engine = &cpu->engine;
    return BALE_OK;
}

struct bale_work_queue *bale_engine_cpu_queue(struct bale_engine *engine)
{
    return &from_handle(engine)->queue;
}

unsigned bale_engine_cpu_threads(const struct bale_engine *engine)
{
    return BALE_CONTAINER_OF(engine, const struct cpu_engine, engine)->threads;
}

const struct bale_work_count *bale_engine_cpu_count(const struct bale_engine *engine)
{
    return &BALE_CONTAINER_OF(engine, const struct cpu_engine, engine)->count;
}

void bale_engine_cpu_measure(struct bale_engine *engine, struct bale_costs *costs)
{
    atomic_store_explicit(&from_handle(engine)->costs, costs, memory_order_release);
}
