/* The ranges of host memory that are pinned for the devices. Any thread. */
#ifndef BALE_KERNELS_CUDA_PINNED_H
#define BALE_KERNELS_CUDA_PINNED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cuda_range {
    uint8_t *memory;
    size_t size;
    unsigned device; /* index of the device that it is near to */
};

struct cuda_pinned {
    pthread_mutex_t mutex; /* guards the rest, of longest_* only the changes */
    struct cuda_range *ranges;
    size_t count;
    size_t capacity;
    size_t usable;             /* the first so many may be used */
    struct cuda_range *merged; /* these, sorted, ranges that touch put together */
    size_t merged_count;
    size_t merged_capacity;
    /* The longest of the merged ones, read without the mutex by sequentially consistent
     * operations. The version is odd while the range changes: what was read is one range if the
     * version was even before and is the same after. The arena is one range, so nearly every
     * question ends here. */
    unsigned longest_version;
    uintptr_t longest_begin;
    size_t longest_size;
};

/* init: nothing is pinned. destroy frees the lists and unpins nothing. */
void bale_cuda_pinned_init(struct cuda_pinned *pinned);
void bale_cuda_pinned_destroy(struct cuda_pinned *pinned);

/* Prefers a NUMA node for the pages of memory, if the system allows it; on other nodes they are
 * only slower. */
void bale_cuda_pinned_bind(void *memory, size_t size, int node);
/* The range may be used only if all before it may. BALE_OK or BALE_E_NOMEM. */
int bale_cuda_pinned_add(struct cuda_pinned *pinned, void *memory, size_t size, unsigned device);
/* The device that the memory's range is near to; 0 if it is in none. */
unsigned bale_cuda_pinned_device(struct cuda_pinned *pinned, const void *memory);

/* Sets how many ranges may be used, the first ones, of those that were added. */
void bale_cuda_pinned_set_usable(struct cuda_pinned *pinned, size_t usable);

/* Whether all of the memory is in ranges that may be used; it may lie across ranges that touch. */
bool bale_cuda_pinned_has(struct cuda_pinned *pinned, const void *memory, size_t size);
/* How many of size bytes the driver can copy in one piece: those up to the next start or end of a
 * range, on either side. It refuses copies that lie in more than one range. */
size_t bale_cuda_pinned_part(struct cuda_pinned *pinned, const void *to, const void *from,
                             size_t size);
/* The ranges that may be used, together. */
uint64_t bale_cuda_pinned_bytes(struct cuda_pinned *pinned);

#endif
