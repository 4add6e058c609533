/* The thread of a slot: takes items, does them as a batch, calls their done. */
#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

enum { STORE_MAX = 512 }; /* chunks of a batch */

/* The list of the queue that a slot of the device takes its next item from. */
static struct bale_item_list *line_for(struct cuda_engine *engine, struct cuda_queue *queue,
                                       unsigned device)
{
    return bale_cuda_queue_line(queue, engine->info, engine->device_count, device);
}

/* Workers of a device whose batch needs a workspace or will need one. With the mutex, as all
 * functions down to take_jobs. */
static unsigned computing_workers(const struct cuda_engine *engine, unsigned device)
{
    unsigned count = 0;

    for (unsigned i = 0; i < engine->worker_count; i++) {
        const struct cuda_worker *w = &engine->workers[i];
        bool at_it = w->step == CUDA_PREPARING || w->step == CUDA_READING;
        count += w->device == device && at_it && w->queue % CUDA_CODECS != CUDA_STORE;
    }
    return count;
}

/* Items that would wait for a workspace wait in the queue, where the batch grows. One batch more
 * is taken, to be copied in meanwhile. */
static bool may_take_queue(const struct cuda_worker *w, unsigned q)
{
    const struct cuda_engine *engine = w->engine;

    return engine->queues[q].chunks > 0 &&
           (q % CUDA_CODECS == CUDA_STORE ||
            computing_workers(engine, w->device) <= engine->workspaces);
}

/* The next queue in turn that has items for this slot; CUDA_QUEUES: none has. */
static unsigned choose_queue(const struct cuda_worker *w)
{
    if (w->engine->state != CUDA_OPEN)
        return CUDA_QUEUES;
    for (unsigned i = 0; i < CUDA_QUEUES; i++) {
        unsigned q = (w->engine->next_queue + i) % CUDA_QUEUES;
        if (may_take_queue(w, q))
            return q;
    }
    return CUDA_QUEUES;
}

/* How many chunks this slot takes: the waiting chunks are shared among the free workspaces. With
 * store only the copies take time, and smaller batches let copies in and out overlap. */
static uint64_t batch_chunks(const struct cuda_engine *engine, unsigned q)
{
    unsigned workspaces = 0;

    if (q % CUDA_CODECS == CUDA_STORE)
        return STORE_MAX;
    for (unsigned i = 0; i < engine->device_count; i++) {
        unsigned taken = computing_workers(engine, i);
        workspaces += taken < engine->workspaces ? engine->workspaces - taken : 0;
    }
    return engine->queues[q].chunks / (workspaces > 0 ? workspaces : 1) + 1;
}

/* Takes items of a queue for a batch, at least one. */
static void take_jobs(struct cuda_worker *w, unsigned q)
{
    struct cuda_engine *engine = w->engine;
    struct cuda_queue *queue = &engine->queues[q];
    uint32_t cells = bale_cuda_slot_host(w->slot)->cells;
    uint64_t most = batch_chunks(engine, q);
    uint64_t chunks = 0;

    w->queue = q;
    w->job_count = 0;
    engine->next_queue = (q + 1) % CUDA_QUEUES;
    while (queue->chunks > 0 && (chunks < most || w->job_count == 0)) {
        struct bale_item_list *line = line_for(engine, queue, w->device);
        chunks += bale_cuda_cells(&line->first->frame);
        if (chunks > cells && w->job_count > 0)
            break;
        w->jobs[w->job_count++] = (struct cuda_job){.item = bale_cuda_queue_take(queue, line)};
    }
    w->step = CUDA_PREPARING;
    engine->busy_workers++;
    if (engine->stats.opening.taken_ns == 0)
        engine->stats.opening.taken_ns = bale_clock_ns() - engine->stats.opening.begin_ns;
}

/* From here on the supervisor may give up the batch. This thread accesses the items again only if
 * advance_step() returns true. */
static void begin_reading(struct cuda_worker *w)
{
    pthread_mutex_lock(&w->engine->mutex);
    w->step = CUDA_READING;
    w->since_ns = bale_clock_ns();
    pthread_mutex_unlock(&w->engine->mutex);
}

/* Runs the first step: BALE_OK when the results are there. */
static int read_items(struct cuda_worker *w)
{
    enum cuda_codec codec = (enum cuda_codec)(w->queue % CUDA_CODECS);
    int err = bale_cuda_slot_use(w->slot);

    bale_cuda_prepare(w);
    begin_reading(w);
    if (err == BALE_OK)
        err = w->queue < CUDA_CODECS ? bale_cuda_encode(w->slot, codec, w->cell_count)
                                     : bale_cuda_decode(w->slot, codec, w->cell_count);
    return err == BALE_OK ? bale_cuda_wait(w->slot) : err;
}

/* Goes from one step to the next. False: the supervisor has taken the batch. */
static bool advance_step(struct cuda_worker *w, enum cuda_step from, enum cuda_step to)
{
    struct cuda_engine *engine = w->engine;
    uint64_t now = bale_clock_ns();
    bool ours;

    pthread_mutex_lock(&engine->mutex);
    ours = w->step == from;
    if (ours) {
        w->step = to;
        engine->stats.batch_ns += now - w->since_ns;
        w->since_ns = now;
    }
    if (from == CUDA_READING) /* a workspace is free now */
        pthread_cond_broadcast(&engine->worker_wake);
    pthread_mutex_unlock(&engine->mutex);
    return ours;
}

/* Runs the second step, if there is anything to move. False: the batch was given up. */
static bool write_items(struct cuda_worker *w, int *err)
{
    bale_cuda_resolve(w);
    if (w->move_count == 0)
        return true;
    advance_step(w, CUDA_RESOLVING, CUDA_WRITING);
    *err = bale_cuda_scatter(w->slot, w->move_count);
    if (*err == BALE_OK)
        *err = bale_cuda_wait(w->slot);
    return advance_step(w, CUDA_WRITING, CUDA_RESOLVING);
}

/* With the mutex. */
static void count_mismatch(struct cuda_engine *engine, unsigned codec)
{
    engine->stats.mismatches++;
    engine->mismatches[codec]++;
    if (engine->mismatches[codec] == CUDA_MISMATCHES_MAX)
        engine->disabled[codec] = true;
    bale_cuda_log(engine, BALE_GPU_ERROR,
                  "GPU: %s: what was compressed does not decode to what it was made from%s",
                  bale_cuda_codecs[codec].name,
                  engine->disabled[codec] ? ": the CPU does this codec from now on"
                                          : ": the CPU does it again");
}

/* With the mutex. */
static void count_batch(struct cuda_worker *w)
{
    struct bale_gpu_stats *s = &w->engine->stats;

    s->batches++;
    s->batch_ns += bale_clock_ns() - w->since_ns;
    if (s->opening.done_ns == 0)
        s->opening.done_ns = bale_clock_ns() - s->opening.begin_ns;
    for (uint32_t i = 0; i < w->job_count; i++) {
        const struct bale_item *item = w->jobs[i].item;
        bool encode = item->kind == BALE_ITEM_ENCODE;
        s->items++;
        if (item->status != BALE_OK)
            s->failed++;
        else if (encode)
            s->raw_bytes_encoded += item->frame.raw_length;
        else
            s->raw_bytes_decoded += item->frame.raw_length;
        if (encode && item->status == BALE_E_CORRUPT)
            count_mismatch(w->engine, w->queue % CUDA_CODECS);
    }
}

/* The items' status after an error; notes whether the device is lost. If it is, and the batch
 * was writing, a copy engine may still write although a kernel has failed. */
static int device_error_status(struct cuda_worker *w, int err, bool writing)
{
    struct cuda_engine *engine = w->engine;
    bool alive = bale_cuda_device_alive(engine->devices[w->device]);
    bool quarantine = writing && !alive;

    pthread_mutex_lock(&engine->mutex);
    if (!alive && engine->state != CUDA_LOST) {
        engine->state = CUDA_LOST;
        engine->stats.lost = true;
        bale_cuda_log(engine, BALE_GPU_ERROR, "GPU: %s: failed for good: the CPU does everything",
                      engine->info[w->device].name);
        pthread_cond_broadcast(&engine->worker_wake);
        pthread_cond_signal(&engine->supervisor_wake);
    } else if (alive) {
        bale_cuda_log(engine, BALE_GPU_WARNING, "GPU: %s: a batch failed (%s): the CPU does it",
                      engine->info[w->device].name, bale_err_text(err));
    }
    if (quarantine)
        bale_cuda_set_quarantine(engine, true);
    pthread_mutex_unlock(&engine->mutex);
    if (quarantine)
        return BALE_E_QUARANTINED;
    return err == BALE_E_NOMEM ? BALE_E_NOMEM : BALE_E_ENGINE;
}

/* The supervisor has taken the batch. */
static void release_batch(struct cuda_worker *w)
{
    pthread_mutex_lock(&w->engine->mutex);
    w->step = CUDA_IDLE;
    pthread_mutex_unlock(&w->engine->mutex);
}

static void run_batch(struct cuda_worker *w)
{
    struct cuda_engine *engine = w->engine;
    int err = read_items(w);
    bool writing = err == BALE_OK;
    bool ours = advance_step(w, CUDA_READING, CUDA_RESOLVING);
    struct bale_item *list;

    if (ours && writing)
        ours = write_items(w, &err);
    if (!ours) {
        release_batch(w);
        return;
    }
    list = bale_cuda_list_of(w);
    if (err < 0) {
        int status = device_error_status(w, err, writing);
        for (struct bale_item *item = list; item; item = item->next)
            item->status = status;
    }
    pthread_mutex_lock(&engine->mutex);
    count_batch(w);
    w->step = CUDA_IDLE;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_complete(list);
}

void *bale_cuda_worker_thread(void *worker)
{
    struct cuda_worker *w = worker;
    struct cuda_engine *engine = w->engine;

    pthread_mutex_lock(&engine->mutex);
    for (;;) {
        unsigned q = choose_queue(w);
        if (q < CUDA_QUEUES) {
            take_jobs(w, q);
            pthread_mutex_unlock(&engine->mutex);
            run_batch(w);
            pthread_mutex_lock(&engine->mutex);
            engine->busy_workers--;
            engine->idle_ns = bale_clock_ns();
            if (engine->busy_workers == 0)
                pthread_cond_signal(&engine->supervisor_wake);
        } else if (bale_cuda_answer_unwanted(engine)) {
            continue;
        } else if (engine->stop) {
            break;
        } else {
            pthread_cond_wait(&engine->worker_wake, &engine->mutex);
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}
