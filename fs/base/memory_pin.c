/* Pins the arena, step by step, on a thread of its own. */
#include "format/err.h"
#include "fs/base/memory_state.h"
#include "kernels/base/join.h"
#include "kernels/base/thread.h"

#define PIN_STEP ((uint64_t)32 << 20)
#define PIN_AHEAD ((uint64_t)256 << 20)

/* Whether to pin another step. A quarter of the cap, 256 MiB at most, is pinned before anything is
 * used, so that a burst finds it so, and later a quarter more than was ever allocated: not more,
 * for while the driver pins, batches wait. Pinned memory stays resident, used or not, so it must
 * leave room for what is counted elsewhere. Under the lock. */
static bool wants_pin_step(const struct bale_memory *memory)
{
    uint64_t least = memory->cap / 4 < PIN_AHEAD ? memory->cap / 4 : PIN_AHEAD;
    uint64_t used = memory->high + memory->high / 4;

    return (memory->pin_all || memory->pinned < (used > least ? used : least)) &&
           memory->pinned + PIN_STEP <= bale_memory_allowance(memory);
}

uint64_t bale_memory_pinned(const struct bale_memory *memory)
{
    return atomic_load_explicit(&memory->pinned, memory_order_relaxed);
}

void bale_memory_wake_pinner(struct bale_memory *memory)
{
    if (memory->pinner_started && wants_pin_step(memory))
        pthread_cond_signal(&memory->pinner_wake);
}

static void *memory_pin_thread(void *arg)
{
    struct bale_memory *memory = arg;
    int err = BALE_OK;

    pthread_mutex_lock(&memory->lock);
    while (err == BALE_OK && !memory->pinner_ending) {
        if (!wants_pin_step(memory)) {
            pthread_cond_wait(&memory->pinner_wake, &memory->lock);
            continue;
        }
        uint64_t position = memory->pinned;
        memory->pinned += PIN_STEP;
        pthread_mutex_unlock(&memory->lock);
        err = memory->pin(memory->pin_arg, memory->arena + position, PIN_STEP);
        pthread_mutex_lock(&memory->lock);
        if (err != BALE_OK)
            memory->pinned = position;
    }
    pthread_mutex_unlock(&memory->lock);
    return NULL;
}

void bale_memory_pin_begin(struct bale_memory *memory, bool all,
                           int (*pin)(void *arg, void *start, size_t size), void *arg)
{
    pthread_mutex_lock(&memory->lock);
    if (!memory->pinner_ending && !memory->pinner_started) {
        memory->pin_all = all;
        memory->pin = pin;
        memory->pin_arg = arg;
        memory->pinner_started =
            bale_thread_start(&memory->pinner, "balefs-pin", memory_pin_thread, memory) == 0;
    }
    pthread_mutex_unlock(&memory->lock);
}

void bale_memory_pin_end(struct bale_memory *memory)
{
    if (!memory)
        return;
    pthread_mutex_lock(&memory->lock);
    bool started = memory->pinner_started;
    memory->pinner_ending = true;
    memory->pinner_started = false;
    pthread_cond_signal(&memory->pinner_wake);
    pthread_mutex_unlock(&memory->lock);
    if (started && !bale_join_within(memory->pinner, BALE_PATIENCE_S)) {
        pthread_detach(memory->pinner);
        memory->pinner_left = true;
    }
}
