#include "fs/cache/volume_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "fs/cache/file_state.h"
#include "kernels/base/cond.h"

struct bale_volume_lists {
    pthread_mutex_t files_lock; /* guards the lists of files and their links */
    pthread_cond_t files_gone;
    struct bale_file *files;
    struct bale_file *dirty_files;

    pthread_mutex_t park_lock;  /* guards the next five, and changes of volume->frozen */
    atomic_uint_fast64_t wakes; /* read without the lock, too */
    struct bale_parked_write *parked, **parked_end;
    struct bale_turn *deferred, **deferred_end;

    pthread_mutex_t kick_lock; /* guards the rest */
    pthread_cond_t kick;
    bool kicked, ending;
};

int bale_volume_lists_create(struct bale_volume_lists **out)
{
    struct bale_volume_lists *lists = calloc(1, sizeof *lists);

    if (!lists)
        return BALE_E_NOMEM;
    pthread_mutex_init(&lists->files_lock, NULL);
    pthread_cond_init(&lists->files_gone, NULL);
    pthread_mutex_init(&lists->park_lock, NULL);
    lists->parked_end = &lists->parked;
    lists->deferred_end = &lists->deferred;
    pthread_mutex_init(&lists->kick_lock, NULL);
    bale_cond_init(&lists->kick);
    *out = lists;
    return BALE_OK;
}

void bale_volume_lists_destroy(struct bale_volume_lists *lists)
{
    if (!lists)
        return;
    pthread_cond_destroy(&lists->kick);
    pthread_mutex_destroy(&lists->kick_lock);
    pthread_mutex_destroy(&lists->park_lock);
    pthread_cond_destroy(&lists->files_gone);
    pthread_mutex_destroy(&lists->files_lock);
    free(lists);
}

uint64_t bale_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- Files ---- */

void bale_volume_add_file(struct bale_file *file)
{
    struct bale_volume_lists *lists = file->volume->lists;

    pthread_mutex_lock(&lists->files_lock);
    file->next = lists->files;
    if (file->next)
        file->next->before = file;
    lists->files = file;
    file->volume->file_count++;
    pthread_mutex_unlock(&lists->files_lock);
}

struct bale_waiter *bale_volume_remove_file(struct bale_file *file)
{
    struct bale_volume_lists *lists = file->volume->lists;

    pthread_mutex_lock(&lists->files_lock);
    *(file->before ? &file->before->next : &lists->files) = file->next;
    if (file->next)
        file->next->before = file->before;
    file->volume->file_count--;
    struct bale_waiter *gone = file->gone;
    pthread_cond_broadcast(&lists->files_gone);
    pthread_mutex_unlock(&lists->files_lock);
    return gone;
}

void bale_volume_wait_for_files(struct bale_volume *volume)
{
    struct bale_volume_lists *lists = volume->lists;

    pthread_mutex_lock(&lists->files_lock);
    while (lists->files)
        pthread_cond_wait(&lists->files_gone, &lists->files_lock);
    pthread_mutex_unlock(&lists->files_lock);
}

void bale_volume_add_dirty(struct bale_file *file, int64_t bytes)
{
    struct bale_volume_lists *lists = file->volume->lists;

    if (bytes > 0 && bale_burst_note(&file->volume->burst, bale_now_ms(), (uint64_t)bytes))
        bale_dispatch_wake_gpu(file->volume->engine);
    file->dirty += (uint64_t)bytes;
    atomic_fetch_add(&file->volume->dirty, (uint64_t)bytes);
    bool listed = file->dirty > 0 || file->attr_dirty;
    if (listed == file->on_dirty_list)
        return;
    pthread_mutex_lock(&lists->files_lock);
    if (listed) {
        file->dirty_before = NULL;
        file->dirty_next = lists->dirty_files;
        if (file->dirty_next)
            file->dirty_next->dirty_before = file;
        lists->dirty_files = file;
    } else {
        *(file->dirty_before ? &file->dirty_before->dirty_next : &lists->dirty_files) =
            file->dirty_next;
        if (file->dirty_next)
            file->dirty_next->dirty_before = file->dirty_before;
    }
    file->on_dirty_list = listed;
    pthread_mutex_unlock(&lists->files_lock);
}

bool bale_file_ref_live(struct bale_file *file)
{
    unsigned refs = atomic_load(&file->refs);

    while (refs > 0 && !atomic_compare_exchange_weak(&file->refs, &refs, refs + 1)) {
    }
    return refs > 0;
}

/* Under files_lock. */
static int watch_close(struct bale_file *file, const struct bale_close_watch *watch)
{
    struct bale_waiter *waiter = malloc(sizeof *waiter);

    if (!waiter)
        return BALE_E_NOMEM;
    *waiter = (struct bale_waiter){watch->file_closed, watch->arg, file->gone};
    file->gone = waiter;
    atomic_fetch_add(watch->pending, 1);
    return BALE_OK;
}

int bale_volume_list_files(struct bale_volume *volume, bool all,
                           const struct bale_close_watch *watch, struct bale_file ***files,
                           size_t *count)
{
    struct bale_volume_lists *lists = volume->lists;
    size_t room = 0;
    int err = BALE_OK;

    *count = 0;
    pthread_mutex_lock(&lists->files_lock);
    struct bale_file *first = all ? lists->files : lists->dirty_files;
    for (struct bale_file *f = first; f; f = all ? f->next : f->dirty_next)
        room++;
    *files = room ? malloc(room * sizeof(struct bale_file *)) : NULL;
    if (room && !*files)
        err = BALE_E_NOMEM;
    for (struct bale_file *f = *files ? first : NULL; f; f = all ? f->next : f->dirty_next)
        if (bale_file_ref_live(f))
            (*files)[(*count)++] = f;
        else if (watch && watch_close(f, watch) != BALE_OK)
            err = BALE_E_NOMEM;
    pthread_mutex_unlock(&lists->files_lock);
    return err;
}

/* ---- Waiting for memory, and freezing ---- */

uint64_t bale_volume_wakes(const struct bale_volume *volume)
{
    return atomic_load(&volume->lists->wakes);
}

void bale_volume_park(struct bale_volume *volume, struct bale_parked_write *write)
{
    struct bale_volume_lists *lists = volume->lists;

    write->next = NULL;
    pthread_mutex_lock(&lists->park_lock);
    write->cancelled = write->cancel && atomic_load(write->cancel);
    bool at_once = write->cancelled || write->wakes != atomic_load(&lists->wakes);
    if (!at_once) {
        *lists->parked_end = write;
        lists->parked_end = &write->next;
    }
    pthread_mutex_unlock(&lists->park_lock);
    if (at_once)
        bale_pool_submit(volume->readers, &write->job);
    else if (write->lack != BALE_LACKS_SPACE)
        bale_volume_kick(volume);
}

struct bale_parked_write *bale_volume_unpark(struct bale_volume *volume, const void *arg)
{
    struct bale_volume_lists *lists = volume->lists;

    pthread_mutex_lock(&lists->park_lock);
    struct bale_parked_write **slot = &lists->parked;
    while (*slot && (*slot)->arg != arg)
        slot = &(*slot)->next;
    struct bale_parked_write *write = *slot;
    if (write) {
        *slot = write->next;
        if (!*slot)
            lists->parked_end = slot;
    }
    pthread_mutex_unlock(&lists->park_lock);
    return write;
}

bool bale_volume_writes_wait(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->lists->park_lock);
    bool waiting = volume->lists->parked != NULL;
    pthread_mutex_unlock(&volume->lists->park_lock);
    return waiting;
}

uint64_t bale_volume_waiting_writes(struct bale_volume *volume)
{
    uint64_t count = 0;

    pthread_mutex_lock(&volume->lists->park_lock);
    for (const struct bale_parked_write *write = volume->lists->parked; write; write = write->next)
        count++;
    pthread_mutex_unlock(&volume->lists->park_lock);
    return count;
}

/* Takes the parked writes that lack this off the queue; NULL: all. served: of each user one at
 * most, and none of those whose place in it is true; or NULL. Under park_lock. */
static struct bale_parked_write *take_parked(struct bale_volume_lists *lists,
                                             const enum bale_lack *lack, bool served[BALE_TURNS])
{
    struct bale_parked_write *taken = NULL, **taken_end = &taken, **slot = &lists->parked;

    while (*slot) {
        struct bale_parked_write *write = *slot;
        uint32_t user = write->job.turn.user % BALE_TURNS;
        if ((lack && write->lack != *lack) || (served && served[user])) {
            slot = &write->next;
            continue;
        }
        if (served)
            served[user] = true;
        *slot = write->next;
        write->next = NULL;
        *taken_end = write;
        taken_end = &write->next;
    }
    lists->parked_end = slot;
    return taken;
}

static void wake(struct bale_volume *volume, const enum bale_lack *lack, bool served[BALE_TURNS])
{
    struct bale_volume_lists *lists = volume->lists;
    struct bale_parked_write *write = NULL;

    pthread_mutex_lock(&lists->park_lock);
    if (!atomic_load(&volume->frozen)) {
        atomic_fetch_add(&lists->wakes, 1);
        write = take_parked(lists, lack, served);
    }
    pthread_mutex_unlock(&lists->park_lock);
    while (write) {
        struct bale_parked_write *next = write->next;
        bale_pool_submit(volume->readers, &write->job);
        write = next;
    }
}

void bale_volume_wake(struct bale_volume *volume)
{
    wake(volume, NULL, NULL);
}

void bale_volume_wake_for_space(struct bale_volume *volume)
{
    wake(volume, &(enum bale_lack){BALE_LACKS_SPACE}, NULL);
}

void bale_volume_wake_for_memory(struct bale_volume *volume)
{
    bool served[BALE_TURNS] = {false};

    wake(volume, &(enum bale_lack){BALE_LACKS_MEMORY}, served);
}

void bale_volume_wake_next(struct bale_volume *volume, uint32_t user)
{
    bool served[BALE_TURNS];

    memset(served, true, sizeof served);
    served[user % BALE_TURNS] = false;
    wake(volume, &(enum bale_lack){BALE_LACKS_MEMORY}, served);
}

void bale_volume_tell_space(struct bale_volume *volume)
{
    if (atomic_load(&volume->lacking_space) == 0)
        return;
    atomic_store(&volume->space_came, true);
    bale_volume_kick(volume);
}

void bale_volume_set_frozen(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->lists->park_lock);
    atomic_store(&volume->frozen, true);
    pthread_mutex_unlock(&volume->lists->park_lock);
}

bool bale_volume_defer_if_frozen(struct bale_volume *volume, struct bale_job *job)
{
    struct bale_volume_lists *lists = volume->lists;

    pthread_mutex_lock(&lists->park_lock);
    bool frozen = atomic_load(&volume->frozen);
    if (frozen) {
        job->turn.next = NULL;
        *lists->deferred_end = &job->turn;
        lists->deferred_end = &job->turn.next;
    }
    pthread_mutex_unlock(&lists->park_lock);
    return frozen;
}

struct bale_turn *bale_volume_set_thawed(struct bale_volume *volume)
{
    struct bale_volume_lists *lists = volume->lists;

    pthread_mutex_lock(&lists->park_lock);
    atomic_store(&volume->frozen, false);
    struct bale_turn *deferred = lists->deferred;
    lists->deferred = NULL;
    lists->deferred_end = &lists->deferred;
    pthread_mutex_unlock(&lists->park_lock);
    return deferred;
}

/* ---- Kicks ---- */

void bale_volume_kick(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->lists->kick_lock);
    volume->lists->kicked = true;
    pthread_cond_signal(&volume->lists->kick);
    pthread_mutex_unlock(&volume->lists->kick_lock);
}

bool bale_volume_flusher_sleep(struct bale_volume *volume, unsigned ms)
{
    struct bale_volume_lists *lists = volume->lists;
    uint64_t until = bale_clock_ns() + ms * BALE_MILLISECOND_NS;

    pthread_mutex_lock(&lists->kick_lock);
    bool goes_on = !lists->ending;
    if (goes_on && !lists->kicked)
        (void)bale_cond_wait_until(&lists->kick, &lists->kick_lock, until);
    lists->kicked = false;
    pthread_mutex_unlock(&lists->kick_lock);
    return goes_on;
}

void bale_volume_end_kicks(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->lists->kick_lock);
    volume->lists->ending = true;
    pthread_cond_signal(&volume->lists->kick);
    pthread_mutex_unlock(&volume->lists->kick_lock);
}

void bale_volume_taint(struct bale_volume *volume)
{
    if (volume->options.tainted)
        volume->options.tainted(volume->options.arg);
}
