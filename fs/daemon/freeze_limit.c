#include "fs/daemon/freeze_limit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/fuse/freeze.h"

struct bale_freeze_limit {
    struct bale_mount *mount; /* set when it is made */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    bool stop;
    bool lasts;               /* a freeze */
    bool overdue;             /* the last one has ended by itself, and nobody has been told */
    uint64_t number;          /* of the last one */
    struct timespec deadline; /* CLOCK_MONOTONIC */
};

void bale_thaw(struct bale_mount *mount)
{
    /* In this order: see control_freeze_quiesced. */
    bale_freezer_thaw(mount->freezer);
    bale_volume_thaw(mount->volume);
}

static bool has_passed(const struct timespec *deadline)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

static void *freeze_limit_thread(void *argument)
{
    struct bale_freeze_limit *limit = argument;

    pthread_mutex_lock(&limit->lock);
    while (!limit->stop) {
        if (!limit->lasts) {
            pthread_cond_wait(&limit->wake, &limit->lock);
        } else if (!has_passed(&limit->deadline)) {
            pthread_cond_timedwait(&limit->wake, &limit->lock, &limit->deadline);
        } else {
            limit->lasts = false;
            limit->overdue = true;
            pthread_mutex_unlock(&limit->lock);
            bale_log(BALE_LOG_WARNING,
                     "%s: was frozen for as long as it may be, and is thawed: freeze it with "
                     "--for, or for a command",
                     bale_store_path(limit->mount->store));
            bale_thaw(limit->mount);
            pthread_mutex_lock(&limit->lock);
        }
    }
    pthread_mutex_unlock(&limit->lock);
    return NULL;
}

int bale_freeze_limit_create(struct bale_mount *mount, struct bale_freeze_limit **out)
{
    struct bale_freeze_limit *limit = calloc(1, sizeof *limit);
    pthread_condattr_t monotonic;

    if (!limit)
        return BALE_E_NOMEM;
    limit->mount = mount;
    pthread_mutex_init(&limit->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&limit->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&limit->thread, NULL, freeze_limit_thread, limit) != 0) {
        pthread_cond_destroy(&limit->wake);
        pthread_mutex_destroy(&limit->lock);
        free(limit);
        return BALE_E_NOMEM;
    }
    pthread_setname_np(limit->thread, "balefs-thaw");
    *out = limit;
    return BALE_OK;
}

void bale_freeze_limit_destroy(struct bale_freeze_limit *limit)
{
    if (!limit)
        return;
    pthread_mutex_lock(&limit->lock);
    limit->stop = true;
    pthread_cond_signal(&limit->wake);
    pthread_mutex_unlock(&limit->lock);
    pthread_join(limit->thread, NULL);
    pthread_cond_destroy(&limit->wake);
    pthread_mutex_destroy(&limit->lock);
    free(limit);
}

/* With the lock. */
static void set_deadline(struct bale_freeze_limit *limit, uint32_t seconds)
{
    clock_gettime(CLOCK_MONOTONIC, &limit->deadline);
    limit->deadline.tv_sec += seconds;
    pthread_cond_signal(&limit->wake);
}

uint64_t bale_freeze_limit_begin(struct bale_freeze_limit *limit, uint32_t seconds)
{
    pthread_mutex_lock(&limit->lock);
    uint64_t number = limit->lasts ? 0 : ++limit->number;
    if (number) {
        limit->lasts = true;
        limit->overdue = false;
        set_deadline(limit, seconds);
    }
    pthread_mutex_unlock(&limit->lock);
    return number;
}

bool bale_freeze_limit_extend(struct bale_freeze_limit *limit, uint64_t number, uint32_t seconds)
{
    pthread_mutex_lock(&limit->lock);
    bool lasts = limit->lasts && limit->number == number;
    if (lasts)
        set_deadline(limit, seconds);
    pthread_mutex_unlock(&limit->lock);
    return lasts;
}

uint64_t bale_freeze_limit_left(struct bale_freeze_limit *limit)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&limit->lock);
    time_t left = limit->lasts ? limit->deadline.tv_sec - now.tv_sec : 0;
    left += limit->lasts && limit->deadline.tv_nsec > now.tv_nsec;
    pthread_mutex_unlock(&limit->lock);
    return left > 0 ? (uint64_t)left : 0;
}

bool bale_freeze_limit_end(struct bale_freeze_limit *limit, uint64_t number)
{
    pthread_mutex_lock(&limit->lock);
    bool ours = number == 0 || number == limit->number;
    bool in_time = ours && (number == 0 ? !limit->overdue : limit->lasts);
    if (ours) {
        limit->lasts = false;
        limit->overdue = false;
    }
    pthread_mutex_unlock(&limit->lock);
    return in_time;
}
