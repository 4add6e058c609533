/* Items that wait for a slot, of one codec and direction: a line for each device, of those whose memory is near
 * to it. Not safe from several threads: the engine's mutex guards it. */
#ifndef BALE_KERNELS_CUDA_QUEUE_H
#define BALE_KERNELS_CUDA_QUEUE_H

#include "kernels/cuda/driver.h"
#include "kernels/engine/gpu.h"
#include "kernels/engine/item_list.h"

/* All zeros: empty. */
struct cuda_queue {
    struct bale_item_list lines[BALE_GPU_DEVICES];
    uint64_t chunks; /* of all; 0: there is no item */
};

void bale_cuda_queue_put(struct cuda_queue *queue, unsigned line, struct bale_item *item);

/* Where a device takes its next item from: its own line, else one of a device on its node, else any.
 * NULL: there is no item. */
struct bale_item_list *bale_cuda_queue_line(struct cuda_queue *queue,
                                            const struct bale_driver_device *devices,
                                            unsigned count, unsigned device);
/* The line's first, which is there. */
struct bale_item *bale_cuda_queue_take(struct cuda_queue *queue, struct bale_item_list *line);

#endif
