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

struct lane {
    uint32_t user;
    bool changes;
    unsigned running, queued;
    struct bale_queued *first, **last;
    struct lane *next;
};

struct bale_lanes {
    struct bale_memory *memory;
    const struct bale_lanes_ops *ops;
    void *arg;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t work, ended;
    struct lane *first; /* the lane that was served last comes last */
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

static struct lane *lane_of(struct bale_lanes *lanes, const struct bale_queued *queued)
{
    const struct fuse_in_header *in = (const void *)queued->request;
    bool changes = bale_freezer_is_change(in, queued->size) || in->opcode == FUSE_FSYNC ||
                   in->opcode == FUSE_FSYNCDIR;
    struct lane **at = &lanes->first;

    while (*at && ((*at)->user != in->uid || (*at)->changes != changes))
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof **at))) {
        **at = (struct lane){.user = in->uid, .changes = changes};
        (*at)->last = &(*at)->first;
    }
    return *at;
}

/* How many requests of a lane may run. */
static unsigned limit_of(const struct bale_lanes *lanes)
{
    return lanes->threads - lanes->idle > THREADS_MANY ? 1 : LANE_THREADS;
}

/* How many requests may begin now. */
static unsigned ready(const struct bale_lanes *lanes)
{
    unsigned count = 0, most = limit_of(lanes);

    for (const struct lane *lane = lanes->first; lane; lane = lane->next) {
        unsigned room = lane->running < most ? most - lane->running : 0;
        count += lane->queued < room ? lane->queued : room;
    }
    return count;
}

/* The lane whose turn it is, now the last one; NULL: none has work that may begin. */
static struct lane *next_lane(struct bale_lanes *lanes)
{
    unsigned most = limit_of(lanes);
    struct lane **at = &lanes->first;

    while (*at && (!(*at)->first || (*at)->running >= most))
        at = &(*at)->next;
    struct lane *lane = *at;
    if (!lane)
        return NULL;
    *at = lane->next;
    lane->next = NULL;
    while (*at)
        at = &(*at)->next;
    *at = lane;
    return lane;
}

static void take_off(struct lane *lane, struct bale_queued **at)
{
    *at = (*at)->next;
    if (!*at)
        lane->last = at;
    lane->queued--;
}

static void forget_if_unused(struct bale_lanes *lanes, struct lane *lane)
{
    struct lane **at = &lanes->first;

    if (lane->first || lane->running > 0)
        return;
    while (*at != lane)
        at = &(*at)->next;
    *at = lane->next;
    free(lane);
}

/* ---- The threads ---- */

/* Under the lock, which it drops. */
static void serve(struct bale_lanes *lanes, struct lane *lane)
{
    struct bale_queued *queued = lane->first;

    take_off(lane, &lane->first);
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
            serve(lanes, lane);
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
    queued->next = NULL;
    pthread_mutex_lock(&lanes->lock);
    if (lanes->threads == 0)
        add_thread(lanes);
    struct lane *lane = lanes->stopping || lanes->threads == 0 ? NULL : lane_of(lanes, queued);
    if (lane) {
        *lane->last = queued;
        lane->last = &queued->next;
        lane->queued++;
        if (lanes->idle < ready(lanes))
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
        full = lane->first;
    pthread_mutex_unlock(&lanes->lock);
    return full;
}

bool bale_lanes_find(struct bale_lanes *lanes, uint64_t unique, uint32_t *pid)
{
    bool found = false;

    pthread_mutex_lock(&lanes->lock);
    for (struct lane *lane = lanes->first; lane && !found; lane = lane->next)
        found = bale_queued_find(&lane->first, unique, pid);
    pthread_mutex_unlock(&lanes->lock);
    return found;
}

bool bale_lanes_drop(struct bale_lanes *lanes, uint64_t unique)
{
    struct bale_queued *queued = NULL;
    uint32_t pid;

    pthread_mutex_lock(&lanes->lock);
    for (struct lane *lane = lanes->first, *next; lane && !queued; lane = next) {
        struct bale_queued **at = bale_queued_find(&lane->first, unique, &pid);
        next = lane->next;
        if (at) {
            queued = *at;
            take_off(lane, at);
            forget_if_unused(lanes, lane);
        }
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
        while (lane->first) {
            struct bale_queued *queued = lane->first;
            lane->first = queued->next;
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
