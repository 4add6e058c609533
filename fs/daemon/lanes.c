#include "fs/daemon/lanes.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "kernels/base/cond.h"
#include "kernels/base/thread.h"

#define LANE_THREADS 8u   /* of one lane, at most */
#define THREADS_MANY 128u /* from then on one for each lane */
#define THREADS_MOST 256u
#define IDLE_NS (5 * BALE_SECOND_NS) /* then a thread ends */
#define BUCKETS 256u

struct lane {
    uint32_t user;
    bool changes;
    unsigned running, queued;
    struct bale_queued_list list;
    struct lane *next, *before; /* in the order of their turns */
    struct lane *same;          /* in its bucket */
};

struct bale_lanes {
    struct bale_memory *memory;
    const struct bale_lanes_ops *ops;
    void *arg;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t work, ended;
    /* The lane that was served last comes last. A lane has work or a thread, so that at most
     * THREADS_MOST have no work that may begin. */
    struct lane *first, *last;
    struct lane *buckets[BUCKETS];
    struct bale_queued_table waiting;
    unsigned threads, idle;
    bool stopping;
};

int bale_lanes_create(struct bale_memory *memory, const struct bale_lanes_ops *ops, void *arg,
                      struct bale_lanes **out)
{
    struct bale_lanes *lanes = calloc(1, sizeof *lanes);

    if (!lanes)
        return BALE_E_NOMEM;
    *lanes = (struct bale_lanes){.memory = memory, .ops = ops, .arg = arg};
    pthread_mutex_init(&lanes->lock, NULL);
    bale_cond_init(&lanes->work);
    pthread_cond_init(&lanes->ended, NULL);
    *out = lanes;
    return BALE_OK;
}

/* ---- The lanes, under the lock ---- */

static void lane_append(struct bale_lanes *lanes, struct lane *lane)
{
    lane->next = NULL;
    lane->before = lanes->last;
    *(lane->before ? &lane->before->next : &lanes->first) = lane;
    lanes->last = lane;
}

static void take_out(struct bale_lanes *lanes, struct lane *lane)
{
    *(lane->before ? &lane->before->next : &lanes->first) = lane->next;
    *(lane->next ? &lane->next->before : &lanes->last) = lane->before;
}

static struct lane **bucket_of(struct bale_lanes *lanes, uint32_t user, bool changes)
{
    return &lanes->buckets[(2 * user + changes) % BUCKETS];
}

/* The lane of a request, made if there is none; NULL: no memory. */
static struct lane *lane_of(struct bale_lanes *lanes, const struct bale_queued *queued)
{
    const struct fuse_in_header *in = (const void *)queued->request;
    bool changes = bale_freezer_is_change(in, queued->size) || in->opcode == FUSE_FSYNC ||
                   in->opcode == FUSE_FSYNCDIR;
    struct lane **bucket = bucket_of(lanes, in->uid, changes), *lane = *bucket;

    while (lane && (lane->user != in->uid || lane->changes != changes))
        lane = lane->same;
    if (!lane && (lane = calloc(1, sizeof *lane))) {
        *lane = (struct lane){.user = in->uid, .changes = changes, .same = *bucket};
        *bucket = lane;
        lane_append(lanes, lane);
    }
    return lane;
}

/* How many requests of a lane may run. */
static unsigned limit_of(const struct bale_lanes *lanes)
{
    return lanes->threads - lanes->idle > THREADS_MANY ? 1 : LANE_THREADS;
}

/* Whether more requests may begin now than threads are idle. */
static bool needs_thread(const struct bale_lanes *lanes)
{
    unsigned count = 0, most = limit_of(lanes);

    for (const struct lane *lane = lanes->first; lane && count <= lanes->idle; lane = lane->next) {
        unsigned room = lane->running < most ? most - lane->running : 0;
        count += lane->queued < room ? lane->queued : room;
    }
    return count > lanes->idle;
}

/* The lane whose turn it is, now the last one; NULL: none has work that may begin. */
static struct lane *next_lane(struct bale_lanes *lanes)
{
    unsigned most = limit_of(lanes);
    struct lane *lane = lanes->first;

    while (lane && (!lane->list.first || lane->running >= most))
        lane = lane->next;
    if (!lane)
        return NULL;
    take_out(lanes, lane);
    lane_append(lanes, lane);
    return lane;
}

static void take_off(struct bale_lanes *lanes, struct lane *lane, struct bale_queued *queued)
{
    bale_queued_take_off(&lane->list, queued);
    bale_queued_leave(&lanes->waiting, queued);
    lane->queued--;
}

static void forget_if_unused(struct bale_lanes *lanes, struct lane *lane)
{
    struct lane **at = bucket_of(lanes, lane->user, lane->changes);

    if (lane->list.first || lane->running > 0)
        return;
    while (*at != lane)
        at = &(*at)->same;
    *at = lane->same;
    take_out(lanes, lane);
    free(lane);
}

/* ---- The threads ---- */

/* Under the lock, which it drops. */
static void lane_serve(struct bale_lanes *lanes, struct lane *lane)
{
    struct bale_queued *queued = lane->list.first;

    take_off(lanes, lane, queued);
    lane->running++;
    pthread_mutex_unlock(&lanes->lock);
    lanes->ops->handle(lanes->arg, queued->request, queued->size);
    bale_queued_destroy(lanes->memory, queued);
    pthread_mutex_lock(&lanes->lock);
    lane->running--;
    forget_if_unused(lanes, lane);
}

/* Under the lock. False: nothing came for long. */
static bool wait_for_work(struct bale_lanes *lanes)
{
    lanes->idle++;
    bool woken = bale_cond_wait_until(&lanes->work, &lanes->lock, bale_clock_ns() + IDLE_NS);
    lanes->idle--;
    return woken;
}

static void *lane_thread(void *arg)
{
    struct bale_lanes *lanes = arg;
    bool waited = true;

    lanes->ops->begin(lanes->arg);
    pthread_mutex_lock(&lanes->lock);
    while (!lanes->stopping) {
        struct lane *lane = next_lane(lanes);
        if (lane)
            lane_serve(lanes, lane);
        else if (!waited)
            break;
        waited = lane || wait_for_work(lanes);
    }
    pthread_mutex_unlock(&lanes->lock);
    lanes->ops->end(lanes->arg);
    pthread_mutex_lock(&lanes->lock);
    if (--lanes->threads == 0)
        pthread_cond_broadcast(&lanes->ended);
    pthread_mutex_unlock(&lanes->lock);
    return NULL;
}

/* Without a new thread, a thread that comes back serves the request. Under the lock. */
static void add_thread(struct bale_lanes *lanes)
{
    pthread_t id;

    if (lanes->threads >= THREADS_MOST ||
        bale_thread_start(&id, "balefs-lane", lane_thread, lanes) != 0)
        return;
    pthread_detach(id);
    lanes->threads++;
}

bool bale_lanes_submit(struct bale_lanes *lanes, struct bale_queued *queued)
{
    pthread_mutex_lock(&lanes->lock);
    if (lanes->threads == 0)
        add_thread(lanes);
    struct lane *lane = lanes->stopping || lanes->threads == 0 ? NULL : lane_of(lanes, queued);
    if (lane) {
        bale_queued_append(&lane->list, queued);
        bale_queued_enter(&lanes->waiting, queued);
        lane->queued++;
        if (needs_thread(lanes))
            add_thread(lanes);
        pthread_cond_signal(&lanes->work);
    }
    pthread_mutex_unlock(&lanes->lock);
    if (!lane)
        bale_queued_destroy(lanes->memory, queued);
    return lane;
}

bool bale_lanes_have_waiting(struct bale_lanes *lanes)
{
    bool full = false;

    pthread_mutex_lock(&lanes->lock);
    for (const struct lane *lane = lanes->first; lane && !full; lane = lane->next)
        full = lane->list.first;
    pthread_mutex_unlock(&lanes->lock);
    return full;
}

bool bale_lanes_find(struct bale_lanes *lanes, uint64_t unique, uint32_t *pid)
{
    pthread_mutex_lock(&lanes->lock);
    bool found = bale_queued_find(&lanes->waiting, unique, pid);
    pthread_mutex_unlock(&lanes->lock);
    return found;
}

bool bale_lanes_drop(struct bale_lanes *lanes, uint64_t unique)
{
    uint32_t pid;

    pthread_mutex_lock(&lanes->lock);
    struct bale_queued *queued = bale_queued_find(&lanes->waiting, unique, &pid);
    if (queued) {
        struct lane *lane = lane_of(lanes, queued);
        take_off(lanes, lane, queued);
        forget_if_unused(lanes, lane);
    }
    pthread_mutex_unlock(&lanes->lock);
    if (queued)
        bale_queued_destroy(lanes->memory, queued);
    return queued;
}

void bale_lanes_stop(struct bale_lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    lanes->stopping = true;
    pthread_cond_broadcast(&lanes->work);
    while (lanes->threads > 0)
        pthread_cond_wait(&lanes->ended, &lanes->lock);
    while (lanes->first) {
        struct lane *lane = lanes->first;
        lanes->first = lane->next;
        while (lane->list.first) {
            struct bale_queued *queued = lane->list.first;
            bale_queued_take_off(&lane->list, queued);
            bale_queued_destroy(lanes->memory, queued);
        }
        free(lane);
    }
    pthread_mutex_unlock(&lanes->lock);
}

void bale_lanes_destroy(struct bale_lanes *lanes)
{
    if (!lanes)
        return;
    pthread_cond_destroy(&lanes->work);
    pthread_cond_destroy(&lanes->ended);
    pthread_mutex_destroy(&lanes->lock);
    free(lanes);
}
