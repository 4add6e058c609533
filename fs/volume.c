#include "fs/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/file_internal.h"
#include "fs/log.h"
#include "fs/queue.h"

#define TICK_MS 250u
#define AGE_MS 4000u
#define CHECKPOINT_MS 30000u
#define RESERVE_SLACK ((uint64_t)1 << 20)
#define DIRTY_LEAST ((uint64_t)1 << 20)

uint64_t bale_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void bale_volume_add_dirty(struct bale_file *file, int64_t bytes)
{
    struct bale_volume *volume = file->volume;
    file->dirty += (uint64_t)bytes;
    atomic_fetch_add(&volume->dirty, (uint64_t)bytes);
    bool listed = file->dirty > 0 || file->attr_dirty;
    if (listed == file->on_dirty_list) {
        return;
    }
    pthread_mutex_lock(&volume->files_lock);
    if (listed) {
        file->dirty_before = NULL;
        file->dirty_next = volume->dirty_files;
        if (file->dirty_next) {
            file->dirty_next->dirty_before = file;
        }
        volume->dirty_files = file;
    } else {
        *(file->dirty_before ? &file->dirty_before->dirty_next : &volume->dirty_files) =
            file->dirty_next;
        if (file->dirty_next) {
            file->dirty_next->dirty_before = file->dirty_before;
        }
    }
    file->on_dirty_list = listed;
    pthread_mutex_unlock(&volume->files_lock);
}

/* ---- Parked writes ---- */

void bale_volume_park(struct bale_volume *volume, struct bale_write_op *op)
{
    op->next = NULL;
    pthread_mutex_lock(&volume->park_lock);
    *volume->parked_end = op;
    volume->parked_end = &op->next;
    pthread_mutex_unlock(&volume->park_lock);
    bale_volume_kick(volume);
}

void bale_volume_wake(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->park_lock);
    struct bale_write_op *list = atomic_load(&volume->frozen) ? NULL : volume->parked;
    if (list) {
        volume->parked = NULL;
        volume->parked_end = &volume->parked;
    }
    pthread_mutex_unlock(&volume->park_lock);
    while (list) {
        struct bale_write_op *next = list->next;
        bale_pool_submit(volume->pool, &list->job);
        list = next;
    }
}

/* ---- The reserve: space on the backing store for what was acknowledged ---- */

bool bale_volume_take_reserve(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve_lock);
    bool had = volume->reserve_fd >= 0 && !atomic_load(&volume->full) && volume->reserve > 0 &&
               ftruncate(volume->reserve_fd, 0) == 0;
    if (had) {
        atomic_store(&volume->full, true);
        bale_log(BALE_LOG_WARNING, "the backing store is full: writes fail until there is space");
    }
    /* Another flush took it a moment ago: its space is ours too. */
    had = had || atomic_load(&volume->full);
    pthread_mutex_unlock(&volume->reserve_lock);
    return had;
}

static void restore_reserve(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->reserve_lock);
    if (atomic_load(&volume->full) &&
        posix_fallocate(volume->reserve_fd, 0, (off_t)volume->reserve) == 0) {
        atomic_store(&volume->full, false);
        bale_log(BALE_LOG_INFO, "the backing store has space again");
    } else if (atomic_load(&volume->full)) {
        (void)!ftruncate(volume->reserve_fd, 0);
    }
    pthread_mutex_unlock(&volume->reserve_lock);
}

/* Dirty data never exceeds what the reserve can take. */
static void make_reserve(struct bale_volume *volume)
{
    uint64_t dirty = bale_memory_cap(volume->memory) / 2;
    struct statvfs vfs;
    if (volume->reserve_fd >= 0 && fstatvfs(volume->reserve_fd, &vfs) == 0) {
        uint64_t share = (uint64_t)vfs.f_bavail * vfs.f_frsize / 16;
        uint64_t want = dirty + dirty / 8 + RESERVE_SLACK;
        volume->reserve = want < share ? want : share;
        if (posix_fallocate(volume->reserve_fd, 0, (off_t)volume->reserve) != 0) {
            (void)!ftruncate(volume->reserve_fd, 0);
            volume->reserve = 0;
        }
        uint64_t backed = volume->reserve > RESERVE_SLACK
                              ? (volume->reserve - RESERVE_SLACK) / 9 * 8 : 0;
        dirty = backed < dirty ? backed : dirty;
    }
    volume->held_limit = bale_memory_cap(volume->memory) / 8 * 5;
    atomic_store(&volume->dirty_limit, dirty > DIRTY_LEAST ? dirty : DIRTY_LEAST);
    volume->stream_bytes = atomic_load(&volume->dirty_limit) / 8;
    if (volume->stream_bytes > (uint64_t)16 << 20) {
        volume->stream_bytes = (uint64_t)16 << 20;
    }
}

/* ---- The flusher ---- */

struct sync_all {
    struct bale_job job;
    struct bale_volume *volume;
    atomic_size_t left;
    atomic_int error;
    bool durable, freeze;
    void (*done)(void *arg, int err);
    void *arg;
};

static void one_synced(void *arg, int64_t result);

/* The files with something dirty, or all, counted. Those that are being closed tell sync (may be NULL) at their end. */
static int list_files(struct bale_volume *volume, bool all, struct sync_all *sync,
                      struct bale_file ***files, size_t *count)
{
    size_t room = 0;
    int err = BALE_OK;
    *count = 0;
    pthread_mutex_lock(&volume->files_lock);
    struct bale_file *first = all ? volume->files : volume->dirty_files;
    for (struct bale_file *f = first; f; f = all ? f->next : f->dirty_next) {
        room++;
    }
    *files = room ? malloc(room * sizeof(struct bale_file *)) : NULL;
    if (room && !*files) {
        err = BALE_E_NOMEM;
    }
    for (struct bale_file *f = *files ? first : NULL; f; f = all ? f->next : f->dirty_next) {
        struct bale_waiter *waiter;
        if (bale_file_ref_live(f)) {
            (*files)[(*count)++] = f;
        } else if (sync && (waiter = malloc(sizeof *waiter))) {
            *waiter = (struct bale_waiter){one_synced, sync, f->gone};
            f->gone = waiter;
            atomic_fetch_add(&sync->left, 1);
        } else {
            err = sync ? BALE_E_NOMEM : err;
        }
    }
    pthread_mutex_unlock(&volume->files_lock);
    return err;
}

/* Commits what has been dirty for age_ms; 0: all. */
static void flush_files(struct bale_volume *volume, uint64_t age_ms)
{
    struct bale_file **files;
    size_t count;
    (void)list_files(volume, false, NULL, &files, &count);
    uint64_t now = bale_now_ms();
    for (size_t i = 0; i < count; i++) {
        struct bale_file *f = files[i];
        pthread_mutex_lock(&f->lock);
        bool due = age_ms == 0 || !f->dirty_first || f->dirty_first->dirtied_ms + age_ms <= now;
        due = due && !(f->turns && f->turns->kind == BALE_TURN_FLUSH);
        pthread_mutex_unlock(&f->lock);
        struct bale_turn *turn =
            due ? bale_turn_create(f, BALE_TURN_FLUSH, NULL, NULL) : NULL;
        if (turn) {
            bale_turn_submit(turn);
        }
        bale_file_unref(f);
    }
    free(files);
}

static void run_checkpoint(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct bale_volume *volume =
        (struct bale_volume *)(void *)((char *)job - offsetof(struct bale_volume, checkpoint));
    volume->options.checkpoint(volume->options.arg);
    atomic_store(&volume->checkpointing, false);
}

/* Bounds what must be verified after a power loss. */
static void checkpoint_if_due(struct bale_volume *volume)
{
    uint64_t now = bale_now_ms(), commits = atomic_load(&volume->stats.commits);
    if (!volume->options.checkpoint || now < volume->checkpoint_ms + CHECKPOINT_MS ||
        commits == volume->checkpoint_commits || atomic_exchange(&volume->checkpointing, true)) {
        return;
    }
    volume->checkpoint_ms = now;
    volume->checkpoint_commits = commits;
    volume->checkpoint.run = run_checkpoint;
    bale_pool_submit(volume->pool, &volume->checkpoint);
}

void bale_volume_taint(struct bale_volume *volume)
{
    if (volume->options.tainted) {
        volume->options.tainted(volume->options.arg);
    }
}

bool bale_volume_pressed(struct bale_volume *volume)
{
    return atomic_load(&volume->dirty) > atomic_load(&volume->dirty_limit) / 4 * 3 ||
           atomic_load(&volume->held) > volume->held_limit / 4 * 3;
}

static bool writes_wait(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->park_lock);
    bool waiting = volume->parked != NULL;
    pthread_mutex_unlock(&volume->park_lock);
    return waiting;
}

static void *flusher(void *arg)
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
        if (!volume->kicked) {
            pthread_cond_timedwait(&volume->flusher_wake, &volume->flusher_lock, &until);
        }
        volume->kicked = false;
        pthread_mutex_unlock(&volume->flusher_lock);
        bool all = bale_volume_pressed(volume) || writes_wait(volume);
        flush_files(volume, all ? 0 : volume->age_ms);
        /* By the clock: kicks may come without a pause. */
        if (bale_now_ms() >= ticked + TICK_MS) {
            ticked = bale_now_ms();
            bale_volume_wake(volume);
            checkpoint_if_due(volume);
            if (++ticks % 4 == 0 && atomic_load(&volume->full)) {
                restore_reserve(volume);
            }
            if (ticks % 16 == 0) {
                bale_memory_trim(volume->memory);
            }
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

/* ---- Sync and freeze ---- */

/* Everything is committed: one sync of the backing file system covers closed containers too. */
static void sync_backing(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct sync_all *sync = (struct sync_all *)job;
    int err = atomic_load(&sync->error);
    if (sync->durable && sync->volume->options.sync_fd >= 0 &&
        syncfs(sync->volume->options.sync_fd) != 0) {
        err = bale_err_from_errno(errno);
        bale_volume_taint(sync->volume);
    }
    sync->done(sync->arg, err);
    free(sync);
}

static void one_synced(void *arg, int64_t result)
{
    struct sync_all *sync = arg;
    int none = BALE_OK;
    if (result < 0) {
        atomic_compare_exchange_strong(&sync->error, &none, (int)result);
    }
    if (atomic_fetch_sub(&sync->left, 1) == 1) {
        sync->job.run = sync_backing;
        bale_pool_submit(sync->volume->pool, &sync->job);
    }
}

static void run_sync(struct sync_all *sync)
{
    struct bale_file **files;
    size_t count;
    atomic_store(&sync->left, 1);
    int err = list_files(sync->volume, sync->freeze, sync, &files, &count);
    for (size_t i = 0; i < count; i++) {
        atomic_fetch_add(&sync->left, 1);
        bale_file_flush(files[i], false, one_synced, sync);
        bale_file_unref(files[i]);
    }
    free(files);
    one_synced(sync, err);
}

/* Changes that had begun before the freeze mark their files first. Whoever changes runs already: the wait is short. */
static void run_freeze(struct bale_job *job, struct bale_scratch *scratch)
{
    (void)scratch;
    struct sync_all *sync = (struct sync_all *)job;
    while (atomic_load(&sync->volume->changing) > 0) {
        usleep(1000);
    }
    run_sync(sync);
}

static struct sync_all *create_sync(struct bale_volume *volume, bool durable,
                                    void (*done)(void *arg, int err), void *arg)
{
    struct sync_all *sync = calloc(1, sizeof *sync);
    if (!sync) {
        done(arg, BALE_E_NOMEM);
        return NULL;
    }
    *sync = (struct sync_all){.volume = volume, .durable = durable, .done = done, .arg = arg};
    return sync;
}

void bale_volume_sync(struct bale_volume *volume, bool durable, void (*done)(void *arg, int err),
                      void *arg)
{
    struct sync_all *sync = create_sync(volume, durable, done, arg);
    if (sync) {
        run_sync(sync);
    }
}

void bale_volume_freeze(struct bale_volume *volume, void (*done)(void *arg, int err), void *arg)
{
    struct sync_all *sync = create_sync(volume, true, done, arg);
    if (!sync) {
        return;
    }
    pthread_mutex_lock(&volume->park_lock);
    atomic_store(&volume->frozen, true);
    pthread_mutex_unlock(&volume->park_lock);
    sync->freeze = true;
    sync->job.run = run_freeze;
    bale_pool_submit(volume->pool, &sync->job);
}

bool bale_volume_hold_back(struct bale_volume *volume, struct bale_turn *turn)
{
    pthread_mutex_lock(&volume->park_lock);
    bool frozen = atomic_load(&volume->frozen);
    if (frozen) {
        *volume->frozen_turns_end = turn;
        volume->frozen_turns_end = &turn->next;
    }
    pthread_mutex_unlock(&volume->park_lock);
    return frozen;
}

void bale_volume_thaw(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->park_lock);
    atomic_store(&volume->frozen, false);
    struct bale_turn *turn = volume->frozen_turns;
    volume->frozen_turns = NULL;
    volume->frozen_turns_end = &volume->frozen_turns;
    pthread_mutex_unlock(&volume->park_lock);
    while (turn) {
        struct bale_turn *next = turn->next;
        turn->next = NULL;
        bale_turn_submit(turn);
        turn = next;
    }
    bale_volume_wake(volume);
}

/* ---- Life ---- */

int bale_volume_create(const struct bale_volume_options *options, struct bale_volume **out)
{
    struct bale_volume *volume = calloc(1, sizeof *volume);
    if (!volume) {
        return BALE_E_NOMEM;
    }
    unsigned cpus = options->threads ? options->threads : bale_cpus();
    volume->config = options->container;
    volume->age_ms = options->age_ms ? options->age_ms : AGE_MS;
    volume->reserve_fd = options->container.writable ? options->reserve_fd : -1;
    volume->options = *options;
    volume->checkpoint_ms = bale_now_ms();
    volume->parked_end = &volume->parked;
    volume->frozen_turns_end = &volume->frozen_turns;
    pthread_mutex_init(&volume->files_lock, NULL);
    pthread_cond_init(&volume->files_gone, NULL);
    pthread_mutex_init(&volume->lru_lock, NULL);
    pthread_mutex_init(&volume->park_lock, NULL);
    pthread_mutex_init(&volume->reserve_lock, NULL);
    pthread_mutex_init(&volume->flusher_lock, NULL);
    pthread_cond_init(&volume->flusher_wake, NULL);
    int err = bale_memory_create(options->memory ? options->memory : bale_memory_default_cap(),
                                 &volume->memory);
    if (err == BALE_OK) {
        make_reserve(volume);
        err = bale_engine_cpu_create(cpus, &volume->engine);
    }
    if (err == BALE_OK) {
        err = bale_pool_create(cpus * 2 > 4 ? cpus * 2 : 4, &volume->pool);
    }
    if (err == BALE_OK) {
        err = bale_pool_create(cpus > 2 ? cpus : 2, &volume->fetchers);
    }
    if (err == BALE_OK) {
        err = bale_queue_create(volume, &volume->queue);
    }
    if (err == BALE_OK && pthread_create(&volume->flusher, NULL, flusher, volume) != 0) {
        err = BALE_E_NOMEM;
    }
    volume->flusher_started = err == BALE_OK;
    if (err != BALE_OK) {
        (void)bale_volume_destroy(volume);
        return err;
    }
    *out = volume;
    return BALE_OK;
}

/* For a caller that may block. */
struct wait {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over;
    int err;
};

static void end_wait(void *arg, int err)
{
    struct wait *wait = arg;
    pthread_mutex_lock(&wait->lock);
    wait->err = err;
    wait->over = true;
    pthread_cond_signal(&wait->wake);
    pthread_mutex_unlock(&wait->lock);
}

struct bale_memory *bale_volume_memory(struct bale_volume *volume)
{
    return volume->memory;
}

struct bale_pool *bale_volume_pool(struct bale_volume *volume)
{
    return volume->pool;
}

const struct bale_container_config *bale_volume_container_config(const struct bale_volume *volume)
{
    return &volume->config;
}

void bale_volume_stats(struct bale_volume *volume, struct bale_volume_stats *stats)
{
    *stats = (struct bale_volume_stats){
        .memory_cap = bale_memory_cap(volume->memory),
        .memory_used = bale_memory_used(volume->memory),
        .cached = atomic_load(&volume->stats.cached),
        .dirty = atomic_load(&volume->dirty),
        .dirty_limit = atomic_load(&volume->dirty_limit),
        .read_hits = atomic_load(&volume->stats.read_hits),
        .read_misses = atomic_load(&volume->stats.read_misses),
        .commits = atomic_load(&volume->stats.commits),
        .syncs = atomic_load(&volume->stats.syncs),
        .items = atomic_load(&volume->stats.items),
        .errors = atomic_load(&volume->stats.errors),
        .raw_bytes = atomic_load(&volume->stats.raw_bytes),
        .stored_bytes = atomic_load(&volume->stats.stored_bytes),
        .throttled = atomic_load(&volume->stats.throttled),
        .reserve = atomic_load(&volume->full) ? 0 : volume->reserve,
    };
    pthread_mutex_lock(&volume->files_lock);
    stats->files = volume->file_count;
    pthread_mutex_unlock(&volume->files_lock);
}

/* Waits until every file that was closed is gone. */
static void wait_for_files(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->files_lock);
    while (volume->files) {
        pthread_cond_wait(&volume->files_gone, &volume->files_lock);
    }
    pthread_mutex_unlock(&volume->files_lock);
}

int bale_volume_destroy(struct bale_volume *volume)
{
    struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, BALE_OK};
    if (volume->flusher_started) {
        bale_volume_thaw(volume);
        wait_for_files(volume);
        bale_volume_sync(volume, true, end_wait, &wait);
        pthread_mutex_lock(&wait.lock);
        while (!wait.over) {
            pthread_cond_wait(&wait.wake, &wait.lock);
        }
        pthread_mutex_unlock(&wait.lock);
        pthread_mutex_lock(&volume->flusher_lock);
        volume->ending = true;
        pthread_cond_signal(&volume->flusher_wake);
        pthread_mutex_unlock(&volume->flusher_lock);
        pthread_join(volume->flusher, NULL);
    }
    int err = wait.err != BALE_OK ? wait.err : atomic_load(&volume->lost);
    bale_pool_destroy(volume->fetchers);
    bale_pool_destroy(volume->pool);
    bale_engine_destroy(volume->engine);
    bale_queue_destroy(volume->queue);
    bale_memory_destroy(volume->memory);
    if (volume->reserve_fd >= 0) {
        (void)!ftruncate(volume->reserve_fd, 0);
    }
    free(volume);
    return err;
}
