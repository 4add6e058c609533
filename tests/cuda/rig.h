/* The CUDA engine as a test has it: the plug-in, pinned memory, and lists of items that are waited
 * for. */
#ifndef BALE_TESTS_CUDA_RIG_H
#define BALE_TESTS_CUDA_RIG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "kernels/engine/gpu.h"

#define RIG_STEP ((size_t)32 << 20) /* what is pinned at a time */

struct rig {
    const char *file; /* of the plug-in */
    const struct bale_gpu *gpu;
    /* kernels/cuda/test_faults.cuh; NULL: the plug-in has no faults */
    void (*fault)(const char *name);
    struct bale_gpu_found found; /* by rig_load() */
    struct bale_engine *engine;
    uint8_t *memory; /* pinned */
    size_t size;
    pthread_mutex_t mutex;
    pthread_cond_t all_done;
    unsigned waiting; /* guarded by mutex */
};

/* The plug-in's reports about quarantine: for its options. */
struct rig_quarantine {
    atomic_uint calls;
    atomic_bool may; /* changed under mutex */
    pthread_mutex_t mutex;
    pthread_cond_t over;
};
#define RIG_QUARANTINE                                                                             \
    {                                                                                              \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .over = PTHREAD_COND_INITIALIZER                       \
    }
void rig_note_quarantine(void *late, bool may);
/* Until no device may. */
void rig_quarantine_wait(struct rig_quarantine *late);

void rig_wait_for(sem_t *sem, unsigned times);

/* Warnings and errors in the log of what rig_open() opened, so far. */
unsigned rig_complaints(void);

/* Opens the plug-in in the file. Ends the program as skipped where there is no GPU. */
void rig_load(struct rig *rig, const char *file);

/* Whether the plug-in does the codec here: nvCOMP's codecs need its library. */
bool rig_has(const struct rig *rig, uint8_t codec);
/* Where nvCOMP is missing, says in a line that the checks of its codecs are skipped. */
void rig_say_missing(const struct rig *rig);

/* Opens an engine and pins the memory, which stays from one engine to the next. */
void rig_open(struct rig *rig, const struct bale_gpu_options *options);
void rig_close(struct rig *rig);

/* size bytes of memory, which rig_open() then pins. */
void rig_reserve(struct rig *rig, size_t size);

/* Submits items[0, count) as one list and waits for all. Sets done and owner. */
void rig_run(struct rig *rig, struct bale_item *items, unsigned count);

/* Whether all bytes of [begin, end) have the value. */
bool rig_all(const uint8_t *begin, const uint8_t *end, uint8_t value);

struct bale_gpu_stats rig_stats(struct rig *rig);

/* Waits until the engine has its device, or has given it back. */
void rig_wait(struct rig *rig, bool open);

#endif
