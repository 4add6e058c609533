/* A slot's thread: takes items, runs them as a batch, says that they are done. */
#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

enum { STORE_MAX = 512 }; /* chunks of a batch */

/* Where a slot of the device takes its next item of the queue from. */
static struct bale_item_list *line_for(struct cuda_engine *e, struct cuda_queue *queue,
                                       unsigned device)
{
    return bale_cuda_queue_line(queue, e->about, e->device_count, device);
}

/* Slots of a device that nvCOMP works for or is to. With the mutex, as all down to take_jobs. */
static unsigned computing(const struct cuda_engine *e, unsigned device)
{
    unsigned count = 0;

    for (unsigned i = 0; i < e->worker_count; i++) {
        const struct cuda_worker *w = &e->workers[i];
        bool at_it = w->step == CUDA_PREPARING || w->step == CUDA_READING;
        count += w->device == device && at_it && w->queue % CUDA_CODECS != CUDA_STORE;
    }
    return count;
}

/* What would wait for a workspace waits here, and grows, but for one batch that is copied in meanwhile. */
static bool may_take(const struct cuda_worker *w, unsigned q)
{
    const struct cuda_engine *e = w->engine;

    return e->queues[q].chunks > 0 &&
           (q % CUDA_CODECS == CUDA_STORE || computing(e, w->device) <= e->workspaces);
}

/* The queue whose turn it is; CUDA_QUEUES: there is nothing for this slot. */
static unsigned choose_queue(const struct cuda_worker *w)
{
    if (w->engine->state != CUDA_OPEN)
        return CUDA_QUEUES;
    for (unsigned i = 0; i < CUDA_QUEUES; i++) {
        unsigned q = (w->engine->turn + i) % CUDA_QUEUES;
        if (may_take(w, q))
            return q;
    }
    return CUDA_QUEUES;
}

/* Chunks for this slot: what waits is shared among the workspaces that are free. Where only copies take time
 * there are more of them, so that those in and those out go side by side. */
static uint64_t share(const struct cuda_engine *e, unsigned q)
{
    unsigned workspaces = 0;

    if (q % CUDA_CODECS == CUDA_STORE)
        return STORE_MAX;
    for (unsigned i = 0; i < e->device_count; i++) {
        unsigned taken = computing(e, i);
        workspaces += taken < e->workspaces ? e->workspaces - taken : 0;
    }
    return e->queues[q].chunks / (workspaces > 0 ? workspaces : 1) + 1;
}

/* Takes items of a queue for a batch, one at least. */
static void take_jobs(struct cuda_worker *w, unsigned q)
{
    struct cuda_engine *e = w->engine;
    struct cuda_queue *queue = &e->queues[q];
    uint32_t cells = bale_cuda_slot_host(w->slot)->cells;
    uint64_t most = share(e, q);
    uint64_t chunks = 0;

    w->queue = q;
    w->job_count = 0;
    e->turn = (q + 1) % CUDA_QUEUES;
    while (queue->chunks > 0 && (chunks < most || w->job_count == 0)) {
        struct bale_item_list *line = line_for(e, queue, w->device);
        chunks += bale_frame_chunk_count(&line->first->frame);
        if (chunks > cells && w->job_count > 0)
            break;
        w->jobs[w->job_count++] = (struct cuda_job){.item = bale_cuda_queue_take(queue, line)};
    }
    w->step = CUDA_PREPARING;
    e->busy++;
}

/* From here on the batch may be given up, and this thread no longer looks at its items unless it was
 * not. */
static void begin_reading(struct cuda_worker *w)
{
    pthread_mutex_lock(&w->engine->mutex);
    w->step = CUDA_READING;
    w->since_ns = bale_clock_ns();
    pthread_mutex_unlock(&w->engine->mutex);
}

/* The first step: BALE_OK when there are results. */
static int read_items(struct cuda_worker *w)
{
    enum cuda_codec codec = (enum cuda_codec)(w->queue % CUDA_CODECS);
    int err = bale_cuda_slot_use(w->slot);

    bale_cuda_prepare(w);
    begin_reading(w);
    if (err == BALE_OK)
        err = w->queue < CUDA_CODECS ? bale_cuda_encode(w->slot, codec, w->chunk_count)
                                     : bale_cuda_decode(w->slot, codec, w->chunk_count);
    return err == BALE_OK ? bale_cuda_wait(w->slot) : err;
}

/* From one step to the next. False: the batch is no longer ours, but the supervisor's. */
static bool go_on(struct cuda_worker *w, enum cuda_step from, enum cuda_step to)
{
    struct cuda_engine *e = w->engine;
    uint64_t now = bale_clock_ns();
    bool ours;

    pthread_mutex_lock(&e->mutex);
    ours = w->step == from;
    if (ours) {
        w->step = to;
        e->stats.batch_ns += now - w->since_ns;
        w->since_ns = now;
    }
    if (from == CUDA_READING) /* a workspace is free */
        pthread_cond_broadcast(&e->work);
    pthread_mutex_unlock(&e->mutex);
    return ours;
}

/* The second step, if there is anything to move. False: the batch was given up. */
static bool write_items(struct cuda_worker *w, int *err)
{
    bale_cuda_resolve(w);
    if (w->move_count == 0)
        return true;
    go_on(w, CUDA_RESOLVING, CUDA_WRITING);
    *err = bale_cuda_scatter(w->slot, w->move_count);
    if (*err == BALE_OK)
        *err = bale_cuda_wait(w->slot);
    return go_on(w, CUDA_WRITING, CUDA_RESOLVING);
}

/* With the mutex. */
static void count_mismatch(struct cuda_engine *e, unsigned codec)
{
    e->stats.mismatches++;
    e->mismatches[codec]++;
    if (e->mismatches[codec] == CUDA_MISMATCHES_MAX)
        e->off[codec] = true;
    bale_cuda_log(e, BALE_GPU_ERROR,
                  "GPU: %s: what was compressed does not decode to what it was made from%s",
                  bale_cuda_codecs[codec].name,
                  e->off[codec] ? ": the CPU does this codec from now on"
                                : ": the CPU does it again");
}

/* With the mutex. */
static void count_batch(struct cuda_worker *w)
{
    struct bale_gpu_stats *s = &w->engine->stats;

    s->batches++;
    s->batch_ns += bale_clock_ns() - w->since_ns;
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

/* Whether the error is the device's end; the items' status. What was to be written may be yet then: a copy
 * engine need not stop where a kernel has failed. */
static int judge(struct cuda_worker *w, int err, bool writing)
{
    struct cuda_engine *e = w->engine;
    bool alive = bale_cuda_device_alive(e->devices[w->device]);
    bool quarantine = writing && !alive;

    pthread_mutex_lock(&e->mutex);
    if (!alive && e->state != CUDA_LOST) {
        e->state = CUDA_LOST;
        e->stats.lost = true;
        bale_cuda_log(e, BALE_GPU_ERROR, "GPU: %s: failed for good: the CPU does everything",
                      e->about[w->device].name);
        pthread_cond_broadcast(&e->work);
        pthread_cond_signal(&e->care);
    } else if (alive) {
        bale_cuda_log(e, BALE_GPU_WARNING, "GPU: %s: a batch failed (%s): the CPU does it",
                      e->about[w->device].name, bale_err_text(err));
    }
    if (quarantine)
        bale_cuda_set_quarantine(e, true);
    pthread_mutex_unlock(&e->mutex);
    if (quarantine)
        return BALE_E_QUARANTINED;
    return err == BALE_E_NOMEM ? BALE_E_NOMEM : BALE_E_ENGINE;
}

/* The batch has become the supervisor's. */
static void leave(struct cuda_worker *w)
{
    pthread_mutex_lock(&w->engine->mutex);
    w->step = CUDA_IDLE;
    pthread_mutex_unlock(&w->engine->mutex);
}

static void run_batch(struct cuda_worker *w)
{
    struct cuda_engine *e = w->engine;
    int err = read_items(w);
    bool writing = err == BALE_OK;
    bool ours = go_on(w, CUDA_READING, CUDA_RESOLVING);
    struct bale_item *list;

    if (ours && writing)
        ours = write_items(w, &err);
    if (!ours) {
        leave(w);
        return;
    }
    list = bale_cuda_list_of(w);
    if (err < 0) {
        int status = judge(w, err, writing);
        for (struct bale_item *item = list; item; item = item->next)
            item->status = status;
    }
    pthread_mutex_lock(&e->mutex);
    count_batch(w);
    w->step = CUDA_IDLE;
    pthread_mutex_unlock(&e->mutex);
    bale_cuda_complete(list);
}

void *bale_cuda_worker_thread(void *worker)
{
    struct cuda_worker *w = worker;
    struct cuda_engine *e = w->engine;

    pthread_mutex_lock(&e->mutex);
    for (;;) {
        unsigned q = choose_queue(w);
        if (q < CUDA_QUEUES) {
            take_jobs(w, q);
            pthread_mutex_unlock(&e->mutex);
            run_batch(w);
            pthread_mutex_lock(&e->mutex);
            e->busy--;
            e->idle_ns = bale_clock_ns();
            if (e->busy == 0)
                pthread_cond_signal(&e->care);
        } else if (bale_cuda_answer_unwanted(e)) {
            continue;
        } else if (e->stop) {
            break;
        } else {
            pthread_cond_wait(&e->work, &e->mutex);
        }
    }
    pthread_mutex_unlock(&e->mutex);
    return NULL;
}
