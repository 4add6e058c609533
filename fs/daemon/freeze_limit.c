#include "fs/daemon/freeze_limit.h"

#include <pthread.h>
#include <stdlib.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/daemon/log_file.h"
#include "fs/fuse/freeze.h"
#include "kernels/base/cond.h"
#include "kernels/base/thread.h"

struct bale_freeze_limit {
    struct bale_mount *mount; /* set when it is made */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;
    bool stop;
    bool lasts;        /* a freeze */
    bool overdue;      /* the last one has ended by itself, and nobody has been told */
    uint64_t number;   /* of the last one */
    uint64_t deadline; /* by bale_clock_ns */
};

void bale_thaw(struct bale_mount *mount)
{
    /* In this order: see control_freeze_quiesced. */
    bale_freezer_thaw(mount->freezer);
    bale_volume_thaw(mount->volume);
    bale_log_file_hold(false);
}

static void *freeze_limit_thread(void *argument)
{
    struct bale_freeze_limit *limit = argument;

    pthread_mutex_lock(&limit->lock);
    while (!limit->stop) {
        if (!limit->lasts) {
            pthread_cond_wait(&limit->wake, &limit->lock);
        } else if (bale_clock_ns() < limit->deadline) {
            (void)bale_cond_wait_until(&limit->wake, &limit->lock, limit->deadline);
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

    if (!limit)
        return BALE_E_NOMEM;
    limit->mount = mount;
    pthread_mutex_init(&limit->lock, NULL);
    bale_cond_init(&limit->wake);
    if (bale_thread_start(&limit->thread, "balefs-thaw", freeze_limit_thread, limit) != 0) {
        pthread_cond_destroy(&limit->wake);
        pthread_mutex_destroy(&limit->lock);
        free(limit);
        return BALE_E_NOMEM;
    }
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
    limit->deadline = bale_clock_ns() + seconds * BALE_SECOND_NS;
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
    uint64_t now = bale_clock_ns();

    pthread_mutex_lock(&limit->lock);
    uint64_t left = limit->lasts && limit->deadline > now ? limit->deadline - now : 0;
    pthread_mutex_unlock(&limit->lock);
    return (left + BALE_SECOND_NS - 1) / BALE_SECOND_NS;
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
