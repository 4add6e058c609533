/* The thread that writes out what is old, or what takes too much memory. */
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "fs/cache/internal.h"
#include "kernels/base/container_of.h"

#define TICK_MS 250u
#define CHECKPOINT_MS 30000u

/* Commits what has been dirty for age_ms; 0: all. */
static void flush_files(struct bale_volume *volume, uint64_t age_ms)
{
    struct bale_file **files;
    size_t count;

    (void)bale_volume_list(volume, false, NULL, &files, &count);
    uint64_t now = bale_now_ms();
    for (size_t i = 0; i < count; i++) {
        struct bale_file *f = files[i];
        pthread_mutex_lock(&f->lock);
        bool due = age_ms == 0 || !f->dirty_first || f->dirty_first->dirtied_ms + age_ms <= now;
        due = due && !(f->changes && f->changes->kind == BALE_CHANGE_FLUSH);
        pthread_mutex_unlock(&f->lock);
        struct bale_change *change =
            due ? bale_change_create(f, BALE_CHANGE_FLUSH, NULL, NULL) : NULL;
        if (change)
            bale_change_submit(change);
        bale_file_unref(f);
    }
    free(files);
}

static void run_checkpoint(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_volume *volume = BALE_CONTAINER_OF(job, struct bale_volume, checkpoint);
    (void)volume->options.checkpoint(volume->options.arg);
    atomic_store(&volume->checkpointing, false);
}

/* Bounds what must be verified after a power loss. */
static void checkpoint_if_due(struct bale_volume *volume)
{
    uint64_t now = bale_now_ms(), commits = atomic_load(&volume->stats.commits);

    if (!volume->options.checkpoint || now < volume->checkpoint_ms + CHECKPOINT_MS ||
        commits == volume->checkpoint_commits || atomic_exchange(&volume->checkpointing, true))
        return;
    volume->checkpoint_ms = now;
    volume->checkpoint_commits = commits;
    volume->checkpoint.run = run_checkpoint;
    bale_pool_submit(volume->pool, &volume->checkpoint);
}

void bale_volume_taint(struct bale_volume *volume)
{
    if (volume->options.tainted)
        volume->options.tainted(volume->options.arg);
}

bool bale_volume_pressed(struct bale_volume *volume)
{
    return atomic_load(&volume->dirty) > atomic_load(&volume->dirty_limit) / 4 * 3 ||
           atomic_load(&volume->unevictable) > volume->unevictable_limit / 4 * 3;
}

bool bale_volume_writes_wait(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->park_lock);
    bool waiting = volume->parked != NULL;
    pthread_mutex_unlock(&volume->park_lock);
    return waiting;
}

void *bale_flusher(void *arg)
{
    struct bale_volume *volume = arg;
    unsigned ticks = 0;
    uint64_t ticked = bale_now_ms();

    pthread_mutex_lock(&volume->flusher_lock);
    while (!volume->ending) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += (long)TICK_MS * 1000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!volume->kicked)
            pthread_cond_timedwait(&volume->flusher_wake, &volume->flusher_lock, &until);
        volume->kicked = false;
        pthread_mutex_unlock(&volume->flusher_lock);
        bool all = bale_volume_pressed(volume) || bale_volume_writes_wait(volume);
        flush_files(volume, all ? 0 : volume->age_ms);
        /* By the clock: kicks may come without a pause. */
        if (bale_now_ms() >= ticked + TICK_MS) {
            ticked = bale_now_ms();
            bale_volume_wake(volume);
            checkpoint_if_due(volume);
            if (++ticks % 4 == 0 && atomic_load(&volume->full))
                bale_volume_restore_reserve(volume);
            if (ticks % 16 == 0)
                bale_memory_trim(volume->memory);
        }
        pthread_mutex_lock(&volume->flusher_lock);
    }
    pthread_mutex_unlock(&volume->flusher_lock);
    return NULL;
}

void bale_volume_kick(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->flusher_lock);
    volume->kicked = true;
    pthread_cond_signal(&volume->flusher_wake);
    pthread_mutex_unlock(&volume->flusher_lock);
}
