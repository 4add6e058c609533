/* A queue of items of one codec and direction: a list for each device, of the items whose memory
 * is near to it. The engine's mutex guards it. */
#ifndef BALE_KERNELS_CUDA_QUEUE_H
#define BALE_KERNELS_CUDA_QUEUE_H

#include "kernels/cuda/driver.h"
#include "kernels/engine/gpu.h"
#include "kernels/engine/item_list.h"

/* All zeros: empty. */
struct cuda_queue {
    struct bale_item_list lines[BALE_GPU_DEVICES];
    uint64_t chunks; /* of all items; 0: the queue is empty */
};

/* Appends the item to a line. The caller locks the queue. */
void bale_cuda_queue_put(struct cuda_queue *queue, unsigned line, struct bale_item *item);

/* The list that a device takes its next item from: its own, else one of a device on the same
 * NUMA node, else any. NULL: the queue is empty. */
struct bale_item_list *bale_cuda_queue_line(struct cuda_queue *queue,
                                            const struct bale_driver_device *devices,
                                            unsigned count, unsigned device);
/* The first item of a list that is not empty. */
struct bale_item *bale_cuda_queue_take(struct cuda_queue *queue, struct bale_item_list *line);

#endif
