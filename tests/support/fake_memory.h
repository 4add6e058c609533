/* A fake GPU's memory: what was pinned, and what is the device's. BALE_FAKE_MEMORY says "START SIZE
 * REAL", three numbers: what lies at START, where nobody may look, is REAL's. */
#ifndef BALE_TESTS_SUPPORT_FAKE_MEMORY_H
#define BALE_TESTS_SUPPORT_FAKE_MEMORY_H

#include <pthread.h>

#include "kernels/engine/gpu.h"

enum {
    FAKE_RANGES = 64,
    FAKE_DEVICE = 1,
    FAKE_RUBBISH = 0xa5, /* where an output is spoiled */
};

struct fake_range {
    uint8_t *start;
    size_t size;
};

struct fake_memory {
    pthread_mutex_t lock;
    struct fake_range ranges[FAKE_RANGES]; /* pinned; guarded by lock */
    unsigned range_count;
    uintptr_t device, real; /* where the device's begins, and is indeed */
    size_t device_size;
    uint64_t copies;
};

/* All else of it is zero. */
void fake_memory_open(struct fake_memory *memory);
void fake_memory_close(struct fake_memory *memory);

bool fake_memory_is_device(const struct fake_memory *memory, const void *bytes);
/* Where the bytes are indeed. */
uint8_t *fake_memory_real(const struct fake_memory *memory, const void *bytes);
/* Whether all of the item lies where a GPU can read and write it. */
bool fake_memory_has(struct fake_memory *memory, const struct bale_item *item);

/* kernels/engine/gpu.h's pin and copy, and how much is pinned. */
int fake_memory_pin(struct fake_memory *memory, void *start, size_t size);
int fake_memory_copy(struct fake_memory *memory, const struct bale_gpu_copy *copies, size_t count);
uint64_t fake_memory_pinned(struct fake_memory *memory);

#endif
