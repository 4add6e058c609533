/* Returning items: calling their done, and finding those that no device does. */
#include "format/err.h"
#include "format/reason.h"
#include "kernels/cuda/engine.h"

static struct bale_item *take_waiting(struct cuda_engine *engine)
{
    struct bale_item *all = NULL;

    for (unsigned q = 0; q < CUDA_QUEUES; q++) {
        struct cuda_queue *queue = &engine->queues[q];
        while (queue->chunks > 0) {
            struct bale_item *item = bale_cuda_queue_take(
                queue, bale_cuda_queue_line(queue, engine->info, engine->device_count, 0));
            item->next = all;
            all = item;
        }
    }
    return all;
}

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

void bale_cuda_answer(struct cuda_engine *engine, struct bale_item *list, int status)
{
    uint64_t failed = 0;

    for (struct bale_item *item = list; item; item = item->next) {
        failed++;
        if (status != BALE_OK)
            item->status = status;
    }
    pthread_mutex_lock(&engine->mutex);
    engine->stats.failed += failed;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_complete(list);
}

void bale_cuda_set_quarantine(struct cuda_engine *engine, bool quarantine)
{
    if (engine->quarantine != quarantine && engine->options.quarantine)
        engine->options.quarantine(engine->options.arg, quarantine);
    engine->quarantine = quarantine;
}

/* Takes the items that no worker will take, with the status that they get. NULL: none. */
static struct bale_item *take_unwanted(struct cuda_engine *engine, int *status)
{
    struct bale_item *list = engine->refused;

    engine->refused = NULL;
    *status = BALE_OK; /* each has its own status */
    if (list || engine->state == CUDA_OPEN)
        return list;
    *status = engine->state == CUDA_LOST ? BALE_E_ENGINE : BALE_E_NO_DEVICE;
    return take_waiting(engine);
}

bool bale_cuda_answer_unwanted(struct cuda_engine *engine)
{
    int status;
    struct bale_item *list = take_unwanted(engine, &status);

    if (!list)
        return false;
    pthread_mutex_unlock(&engine->mutex);
    bale_cuda_answer(engine, list, status);
    pthread_mutex_lock(&engine->mutex);
    return true;
}

struct bale_item *bale_cuda_list_of(struct cuda_worker *w)
{
    for (uint32_t i = 0; i < w->job_count; i++)
        w->jobs[i].item->next = i + 1 < w->job_count ? w->jobs[i + 1].item : NULL;
    return w->jobs[0].item;
}
