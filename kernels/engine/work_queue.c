#include "kernels/engine/work_queue.h"

#include "kernels/base/container_of.h"
#include "kernels/base/lock.h"

unsigned bale_work_of(const struct bale_item *item)
{
    bool encode = item->kind == BALE_ITEM_ENCODE;
    uint8_t codec = encode ? item->setting.codec : item->frame.codec;
    uint16_t parameter = encode ? (uint16_t)item->setting.parameter : item->frame.parameter;
    const struct bale_codec_about *about = bale_codec_about(codec);

    if (!about || codec >= BALE_WORK_CODECS || (encode && bale_setting_is_open(item->setting)))
        return BALE_WORKS;
    return bale_work(item->kind, codec, about->speed(parameter));
}

unsigned bale_works_next(const struct bale_works *works, unsigned work)
{
    for (; work < BALE_WORKS; work = (work / 64 + 1) * 64) {
        uint64_t bits = works->bits[work / 64] >> work % 64;
        if (bits != 0)
            return work + (unsigned)__builtin_ctzll(bits);
    }
    return BALE_WORKS;
}

void bale_work_queue_init(struct bale_work_queue *queue)
{
    bale_short_lock_init(&queue->mutex);
    pthread_cond_init(&queue->wake, NULL);
    for (int p = 0; p < BALE_PRIORITIES; p++)
        queue->by_priority[p].sums = true;
}

void bale_work_queue_destroy(struct bale_work_queue *queue)
{
    pthread_cond_destroy(&queue->wake);
    pthread_mutex_destroy(&queue->mutex);
}

unsigned bale_work_queue_sleepers(const struct bale_work_queue *queue, unsigned items)
{
    return items < queue->sleeping ? items : queue->sleeping;
}

void bale_work_queue_wake(struct bale_work_queue *queue, unsigned workers)
{
    for (unsigned i = 0; i < workers; i++)
        pthread_cond_signal(&queue->wake);
}

unsigned bale_work_queue_takable(const struct bale_work_queue *queue)
{
    unsigned items = 0;

    for (unsigned work = 0; (work = bale_works_next(&queue->works, work)) < BALE_WORKS; work++)
        if (queue->offered[work].bytes > queue->offered[work].reserved)
            items += queue->offered[work].count;
    return items;
}

void bale_work_queue_add(struct bale_work_queue *queue, struct bale_item *item)
{
    item->next = NULL;
    bale_turns_add(&queue->by_priority[item->priority], &item->turn);
}

void bale_work_queue_push(struct bale_work_queue *queue, struct bale_item *list)
{
    unsigned items = 0;

    pthread_mutex_lock(&queue->mutex);
    while (list) {
        struct bale_item *next = list->next;
        bale_work_queue_add(queue, list);
        list = next;
        items++;
    }
    unsigned sleepers = bale_work_queue_sleepers(queue, items);
    pthread_mutex_unlock(&queue->mutex);
    bale_work_queue_wake(queue, sleepers);
}

static uint64_t awaited_bytes(const struct bale_item *item)
{
    return item->background ? 0 : item->frame.raw_length;
}

void bale_work_queue_offer(struct bale_work_queue *queue, struct bale_item *item, unsigned work)
{
    struct bale_offered *offered = &queue->offered[work];

    bale_item_list_append(&offered->items, item);
    offered->count++;
    offered->bytes += item->frame.raw_length;
    offered->awaited += awaited_bytes(item);
    queue->works.bits[work / 64] |= (uint64_t)1 << work % 64;
}

static void count_removed(struct bale_work_queue *queue, unsigned work, unsigned count,
                          uint64_t bytes)
{
    struct bale_offered *offered = &queue->offered[work];

    offered->count -= count;
    offered->bytes -= bytes;
    if (offered->count == 0)
        queue->works.bits[work / 64] &= ~((uint64_t)1 << work % 64);
}

/* From the first of the kinds [from, to) whose items are not all reserved. */
static struct bale_item *pop_kinds(struct bale_work_queue *queue, unsigned from, unsigned to)
{
    unsigned work = bale_works_next(&queue->works, from);

    while (work < to && queue->offered[work].bytes <= queue->offered[work].reserved)
        work = bale_works_next(&queue->works, work + 1);
    if (work >= to)
        return NULL;
    struct bale_item *item = bale_item_list_pop(&queue->offered[work].items);
    count_removed(queue, work, 1, item->frame.raw_length);
    queue->offered[work].awaited -= awaited_bytes(item);
    queue->last = work;
    return item;
}

/* The kinds of work take turns. */
static struct bale_item *pop_offered(struct bale_work_queue *queue)
{
    unsigned behind = queue->last + 1;
    struct bale_item *item = pop_kinds(queue, behind, BALE_WORKS);

    return item ? item : pop_kinds(queue, 0, behind);
}

static struct bale_item *pop_turn(struct bale_turns *turns, bool fresh)
{
    struct bale_turn *turn = bale_turns_next(turns, fresh);

    if (!turn)
        return NULL;
    bale_turns_take(turns, turn);
    return BALE_CONTAINER_OF(turn, struct bale_item, turn);
}

static struct bale_item *pop_completed(struct bale_work_queue *queue)
{
    struct bale_item *first = queue->completed.first;
    struct bale_item *last = first;

    for (unsigned i = 1; last && last->next && i < BALE_COMPLETED_TOGETHER; i++)
        last = last->next;
    if (last) {
        queue->completed.first = last->next;
        last->next = NULL;
    }
    return first;
}

static struct bale_item *pop(struct bale_work_queue *queue, bool *completed)
{
    struct bale_item *item = pop_completed(queue);
    bool last = queue->workers > 0 && queue->running + 1 >= queue->workers;

    *completed = item != NULL;
    for (int p = 0; p < BALE_PRIORITIES && !item; p++) {
        item = pop_turn(&queue->by_priority[p], last);
        if (!item && !last && p == BALE_PRIORITY_NORMAL)
            item = pop_offered(queue);
    }
    return item;
}

/* The user's items count whatever their priority. */
static void hold(struct bale_work_queue *queue, uint32_t user, int change)
{
    for (int p = 0; p < BALE_PRIORITIES; p++)
        bale_turns_hold(&queue->by_priority[p], user, change);
}

struct bale_item *bale_work_queue_pop(struct bale_work_queue *queue, bool *completed)
{
    struct bale_item *item;

    while (!(item = pop(queue, completed)) && !queue->stop) {
        queue->sleeping++;
        pthread_cond_wait(&queue->wake, &queue->mutex);
        queue->sleeping--;
    }
    if (item && !*completed) {
        queue->running++;
        hold(queue, item->turn.user, 1);
    }
    return item;
}

void bale_work_queue_end(struct bale_work_queue *queue, enum bale_priority priority, uint32_t user,
                         uint64_t ns)
{
    queue->running--;
    hold(queue, user, -1);
    bale_turns_use(&queue->by_priority[priority], user, (int64_t)ns);
}

struct bale_item *bale_work_queue_steal(struct bale_work_queue *queue, unsigned work, uint64_t most,
                                        unsigned *count, uint64_t *bytes)
{
    struct bale_item_list *items = &queue->offered[work].items;
    uint64_t left = queue->offered[work].bytes, awaited = 0;
    struct bale_item *before = NULL;
    struct bale_item *first = items->first;

    *count = queue->offered[work].count;
    while (left > most && first->next) {
        left -= first->frame.raw_length;
        awaited += awaited_bytes(first);
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
    count_removed(queue, work, *count, left);
    queue->offered[work].awaited = awaited;
    return first;
}
