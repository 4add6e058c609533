/* The supervisor: opens and closes the devices, gives up batches that take too long, and answers items
 * that no device does. */
#include <time.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/cuda/engine.h"

#define MILLISECOND UINT64_C(1000000)
#define RETRY_NS (60 * 1000 * MILLISECOND) /* after an opening that failed */

/* With the mutex, which is not held meanwhile. */
static void reopen(struct cuda_engine *e)
{
    struct bale_reason why = {0};
    int err;

    e->wanted = false;
    e->state = CUDA_OPENING;
    pthread_mutex_unlock(&e->mutex);
    err = bale_cuda_open_devices(e, &why);
    pthread_mutex_lock(&e->mutex);
    /* What came meanwhile may be too large for the slots that there are now. */
    while (bale_cuda_answer_unwanted(e))
        ;
    e->state = err == BALE_OK ? CUDA_OPEN : CUDA_CLOSED;
    e->idle_ns = bale_clock_ns();
    if (err < 0) {
        e->not_before_ns = e->idle_ns + RETRY_NS;
        bale_cuda_log(e, BALE_GPU_WARNING, "GPU: %s: the CPU does everything for a minute",
                      why.text);
    }
    pthread_cond_broadcast(&e->work);
}

/* What is lost stays so. With the mutex, which is not held meanwhile. */
static void release(struct cuda_engine *e)
{
    bool lost = e->state == CUDA_LOST;

    e->state = lost ? CUDA_LOST : CUDA_CLOSING;
    pthread_mutex_unlock(&e->mutex);
    bale_cuda_close_devices(e);
    pthread_mutex_lock(&e->mutex);
    e->stats.device_memory = 0;
    e->state = lost ? CUDA_LOST : CUDA_CLOSED;
}

static bool is_overdue(const struct cuda_worker *w, enum cuda_step step)
{
    return w->step == step &&
           bale_clock_ns() - w->since_ns > w->engine->options.watchdog_ms * MILLISECOND;
}

/* Nothing new goes to the devices. Other batches may hang with the first, which is told of. */
static void note_hung(struct cuda_engine *e, const struct cuda_worker *w)
{
    if (e->state != CUDA_OPEN)
        return;
    e->state = CUDA_HUNG;
    bale_cuda_log(e, BALE_GPU_WARNING,
                  "GPU: %s: a batch takes more than %u ms and is given up: the CPU does it",
                  e->about[w->device].name, e->options.watchdog_ms);
}

/* The items of a batch that takes too long, with their status; NULL: there is none. In its second step
 * the device may write to them yet. */
static struct bale_item *overdue(struct cuda_engine *e, int *status)
{
    for (unsigned i = 0; i < e->worker_count; i++) {
        struct cuda_worker *w = &e->workers[i];
        bool writing = is_overdue(w, CUDA_WRITING);
        if (!writing && !is_overdue(w, CUDA_READING))
            continue;
        w->step = CUDA_GIVEN_UP;
        note_hung(e, w);
        if (writing)
            bale_cuda_set_quarantine(e, true);
        *status = writing ? BALE_E_QUARANTINED : BALE_E_ENGINE;
        return bale_cuda_list_of(w);
    }
    return NULL;
}

/* Whether the devices are to be closed. */
static bool is_idle(const struct cuda_engine *e)
{
    uint64_t idle = bale_clock_ns() - e->idle_ns;

    if (e->busy > 0)
        return false;
    if (e->state == CUDA_HUNG || (e->state == CUDA_LOST && e->quarantine))
        return true;
    for (unsigned q = 0; q < CUDA_QUEUES; q++)
        if (e->queues[q].chunks > 0)
            return false;
    return e->state == CUDA_OPEN && idle >= e->options.release_ms * MILLISECOND;
}

/* Sleeps until there may be something to do: while a device is open, now and then. */
static void sleep_on(struct cuda_engine *e)
{
    uint64_t least = e->options.release_ms < e->options.watchdog_ms ? e->options.release_ms
                                                                    : e->options.watchdog_ms;
    struct timespec until;

    if (e->state != CUDA_OPEN && e->state != CUDA_HUNG && e->busy == 0) {
        pthread_cond_wait(&e->care, &e->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    least = least / 4 + 1;
    until.tv_sec += (time_t)(least / 1000);
    until.tv_nsec += (long)(least % 1000 * MILLISECOND);
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&e->care, &e->mutex, &until);
}

static bool is_over(const struct cuda_engine *e)
{
    if (!e->stop || e->busy > 0)
        return false;
    for (unsigned q = 0; q < CUDA_QUEUES; q++)
        if (e->queues[q].chunks > 0)
            return false;
    return true;
}

void *bale_cuda_supervisor_thread(void *engine)
{
    struct cuda_engine *e = engine;
    int status;

    pthread_mutex_lock(&e->mutex);
    for (;;) {
        struct bale_item *list = overdue(e, &status);
        if (list) {
            pthread_mutex_unlock(&e->mutex);
            bale_cuda_answer(e, list, status);
            pthread_mutex_lock(&e->mutex);
        } else if (bale_cuda_answer_unwanted(e)) {
            continue;
        } else if (is_over(e)) {
            break;
        } else if (e->state == CUDA_CLOSED && e->wanted && !e->stop) {
            reopen(e);
        } else if (is_idle(e) && !e->stop) {
            release(e);
        } else {
            sleep_on(e);
        }
    }
    pthread_mutex_unlock(&e->mutex);
    return NULL;
}
