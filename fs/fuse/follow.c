/* A thread looks at each open file in turn, in jobs of the pool: a look reads from the store, and
 * dropping pages waits for whoever is reading them. */
#include "fs/fuse/follow.h"

#include <stdlib.h>

#include "format/err.h"
#include "fs/fuse/opened.h"
#include "kernels/base/cond.h"
#include "kernels/base/container_of.h"
#include "kernels/base/thread.h"

#define PERIOD_NS                                                                                  \
    (400 * BALE_MILLISECOND_NS) /* with BALE_BESIDE_SECONDS, everything shows within 1 s */

struct bale_follower {
    struct bale_mount *mount;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below; taken after mount->opened_lock */
    pthread_cond_t wake;
    unsigned looks; /* under way */
    bool end;
};

/* ---- A look ---------------------------------------------------------------------------------- */

static void look_end(struct bale_follower *follower)
{
    pthread_mutex_lock(&follower->lock);
    follower->looks--;
    pthread_cond_broadcast(&follower->wake);
    pthread_mutex_unlock(&follower->lock);
}

static void look_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_opened *opened = BALE_CONTAINER_OF(job, struct bale_opened, job);
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;

    (void)scratch;
    (void)bale_file_follow(opened->file); /* after an error the next look tries again */
    uint32_t stamp = bale_file_stamp(opened->file);
    /* A page that is read from now on is of this commit or a newer one. */
    if (atomic_exchange(&node->shown, stamp) != stamp)
        (void)fuse_lowlevel_notify_inval_inode(mount->session, bale_ino_of(mount, node), 0, 0);
    pthread_mutex_lock(&mount->opened_lock);
    opened->following = false;
    pthread_mutex_unlock(&mount->opened_lock);
    bale_use_end(mount, node);
    look_end(mount->follower);
}

/* With mount->opened_lock. */
static void look_begin(struct bale_opened *opened)
{
    struct bale_mount *mount = opened->mount;
    struct bale_follower *follower = mount->follower;

    if (opened->state != BALE_OPENED_OPEN || opened->following)
        return;
    pthread_mutex_lock(&follower->lock);
    bool ends = follower->end;
    follower->looks += !ends;
    pthread_mutex_unlock(&follower->lock);
    if (ends)
        return;
    opened->following = true;
    opened->uses++;
    opened->job.run = look_job;
    bale_pool_submit(bale_volume_pool(mount->volume), &opened->job);
}

void bale_follow_open(struct bale_mount *mount, struct bale_node *node)
{
    if (!mount->beside)
        return;
    pthread_mutex_lock(&mount->opened_lock);
    bool was_open = node->opened->uses > 1;
    pthread_mutex_unlock(&mount->opened_lock);
    if (was_open)
        (void)bale_file_follow(node->opened->file);
}

void bale_follow_note(struct bale_mount *mount, struct bale_node *node)
{
    if (!mount->beside || bale_file_stamp(node->opened->file) == atomic_load(&node->shown))
        return;
    pthread_mutex_lock(&mount->opened_lock);
    look_begin(node->opened);
    pthread_mutex_unlock(&mount->opened_lock);
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void look_at_all(struct bale_mount *mount)
{
    pthread_mutex_lock(&mount->opened_lock);
    for (struct bale_opened *opened = mount->opened; opened; opened = opened->next)
        look_begin(opened);
    pthread_mutex_unlock(&mount->opened_lock);
}

static void *follower_thread(void *arg)
{
    struct bale_follower *follower = arg;

    pthread_mutex_lock(&follower->lock);
    while (!follower->end) {
        uint64_t deadline = bale_clock_ns() + PERIOD_NS;
        while (!follower->end && bale_cond_wait_until(&follower->wake, &follower->lock, deadline))
            ;
        if (follower->end)
            break;
        pthread_mutex_unlock(&follower->lock);
        look_at_all(follower->mount);
        pthread_mutex_lock(&follower->lock);
    }
    pthread_mutex_unlock(&follower->lock);
    return NULL;
}

int bale_follower_create(struct bale_mount *mount)
{
    struct bale_follower *follower = calloc(1, sizeof *follower);

    if (!follower)
        return BALE_E_NOMEM;
    follower->mount = mount;
    pthread_mutex_init(&follower->lock, NULL);
    bale_cond_init(&follower->wake);
    mount->follower = follower;
    if (bale_thread_start(&follower->thread, "balefs-follow", follower_thread, follower) == 0)
        return BALE_OK;
    mount->follower = NULL;
    pthread_cond_destroy(&follower->wake);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
    return BALE_E_NOMEM;
}

void bale_follower_stop(struct bale_follower *follower)
{
    if (!follower)
        return;
    pthread_mutex_lock(&follower->lock);
    follower->end = true;
    pthread_cond_broadcast(&follower->wake);
    pthread_mutex_unlock(&follower->lock);
    pthread_join(follower->thread, NULL);
    pthread_mutex_lock(&follower->lock);
    while (follower->looks > 0)
        pthread_cond_wait(&follower->wake, &follower->lock);
    pthread_mutex_unlock(&follower->lock);
}

void bale_follower_destroy(struct bale_follower *follower)
{
    if (!follower)
        return;
    pthread_cond_destroy(&follower->wake);
    pthread_mutex_destroy(&follower->lock);
    free(follower);
}
