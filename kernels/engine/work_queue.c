#include "kernels/engine/work_queue.h"

#include "kernels/base/lock.h"

unsigned bale_work_of(const struct bale_item *item)
{
    bool encode = item->kind == BALE_ITEM_ENCODE;
    unsigned codec = encode ? item->setting.codec : item->frame.codec;

    if (codec >= BALE_WORK_CODECS)
        return BALE_WORKS;
    return encode ? codec : BALE_WORK_CODECS + codec;
}

void bale_waiting_init(struct bale_waiting *waiting)
{
    bale_short_lock_init(&waiting->mutex);
    pthread_cond_init(&waiting->wake, NULL);
}

void bale_waiting_end(struct bale_waiting *waiting)
{
    pthread_cond_destroy(&waiting->wake);
    pthread_mutex_destroy(&waiting->mutex);
}

void bale_waiting_wake(struct bale_waiting *waiting, unsigned items)
{
    /* Nobody is woken for nothing; a busy worker looks at the queue by itself. */
    for (unsigned i = 0; i < items && i < waiting->sleeping; i++)
        pthread_cond_signal(&waiting->wake);
}

void bale_waiting_push(struct bale_waiting *waiting, struct bale_item *list)
{
    unsigned items = 0;

    pthread_mutex_lock(&waiting->mutex);
    while (list) {
        struct bale_item *next = list->next;
        bale_items_put(&waiting->queues[list->priority], list);
        list = next;
        items++;
    }
    bale_waiting_wake(waiting, items);
    pthread_mutex_unlock(&waiting->mutex);
}

void bale_waiting_offer(struct bale_waiting *waiting, struct bale_item *item, unsigned work)
{
    struct bale_offered *offered = &waiting->offered[work];

    bale_items_put(&offered->items, item);
    offered->count++;
    offered->bytes += item->frame.raw_length;
    waiting->works |= (uint64_t)1 << work;
}

static void take_off(struct bale_waiting *waiting, unsigned work, unsigned count, uint64_t bytes)
{
    struct bale_offered *offered = &waiting->offered[work];

    offered->count -= count;
    offered->bytes -= bytes;
    if (offered->count == 0)
        waiting->works &= ~((uint64_t)1 << work);
}

/* The kinds take turns. */
static struct bale_item *pop_offered(struct bale_waiting *waiting)
{
    uint64_t later = waiting->works & ~(((uint64_t)2 << waiting->last) - 1);
    uint64_t turns[] = {later, waiting->works & ~later};

    for (unsigned i = 0; i < 2; i++)
        for (uint64_t works = turns[i]; works != 0; works &= works - 1) {
            unsigned work = (unsigned)__builtin_ctzll(works);
            struct bale_offered *offered = &waiting->offered[work];
            if (offered->bytes <= offered->keep)
                continue;
            struct bale_item *item = bale_items_take(&offered->items);
            take_off(waiting, work, 1, item->frame.raw_length);
            waiting->last = work;
            return item;
        }
    return NULL;
}

static struct bale_item *pop(struct bale_waiting *waiting, bool *ended)
{
    struct bale_item *item = bale_items_take(&waiting->ended);

    *ended = item != NULL;
    for (int p = 0; p < BALE_PRIORITIES && !item; p++) {
        item = bale_items_take(&waiting->queues[p]);
        if (!item && p == BALE_PRIORITY_NORMAL && waiting->works != 0)
            item = pop_offered(waiting);
    }
    return item;
}

struct bale_item *bale_waiting_pop(struct bale_waiting *waiting, bool *ended)
{
    struct bale_item *item;

    while (!(item = pop(waiting, ended)) && !waiting->stop) {
        waiting->sleeping++;
        pthread_cond_wait(&waiting->wake, &waiting->mutex);
        waiting->sleeping--;
    }
    return item;
}

struct bale_item *bale_waiting_reap(struct bale_waiting *waiting, unsigned work, uint64_t most,
                                    unsigned *count, uint64_t *bytes)
{
    struct bale_items *items = &waiting->offered[work].items;
    uint64_t left = waiting->offered[work].bytes;
    struct bale_item *before = NULL;
    struct bale_item *first = items->first;

    *count = waiting->offered[work].count;
    while (left > most && first->next) {
        left -= first->frame.raw_length;
        before = first;
        first = first->next;
        --*count;
    }
    *bytes = left;
    if (before) {
        before->next = NULL;
        items->last = before;
    } else {
        items->first = NULL;
    }
    take_off(waiting, work, *count, left);
    return first;
}
