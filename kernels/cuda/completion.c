/* Items that go back: how their owners are called, and which go back undone. */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/cuda/engine.h"

static struct bale_item *take_waiting(struct cuda_engine *e)
{
    struct bale_item *all = NULL;

    for (unsigned q = 0; q < CUDA_QUEUES; q++) {
        struct cuda_queue *queue = &e->queues[q];
        while (queue->chunks > 0) {
            struct bale_item *item = bale_cuda_queue_take(
                queue, bale_cuda_queue_line(queue, e->about, e->device_count, 0));
            item->next = all;
            all = item;
        }
    }
    return all;
}

/* Their statuses are set. */
void bale_cuda_complete(struct bale_item *list)
{
    while (list) {
        struct bale_item *next = list->next;
        list->next = NULL;
        list->more = next != NULL;
        list->done(list);
        list = next;
    }
}

void bale_cuda_answer(struct cuda_engine *e, struct bale_item *list, int status)
{
    uint64_t failed = 0;

    for (struct bale_item *item = list; item; item = item->next) {
        failed++;
        if (status != BALE_OK)
            item->status = status;
    }
    pthread_mutex_lock(&e->mutex);
    e->stats.failed += failed;
    pthread_mutex_unlock(&e->mutex);
    bale_cuda_complete(list);
}

/* Once for each change. */
void bale_cuda_set_quarantine(struct cuda_engine *e, bool quarantine)
{
    if (e->quarantine != quarantine && e->options.quarantine)
        e->options.quarantine(e->options.arg, quarantine);
    e->quarantine = quarantine;
}

/* Items that nobody will take, or NULL. */
static struct bale_item *unwanted(struct cuda_engine *e, int *status)
{
    struct bale_item *list = e->refused;

    e->refused = NULL;
    *status = BALE_OK; /* each has its own */
    if (list || e->state == CUDA_OPEN)
        return list;
    *status = e->state == CUDA_LOST ? BALE_E_ENGINE : BALE_E_NO_DEVICE;
    return take_waiting(e);
}

bool bale_cuda_answer_unwanted(struct cuda_engine *e)
{
    int status;
    struct bale_item *list = unwanted(e, &status);

    if (!list)
        return false;
    pthread_mutex_unlock(&e->mutex);
    bale_cuda_answer(e, list, status);
    pthread_mutex_lock(&e->mutex);
    return true;
}

struct bale_item *bale_cuda_list_of(struct cuda_worker *w)
{
    for (uint32_t i = 0; i < w->job_count; i++)
        w->jobs[i].item->next = i + 1 < w->job_count ? w->jobs[i + 1].item : NULL;
    return w->jobs[0].item;
}
