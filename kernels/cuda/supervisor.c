/* The supervisor thread: opens and closes the devices, gives up batches that take too long, and
 * returns items that no device does. */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/clock.h"
#include "kernels/base/cond.h"
#include "kernels/cuda/engine.h"

/* After opening failed; other programs may soon give back memory. */
#define RETRY_NS (60 * BALE_SECOND_NS)
#define RETRY_MEMORY_NS (5 * BALE_SECOND_NS)

/* Opening failed. Memory may be missing for long: only the first time is logged. With the mutex. */
static void note_refused(struct cuda_engine *engine, int err, const char *why)
{
    bool for_memory = err == BALE_E_NOMEM;

    engine->stats.device_memory = 0;
    engine->reopen_ns = engine->idle_ns + (for_memory ? RETRY_MEMORY_NS : RETRY_NS);
    if (!for_memory || !engine->lacks_memory)
        bale_cuda_log(engine, BALE_GPU_WARNING, "GPU: %s: the CPU does everything %s", why,
                      for_memory ? "until there is more" : "for a minute");
}

/* Opens what is closed. With the mutex, which it releases meanwhile. */
static void reopen_devices(struct cuda_engine *engine)
{
    struct bale_gpu_timeline opening = {.begin_ns = bale_clock_ns()};
    bool kept = engine->state == CUDA_KEPT;
    struct bale_reason why = {0};
    int err;

    engine->open_wanted = engine->close_wanted = engine->unpin_wanted = false;
    engine->state = CUDA_OPENING;
    pthread_mutex_unlock(&engine->mutex);
    err = kept ? bale_cuda_allocate_slots(engine, &opening, &why)
               : bale_cuda_open_devices(engine, &opening, &why);
    pthread_mutex_lock(&engine->mutex);
    /* Items that came meanwhile may be too large for the new slots. */
    while (bale_cuda_answer_unwanted(engine))
        ;
    engine->idle_ns = bale_clock_ns();
    if (err < 0)
        note_refused(engine, err, why.text);
    engine->state = err == BALE_OK ? CUDA_OPEN : CUDA_CLOSED;
    engine->lacks_memory = err == BALE_E_NOMEM;
    pthread_cond_broadcast(&engine->worker_wake);
}

/* Closes the devices; a lost engine stays lost. With the mutex, which it releases meanwhile. */
static void release_devices(struct cuda_engine *engine)
{
    bool lost = engine->state == CUDA_LOST;

    engine->close_wanted = false;
    engine->state = lost ? CUDA_LOST : CUDA_CLOSING;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_close_devices(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->stats.device_memory = 0;
    engine->state = lost ? CUDA_LOST : CUDA_CLOSED;
}

/* Frees the slots and keeps the contexts. With the mutex, which it releases meanwhile. */
static void release_slots(struct cuda_engine *engine)
{
    engine->state = CUDA_CLOSING;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_free_slots(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->state = CUDA_KEPT;
}

/* Unpins what is pinned, and keeps the contexts. With the mutex, which it releases meanwhile. */
static void release_pins(struct cuda_engine *engine)
{
    engine->unpin_wanted = false;
    engine->state = CUDA_CLOSING;
    pthread_mutex_unlock(&engine->mutex);
    pthread_mutex_lock(&engine->pinning);
    bale_cuda_unpin_all(engine);
    pthread_mutex_unlock(&engine->pinning);
    pthread_mutex_lock(&engine->mutex);
    engine->state = CUDA_KEPT;
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

/* Whether a device is set to serve one process alone, which may be another one. */
static bool is_exclusive(const struct cuda_engine *engine)
{
    for (unsigned i = 0; i < engine->device_count; i++)
        if (engine->info[i].exclusive)
            return true;
    return false;
}

static bool has_work(const struct cuda_engine *engine)
{
    if (engine->busy_workers > 0)
        return true;
    for (unsigned q = 0; q < CUDA_QUEUES; q++)
        if (engine->queues[q].chunks > 0)
            return true;
    return false;
}

/* Whether there was no work for so long. */
static bool is_idle(const struct cuda_engine *engine, unsigned ms)
{
    return !has_work(engine) && bale_clock_ns() - engine->idle_ns >= ms * BALE_MILLISECOND_NS;
}

/* Whether to close the devices: hung and back, lost in quarantine, asked for, or unused for
 * long. */
static bool should_close(const struct cuda_engine *engine)
{
    bool shared = !is_exclusive(engine);

    if (engine->state == CUDA_HUNG || (engine->state == CUDA_LOST && engine->quarantine))
        return engine->busy_workers == 0;
    if (engine->state != CUDA_OPEN && engine->state != CUDA_KEPT)
        return false;
    return is_idle(engine, engine->close_wanted ? 0
                           : shared             ? engine->options.release_ms
                                                : engine->options.slots_ms);
}

static bool should_free_slots(const struct cuda_engine *engine)
{
    return engine->state == CUDA_OPEN && is_idle(engine, engine->options.slots_ms);
}

static bool should_unpin(const struct cuda_engine *engine)
{
    return engine->state == CUDA_KEPT && engine->unpin_wanted && !has_work(engine);
}

/* Waits for supervisor_wake: while a device is open, only for a part of the shortest time limit;
 * while a context is kept, so long that memory which others need is noticed within seconds. */
static void supervisor_sleep(struct cuda_engine *engine)
{
    uint64_t least = engine->options.slots_ms < engine->options.watchdog_ms
                         ? engine->options.slots_ms
                         : engine->options.watchdog_ms;
    bool awake = engine->state == CUDA_OPEN || engine->state == CUDA_HUNG ||
                 engine->state == CUDA_KEPT || engine->busy_workers > 0;

    if (awake)
        (void)bale_cond_wait_until(&engine->supervisor_wake, &engine->mutex,
                                   bale_clock_ns() + (least / 4 + 1) * BALE_MILLISECOND_NS);
    else
        pthread_cond_wait(&engine->supervisor_wake, &engine->mutex);
}

/* While a context is kept: asks for it to go if others need the memory. With the mutex, which it
 * releases meanwhile. */
static void watch_pressure(struct cuda_engine *engine)
{
    if (engine->state != CUDA_KEPT || engine->close_wanted)
        return;
    pthread_mutex_unlock(&engine->mutex);
    bool pressed = bale_cuda_is_pressed(engine);
    pthread_mutex_lock(&engine->mutex);
    engine->close_wanted |= pressed;
    if (pressed)
        bale_cuda_log(engine, BALE_GPU_INFO,
                      "GPU: %s: little of its memory is free: the context is given back",
                      engine->info[0].name);
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
        } else if (engine->stop && !has_work(engine)) {
            break;
        } else if (engine->open_wanted && !engine->stop &&
                   (engine->state == CUDA_CLOSED || engine->state == CUDA_KEPT)) {
            reopen_devices(engine);
        } else if (should_close(engine) && !engine->stop) {
            release_devices(engine);
        } else if (should_free_slots(engine) && !engine->stop) {
            release_slots(engine);
        } else if (should_unpin(engine) && !engine->stop) {
            release_pins(engine);
        } else {
            supervisor_sleep(engine);
            watch_pressure(engine);
        }
    }
    pthread_mutex_unlock(&engine->mutex);
    return NULL;
}
