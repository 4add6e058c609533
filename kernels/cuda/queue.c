#include "kernels/cuda/queue.h"

#include "kernels/cuda/engine.h"

void bale_cuda_queue_put(struct cuda_queue *queue, unsigned line, struct bale_item *item)
{
    struct cuda_line *l = &queue->lines[line];

    item->next = NULL;
    if (l->first)
        l->last->next = item;
    else
        l->first = item;
    l->last = item;
    queue->chunks += bale_cuda_chunks(&item->frame);
}

struct cuda_line *bale_cuda_queue_line(struct cuda_queue *queue,
                                       const struct bale_driver_device *devices, unsigned count,
                                       unsigned device)
{
    struct cuda_line *any = NULL, *near = NULL;

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

struct bale_item *bale_cuda_queue_take(struct cuda_queue *queue, struct cuda_line *line)
{
    struct bale_item *item = line->first;

    line->first = item->next;
    item->next = NULL;
    queue->chunks -= bale_cuda_chunks(&item->frame);
    return item;
}
