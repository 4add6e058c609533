#include "kernels/cuda/queue.h"

#include "kernels/cuda/engine.h"

void bale_cuda_queue_put(struct cuda_queue *queue, unsigned line, struct bale_item *item)
{
    bale_item_list_append(&queue->lines[line], item);
    queue->chunks += bale_cuda_cells(&item->frame);
}

struct bale_item_list *bale_cuda_queue_line(struct cuda_queue *queue,
                                            const struct bale_driver_device *devices,
                                            unsigned count, unsigned device)
{
    struct bale_item_list *any = NULL, *near = NULL;

    if (queue->lines[device].first)
        return &queue->lines[device];
    for (unsigned i = 0; i < count && !near; i++) {
        if (!queue->lines[i].first)
            continue;
        any = any ? any : &queue->lines[i];
        if (devices[i].node == devices[device].node)
            near = &queue->lines[i];
    }
    return near ? near : any;
}

struct bale_item *bale_cuda_queue_take(struct cuda_queue *queue, struct bale_item_list *line)
{
    struct bale_item *item = bale_item_list_pop(line);

    queue->chunks -= bale_cuda_cells(&item->frame);
    return item;
}
