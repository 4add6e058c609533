#include "tests/cuda/emulation/block.h"

#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Tops of stacks that are a power of two apart would share a few lines of the cache: every switch
 * from a thread to the next one would miss it. */
enum { STACK = (256 << 10) + 17 * 64, NONE = EMULATED_THREADS_MAX };

struct warp {
    enum emulated_wait wait; /* of those that have arrived */
    unsigned arrived, lanes; /* lanes: that have not returned */
    unsigned round;          /* which of the values are being collected */
    uint64_t values[2][EMULATED_WARP];
};

/* A barrier for some threads. */
struct barrier {
    unsigned arrived, true_values, result;
    unsigned threads[EMULATED_THREADS_MAX];
};

/* The block of an OS thread: made once, and used for all blocks that it runs. */
struct block {
    void *caller; /* the stack pointers of what does not run */
    void *threads[EMULATED_THREADS_MAX];
    uint8_t *stacks;
    unsigned count, live;
    unsigned queue[EMULATED_THREADS_MAX]; /* a ring of the threads that can run */
    unsigned first, waiting_to_run;
    struct warp warps[EMULATED_THREADS_MAX / EMULATED_WARP];
    enum emulated_wait wait; /* of the threads at the block's barrier */
    unsigned at_barrier, true_values, result;
    unsigned barrier[EMULATED_THREADS_MAX];
    struct barrier barriers[EMULATED_BARRIERS];
    void (*body)(void *);
    void *arg;
};

EMULATED_THREAD_LOCAL unsigned emulated_current;
static EMULATED_THREAD_LOCAL struct block *block;

/* Saves what a function must keep, and the stack pointer in *from; goes on where `to` was saved.
 * swapcontext takes twenty times as long: it asks the kernel for the signal mask. */
void emulated_switch(void **from, void *to);
__asm__(".text\n"
        ".globl emulated_switch\n"
        ".type emulated_switch, @function\n"
        "emulated_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size emulated_switch, . - emulated_switch\n");

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "emulation: thread %u of %u: %s\n", emulated_current, block->count, what);
    abort();
}

static void make_runnable(unsigned thread)
{
    block->queue[(block->first + block->waiting_to_run++) % EMULATED_THREADS_MAX] = thread;
}

static unsigned next_runnable(void)
{
    unsigned thread = block->queue[block->first];

    if (block->waiting_to_run == 0)
        return NONE;
    block->first = (block->first + 1) % EMULATED_THREADS_MAX;
    block->waiting_to_run--;
    return thread;
}

/* Goes on with another thread until this one is made runnable and has its turn. */
static void wait_for_turn(void)
{
    unsigned own = emulated_current, next = next_runnable();

    if (next == NONE)
        stop("waits for threads that never come");
    if (next == own)
        return;
    emulated_current = next;
    emulated_switch(&block->threads[own], block->threads[next]);
}

void emulated_yield(void)
{
    make_runnable(emulated_current);
    wait_for_turn();
}

const uint64_t *emulated_exchange(enum emulated_wait wait, uint64_t value)
{
    unsigned own = emulated_current, first = own / EMULATED_WARP * EMULATED_WARP;
    struct warp *warp = &block->warps[own / EMULATED_WARP];
    uint64_t *values = warp->values[warp->round];

    if (warp->lanes < EMULATED_WARP)
        stop("lanes of its warp have returned");
    if (warp->arrived > 0 && warp->wait != wait)
        stop("lanes of its warp wait for something else");
    warp->wait = wait;
    values[own % EMULATED_WARP] = value;
    if (++warp->arrived < EMULATED_WARP) {
        wait_for_turn();
        return values;
    }
    warp->arrived = 0;
    warp->round ^= 1;
    for (unsigned i = first; i < first + EMULATED_WARP; i++)
        if (i != own)
            make_runnable(i);
    return values;
}

static void release_barrier(void)
{
    for (unsigned i = 0; i < block->at_barrier; i++)
        make_runnable(block->barrier[i]);
    block->result = block->true_values;
    block->true_values = 0;
    block->at_barrier = 0;
}

unsigned emulated_sync(enum emulated_wait wait, int value)
{
    if (block->at_barrier > 0 && block->wait != wait)
        stop("threads of its block wait for something else");
    block->wait = wait;
    block->true_values += value != 0;
    block->barrier[block->at_barrier++] = emulated_current;
    if (block->at_barrier == block->live)
        release_barrier();
    wait_for_turn();
    return block->result;
}

unsigned emulated_sync_some(unsigned id, unsigned threads, int value)
{
    struct barrier *barrier = &block->barriers[id];

    barrier->true_values += value != 0;
    barrier->threads[barrier->arrived++] = emulated_current;
    if (barrier->arrived == threads) {
        for (unsigned i = 0; i < threads; i++)
            make_runnable(barrier->threads[i]);
        barrier->result = barrier->true_values;
        barrier->true_values = 0;
        barrier->arrived = 0;
    }
    wait_for_turn();
    return barrier->result;
}

/* The body of a fibre. */
static void run_thread(void)
{
    block->body(block->arg);
    block->live--;
    struct warp *warp = &block->warps[emulated_current / EMULATED_WARP];
    warp->lanes--;
    if (warp->arrived > 0)
        stop("returns while lanes of its warp wait");
    if (block->live > 0 && block->at_barrier == block->live)
        release_barrier();
    unsigned next = next_runnable();
    if (next == NONE && block->live > 0)
        stop("returns, and the other threads wait for each other");
    void *ended;
    if (next == NONE)
        emulated_switch(&ended, block->caller);
    emulated_current = next;
    emulated_switch(&ended, block->threads[next]);
}

/* A stack from which emulated_switch goes to run_thread: six registers, and where it returns to. At
 * the begin of a function the stack pointer is 8 below a multiple of 16. */
static void *make_stack(unsigned thread)
{
    uintptr_t *top = (uintptr_t *)(void *)(block->stacks + (size_t)(thread + 1) * STACK);

    memset(top - 8, 0, 8 * sizeof *top);
    top[-2] = (uintptr_t)run_thread;
    return top - 8;
}

static void make_block(void)
{
    block = calloc(1, sizeof *block);
    if (!block)
        abort();
    block->stacks = mmap(NULL, (size_t)STACK * EMULATED_THREADS_MAX, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (block->stacks == MAP_FAILED)
        abort();
}

void emulated_run(unsigned threads, void (*body)(void *), void *arg)
{
    if (!block)
        make_block();
    block->count = block->live = threads;
    block->body = body;
    block->arg = arg;
    block->first = block->waiting_to_run = block->at_barrier = 0;
    memset(block->barriers, 0, sizeof block->barriers);
    for (unsigned w = 0; w * EMULATED_WARP < threads; w++) {
        unsigned left = threads - w * EMULATED_WARP;
        block->warps[w] = (struct warp){.lanes = left < EMULATED_WARP ? left : EMULATED_WARP};
    }
    for (unsigned i = 0; i < threads; i++) {
        block->threads[i] = make_stack(i);
        if (i > 0)
            make_runnable(i);
    }
    emulated_current = 0;
    emulated_switch(&block->caller, block->threads[0]);
}

void emulated_end(void)
{
    if (block) {
        /* What its functions have marked would hold for whatever is mapped there next. */
        ASAN_UNPOISON_MEMORY_REGION(block->stacks, (size_t)STACK * EMULATED_THREADS_MAX);
        munmap(block->stacks, (size_t)STACK * EMULATED_THREADS_MAX);
        free(block);
    }
    block = NULL;
}
