#include "fs/cache/flusher.h"

#include <stdlib.h>
#include <time.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/change.h"
#include "fs/cache/grow.h"
#include "fs/cache/reserve.h"
#include "kernels/base/thread.h"

#define TICK_MS 250u
#define SPACE_MS 20u /* looks for the sake of space are this far apart */

struct bale_flusher {
    struct bale_volume *volume;
    pthread_t thread;
};

/* Commits what has been dirty for age_ms; 0: everything. */
static void flush_files(struct bale_volume *volume, uint64_t age_ms)
{
    struct bale_file **files;
    size_t count;

    (void)bale_volume_list_files(volume, false, NULL, &files, &count);
    uint64_t now = bale_now_ms();
    for (size_t i = 0; i < count; i++) {
        struct bale_file *f = files[i];
        pthread_mutex_lock(&f->lock);
        /* Without dirty extents, only times or size have changed, or the flush under way has
         * all. */
        bool old = f->dirty_first ? f->dirty_first->dirtied_ms + age_ms <= now : !f->change;
        bool due = age_ms == 0 || old;
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

void bale_flusher_look(struct bale_volume *volume)
{
    bool space = atomic_exchange(&volume->space_came, false);
    bool all = space || bale_reserve_is_pressed(volume) || bale_volume_writes_wait(volume);

    flush_files(volume, all ? 0 : volume->age_ms);
    if (!space)
        return;
    if (atomic_load(&volume->full))
        bale_reserve_restore(volume);
    bale_volume_wake_for_space(volume);
}

/* Waits if space came soon after the last look. On a full store each removal tells of space, and
 * each look for it tries to store everything that is dirty. */
static void wait_for_more_space(struct bale_volume *volume, uint64_t looked_ms)
{
    uint64_t now = bale_now_ms(), next = looked_ms + SPACE_MS;

    if (atomic_load(&volume->space_came) && now < next) {
        const struct timespec pause = {.tv_nsec = (long)(next - now) * 1000000};
        nanosleep(&pause, NULL);
    }
}

/* Called by the engine (dispatch.h). */
static void trim_unpinned(void *memory)
{
    bale_memory_trim_unpinned(memory);
}

/* Has memory unpinned that the GPU does not need now, if the machine or the control group has
 * little left. Not merely after some time: it has to be pinned again in the next burst, which is
 * slower for it. */
static void unpin_if_scarce(struct bale_volume *volume)
{
    struct bale_dispatch_stats stats;

    bale_dispatch_stats(volume->engine, &stats);
    if (!stats.device.kept || stats.device.pinned == 0 || !volume->memory_is_scarce())
        return;
    bale_log(
        BALE_LOG_INFO,
        "memory: the machine or the control group has little left: %llu MiB are to be unpinned",
        (unsigned long long)stats.device.pinned >> 20);
    bale_dispatch_unpin(volume->engine);
}

void bale_flusher_give_back(struct bale_volume *volume)
{
    unpin_if_scarce(volume);
    if (!bale_dispatch_while_unpinned(volume->engine, trim_unpinned, volume->memory))
        bale_memory_trim(volume->memory);
}

static void *flusher_thread(void *arg)
{
    struct bale_flusher *flusher = arg;
    struct bale_volume *volume = flusher->volume;
    unsigned ticks = 0;
    uint64_t ticked = bale_now_ms(), looked = 0;

    while (bale_volume_flusher_sleep(volume, TICK_MS)) {
        wait_for_more_space(volume, looked);
        bale_flusher_look(volume);
        bale_volume_grow_if_due(volume);
        looked = bale_now_ms();
        /* Not at each kick: they may come without a pause. */
        if (bale_now_ms() < ticked + TICK_MS)
            continue;
        ticked = bale_now_ms();
        if ((++ticks % 4 == 0 || bale_volume_writes_wait(volume)) && atomic_load(&volume->full))
            bale_reserve_restore(volume);
        bale_volume_wake(volume);
        bale_volume_checkpoint_if_due(volume);
        if (ticks % 16 == 0)
            bale_flusher_give_back(volume);
    }
    return NULL;
}

int bale_flusher_start(struct bale_volume *volume, struct bale_flusher **out)
{
    struct bale_flusher *flusher = calloc(1, sizeof *flusher);

    if (!flusher)
        return BALE_E_NOMEM;
    flusher->volume = volume;
    if (bale_thread_start(&flusher->thread, "balefs-flush", flusher_thread, flusher) != 0) {
        free(flusher);
        return BALE_E_NOMEM;
    }
    *out = flusher;
    return BALE_OK;
}

void bale_flusher_stop(struct bale_flusher *flusher)
{
    bale_volume_end_kicks(flusher->volume);
    pthread_join(flusher->thread, NULL);
}

void bale_flusher_free(struct bale_flusher *flusher)
{
    free(flusher);
}
