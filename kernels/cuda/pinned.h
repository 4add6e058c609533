/* The host memory that was made the devices'. Any thread. */
#ifndef BALE_KERNELS_CUDA_PINNED_H
#define BALE_KERNELS_CUDA_PINNED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_range {
    uint8_t *memory;
    size_t size;
    unsigned device; /* which it is near to, by its place among the engine's */
};

struct cuda_pinned {
    pthread_mutex_t mutex; /* guards the rest */
    struct cuda_range *ranges;
    size_t count;
    size_t capacity;
    struct cuda_range *merged; /* the same, sorted, what touches put together */
    size_t merged_count;
};

void bale_cuda_pinned_init(struct cuda_pinned *pinned);
void bale_cuda_pinned_destroy(struct cuda_pinned *pinned);

/* Has the pages of memory on a NUMA node, if the system lets us: elsewhere they are only slower. */
void bale_cuda_pinned_bind(void *memory, size_t size, int node);
/* BALE_OK or BALE_E_NOMEM. */
int bale_cuda_pinned_add(struct cuda_pinned *pinned, void *memory, size_t size, unsigned device);
/* Of the range that memory is in. */
unsigned bale_cuda_pinned_device(struct cuda_pinned *pinned, const void *memory);

bool bale_cuda_pinned_has(struct cuda_pinned *pinned, const void *memory, size_t size);
/* How many of size bytes that are copied the driver copies at a time: those before the next place, on either
 * side, at which a range begins or ends. It copies nothing that lies in more than one. */
size_t bale_cuda_pinned_part(struct cuda_pinned *pinned, const void *to, const void *from,
                             size_t size);
uint64_t bale_cuda_pinned_bytes(struct cuda_pinned *pinned);

#endif
