/* Pins the arena, step by step, on a thread of its own. */
#include "format/err.h"
#include "fs/base/memory_state.h"
#include "kernels/base/cond.h"
#include "kernels/base/join.h"
#include "kernels/base/thread.h"

#define PIN_STEP ((uint64_t)32 << 20)
#define FIRST_MOST ((uint64_t)256 << 20)
#define AHEAD_MOST ((uint64_t)1 << 30)
#define QUIET_NS (50 * BALE_MILLISECOND_NS)

static uint64_t quarter_of_cap(const struct bale_memory *memory, uint64_t most)
{
    uint64_t quarter = memory->cap / 4;

    return quarter < most ? quarter : most;
}

/* What is to be pinned at once: a quarter more than was ever allocated, or what a first burst
 * needs. Not more, for while the driver pins, batches wait. Under the lock. */
static uint64_t due(const struct bale_memory *memory)
{
    uint64_t used = memory->high + memory->high / 4;
    uint64_t first = quarter_of_cap(memory, FIRST_MOST);

    return used > first ? used : first;
}

/* What is pinned when nothing was allocated for a while, so that the next burst need not wait for
 * it. Under the lock. */
static uint64_t ahead(const struct bale_memory *memory)
{
    return quarter_of_cap(memory, AHEAD_MOST);
}

/* Whether a step is missing up to the target. Pinned memory stays resident, used or not, so it must
 * leave room for what is counted elsewhere. Under the lock. */
static bool lacks_step(const struct bale_memory *memory, uint64_t target)
{
    return (memory->pin_all || memory->pinned < target) &&
           memory->pinned + PIN_STEP <= bale_memory_allowance(memory);
}

uint64_t bale_memory_pinned(const struct bale_memory *memory)
{
    return atomic_load_explicit(&memory->pinned, memory_order_relaxed);
}

bool bale_memory_is_pinning(const struct bale_memory *memory)
{
    return atomic_load_explicit(&memory->pinning, memory_order_relaxed);
}

void bale_memory_wake_pinner(struct bale_memory *memory)
{
    if (!memory->pinner_started || memory->pinner_ending)
        return;
    memory->pinning = lacks_step(memory, due(memory));
    if (memory->pinning)
        pthread_cond_signal(&memory->pinner_wake);
}

/* Waits a while. Whether nothing was allocated meanwhile. Under the lock. */
static bool wait_for_quiet(struct bale_memory *memory)
{
    uint64_t allocations = memory->allocations;

    return !bale_cond_wait_until(&memory->pinner_wake, &memory->lock, bale_clock_ns() + QUIET_NS) &&
           memory->allocations == allocations;
}

/* Whether programs need what would be pinned ahead. This reads files, so it gives the lock up. */
static bool is_scarce(struct bale_memory *memory)
{
    pthread_mutex_unlock(&memory->lock);
    bool scarce = memory->is_scarce();
    pthread_mutex_lock(&memory->lock);
    return scarce;
}

/* Waits until it is time to pin another step. Once memory was scarce, nothing is pinned ahead until
 * a step was due or the cap has grown. False: the thread is to end. Under the lock. */
static bool wait_for_step(struct bale_memory *memory)
{
    bool scarce = false;

    while (!memory->pinner_ending && !lacks_step(memory, due(memory))) {
        memory->pinning = false;
        if (scarce || !lacks_step(memory, ahead(memory))) {
            pthread_cond_wait(&memory->pinner_wake, &memory->lock);
            scarce = false;
        } else if (wait_for_quiet(memory)) {
            scarce = is_scarce(memory);
            if (!scarce)
                break;
        }
    }
    return !memory->pinner_ending;
}

static void *memory_pin_thread(void *arg)
{
    struct bale_memory *memory = arg;

    pthread_mutex_lock(&memory->lock);
    while (wait_for_step(memory)) {
        uint64_t position = memory->pinned;
        memory->pinned += PIN_STEP;
        pthread_mutex_unlock(&memory->lock);
        int err = memory->pin(memory->pin_arg, memory->arena + position, PIN_STEP);
        pthread_mutex_lock(&memory->lock);
        if (err != BALE_OK) {
            memory->pinned = position;
            memory->pinner_ending = true;
        }
    }
    memory->pinning = false;
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
        bale_memory_wake_pinner(memory);
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
