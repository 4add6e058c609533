/* The supervisor thread: opens and closes the devices, gives up batches that take too long, and
 * returns items that no device does. */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/base/cond.h"
#include "kernels/cuda/engine.h"

#define RETRY_NS (60 * BALE_SECOND_NS) /* after opening failed */

/* With the mutex, which it releases meanwhile. */
static void reopen_devices(struct cuda_engine *engine)
{
    struct bale_gpu_timeline opening = {.begin_ns = bale_clock_ns()};
    struct bale_reason why = {0};
    int err;

    engine->open_wanted = false;
    engine->state = CUDA_OPENING;
    pthread_mutex_unlock(&engine->mutex);
    err = bale_cuda_open_devices(engine, &opening, &why);
    pthread_mutex_lock(&engine->mutex);
    /* Items that came meanwhile may be too large for the new slots. */
    while (bale_cuda_answer_unwanted(engine))
        ;
    engine->state = err == BALE_OK ? CUDA_OPEN : CUDA_CLOSED;
    engine->idle_ns = bale_clock_ns();
    if (err < 0) {
        engine->reopen_ns = engine->idle_ns + RETRY_NS;
        bale_cuda_log(engine, BALE_GPU_WARNING, "GPU: %s: the CPU does everything for a minute",
                      why.text);
    }
    pthread_cond_broadcast(&engine->worker_wake);
}

/* Closes the devices; a lost engine stays lost. With the mutex, which it releases meanwhile. */
static void release_devices(struct cuda_engine *engine)
{
    bool lost = engine->state == CUDA_LOST;

    engine->state = lost ? CUDA_LOST : CUDA_CLOSING;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_close_devices(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->stats.device_memory = 0;
    engine->state = lost ? CUDA_LOST : CUDA_CLOSED;
}

static bool is_overdue(const struct cuda_worker *w, enum cuda_step step)
{
    return w->step == step &&
           bale_clock_ns() - w->since_ns > w->engine->options.watchdog_ms * BALE_MILLISECOND_NS;
}

/* Stops new batches. Others may hang with the first; only the first is logged. */
static void note_hung(struct cuda_engine *engine, const struct cuda_worker *w)
{
    if (engine->state != CUDA_OPEN)
        return;
    engine->state = CUDA_HUNG;
    bale_cuda_log(engine, BALE_GPU_WARNING,
                  "GPU: %s: a batch takes more than %u ms and is given up: the CPU does it",
                  engine->info[w->device].name, engine->options.watchdog_ms);
}

/* Gives up a batch that takes too long. Returns its items; *status is the status that they get. If
 * the batch was writing, the device may still write to them. NULL: no batch is overdue. */
static struct bale_item *take_overdue_batch(struct cuda_engine *engine, int *status)
{
    for (unsigned i = 0; i < engine->worker_count; i++) {
        struct cuda_worker *w = &engine->workers[i];
        bool writing = is_overdue(w, CUDA_WRITING);
        if (!writing && !is_overdue(w, CUDA_READING))
            continue;
        w->step = CUDA_GIVEN_UP;
        note_hung(engine, w);
        if (writing)
            bale_cuda_set_quarantine(engine, true);
        *status = writing ? BALE_E_QUARANTINED : BALE_E_ENGINE;
        return bale_cuda_list_of(w);
    }
    return NULL;
}

/* Whether to close the devices: unused for long, hung and back, or lost in quarantine. */
static bool should_close(const struct cuda_engine *engine)
{
    uint64_t idle = bale_clock_ns() - engine->idle_ns;

    if (engine->busy_workers > 0)
        return false;
    if (engine->state == CUDA_HUNG || (engine->state == CUDA_LOST && engine->quarantine))
        return true;
    for (unsigned q = 0; q < CUDA_QUEUES; q++)
        if (engine->queues[q].chunks > 0)
            return false;
    return engine->state == CUDA_OPEN && idle >= engine->options.release_ms * BALE_MILLISECOND_NS;
}

/* Waits for supervisor_wake; while a device is open, only for a part of the shorter time limit. */
static void supervisor_sleep(struct cuda_engine *engine)
{
    uint64_t least = engine->options.release_ms < engine->options.watchdog_ms
                         ? engine->options.release_ms
                         : engine->options.watchdog_ms;

    if (engine->state != CUDA_OPEN && engine->state != CUDA_HUNG && engine->busy_workers == 0) {
        pthread_cond_wait(&engine->supervisor_wake, &engine->mutex);
        return;
    }
    (void)bale_cond_wait_until(&engine->supervisor_wake, &engine->mutex,
                               bale_clock_ns() + (least / 4 + 1) * BALE_MILLISECOND_NS);
}

static bool is_drained(const struct cuda_engine *engine)
{
    if (!engine->stop || engine->busy_workers > 0)
        return false;
    for (unsigned q = 0; q < CUDA_QUEUES; q++)
        if (engine->queues[q].chunks > 0)
            return false;
    return true;
}

void *bale_cuda_supervisor_thread(void *argument)
{
    struct cuda_engine *engine = argument;
    int status;

    pthread_mutex_lock(&engine->mutex);
    for (;;) {
        struct bale_item *list = take_overdue_batch(engine, &status);
        if (list) {
            pthread_mutex_unlock(&engine->mutex);
            bale_cuda_answer(engine, list, status);
            pthread_mutex_lock(&engine->mutex);
        } else if (bale_cuda_answer_unwanted(engine)) {
            continue;
        } else if (is_drained(engine)) {
            break;
        } else if (engine->state == CUDA_CLOSED && engine->open_wanted && !engine->stop) {
            reopen_devices(engine);
        } else if (should_close(engine) && !engine->stop) {
            release_devices(engine);
        } else {
            supervisor_sleep(engine);
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}
