/* A block of device threads on a core, for tests. Each device thread is a fibre with a stack of its
 * own; it runs until it waits for the others of its warp or block. A block runs on the calling
 * thread, so it shows neither races within a block nor speed. It shows what the code computes, and
 * ends the program where lanes of a warp, or threads of a block, wait for different things or
 * forever. */
#ifndef BALE_TESTS_CUDA_EMULATION_BLOCK_H
#define BALE_TESTS_CUDA_EMULATION_BLOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EMULATED_WARP = 32, EMULATED_THREADS_MAX = 1024, EMULATED_BARRIERS = 16 };

/* What the lanes of a warp, or the threads of a block, wait for together. */
enum emulated_wait {
    EMULATED_EXCHANGE,
    EMULATED_SYNC_WARP,
    EMULATED_SYNC_BLOCK,
    EMULATED_SYNC_OR,
    EMULATED_SYNC_AND
};

/* Runs body(arg) in so many threads, 1 to EMULATED_THREADS_MAX, until all have returned. */
void emulated_run(unsigned threads, void (*body)(void *), void *arg);

/* Gives back what the calling thread of the system has run blocks with. */
void emulated_end(void);

/* The functions below are for body. */

/* In the room that each thread of the system has for libraries that are opened later: by default
 * each access would be a call. */
#define EMULATED_THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))
extern EMULATED_THREAD_LOCAL unsigned emulated_current;

/* The calling thread's index in its block. */
static inline unsigned emulated_thread(void)
{
    return emulated_current;
}

/* Waits for all lanes of the warp; returns their values, which are valid until the lane waits
 * again. */
const uint64_t *emulated_exchange(enum emulated_wait wait, uint64_t value);

/* Waits for all threads of the block that have not returned; returns how many of them came with a
 * value that is not 0. */
unsigned emulated_sync(enum emulated_wait wait, int value);

/* Waits for so many threads of the block at the barrier `id`, 0 to EMULATED_BARRIERS - 1; returns
 * how many of them came with a value that is not 0. */
unsigned emulated_sync_some(unsigned id, unsigned threads, int value);

/* Lets other threads run. */
void emulated_yield(void);

#ifdef __cplusplus
}
#endif

#endif
