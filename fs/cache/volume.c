#include "fs/cache/volume.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/base/wait.h"
#include "fs/cache/admission.h"
#include "fs/cache/internal.h"
#include "fs/cache/queue.h"
#include "kernels/base/lock.h"

#define AGE_MS 4000u

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
    if (listed == file->on_dirty_list)
        return;
    pthread_mutex_lock(&volume->files_lock);
    if (listed) {
        file->dirty_before = NULL;
        file->dirty_next = volume->dirty_files;
        if (file->dirty_next)
            file->dirty_next->dirty_before = file;
        volume->dirty_files = file;
    } else {
        *(file->dirty_before ? &file->dirty_before->dirty_next : &volume->dirty_files) =
            file->dirty_next;
        if (file->dirty_next)
            file->dirty_next->dirty_before = file->dirty_before;
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

/* ---- Engine ---- */

_Static_assert((int)BALE_GPU_ERROR == (int)BALE_LOG_ERROR &&
                   (int)BALE_GPU_WARNING == (int)BALE_LOG_WARNING &&
                   (int)BALE_GPU_INFO == (int)BALE_LOG_INFO,
               "levels differ");

static void log_engine(int level, const char *text)
{
    bale_log((enum bale_level)level, "%s", text);
}

static int pin(void *arg, void *start, size_t size)
{
    return bale_dispatch_pin(arg, start, size);
}

static void note_late(void *arg, bool may)
{
    bale_memory_set_quarantine(arg, may);
}

static void gpu_opened(void *arg)
{
    struct bale_volume *volume = arg;
    bool all = volume->options.engine.choice == BALE_ENGINE_GPU;

    bale_memory_pin_begin(volume->memory, all, pin, volume->engine);
}

static int create_engine(struct bale_volume *volume, unsigned threads)
{
    struct bale_dispatch_options options = volume->options.engine;

    options.threads = threads;
    options.gpu.log = log_engine;
    options.gpu.quarantine = note_late;
    options.gpu.arg = volume->memory;
    options.opened = gpu_opened;
    options.arg = volume;
    return bale_dispatch_create(&options, &volume->engine);
}

void bale_volume_open_gpu(struct bale_volume *volume)
{
    bale_dispatch_open(volume->engine);
}

/* ---- Life ---- */

int bale_volume_create(const struct bale_volume_options *options, struct bale_volume **out)
{
    struct bale_volume *volume = calloc(1, sizeof *volume);

    if (!volume)
        return BALE_E_NOMEM;
    unsigned cpus = options->threads ? options->threads : bale_cpus();
    volume->config = options->container;
    volume->age_ms = options->age_ms ? options->age_ms : AGE_MS;
    volume->reserve_fd = options->container.writable ? options->reserve_fd : -1;
    volume->options = *options;
    volume->checkpoint_ms = bale_now_ms();
    volume->parked_end = &volume->parked;
    volume->deferred_changes_end = &volume->deferred_changes;
    pthread_mutex_init(&volume->files_lock, NULL);
    pthread_cond_init(&volume->files_gone, NULL);
    bale_short_lock_init(&volume->lru_lock);
    pthread_mutex_init(&volume->park_lock, NULL);
    pthread_mutex_init(&volume->reserve_lock, NULL);
    pthread_mutex_init(&volume->flusher_lock, NULL);
    pthread_cond_init(&volume->flusher_wake, NULL);
    int err = bale_memory_create(options->memory ? options->memory : bale_memory_default_cap(),
                                 &volume->memory);
    if (err == BALE_OK)
        err = bale_admission_create(bale_memory_cap(volume->memory), &volume->admission);
    if (err == BALE_OK) {
        bale_volume_make_reserve(volume);
        err = create_engine(volume, cpus);
    }
    if (err == BALE_OK)
        err = bale_pool_create(cpus * 2 > 4 ? cpus * 2 : 4, &volume->pool);
    if (err == BALE_OK)
        err = bale_pool_create(cpus > 2 ? cpus : 2, &volume->fetchers);
    if (err == BALE_OK)
        err = bale_queue_create(volume, &volume->queue);
    if (err == BALE_OK && pthread_create(&volume->flusher, NULL, bale_flusher, volume) != 0)
        err = BALE_E_NOMEM;
    volume->flusher_started = err == BALE_OK;
    if (err != BALE_OK) {
        (void)bale_volume_destroy(volume);
        return err;
    }
    *out = volume;
    return BALE_OK;
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
        .written = atomic_load(&volume->stats.written),
        .raw_bytes = atomic_load(&volume->stats.raw_bytes),
        .stored_bytes = atomic_load(&volume->stats.stored_bytes),
        .throttled = atomic_load(&volume->stats.throttled),
        .files = atomic_load(&volume->file_count),
        .reserve = atomic_load(&volume->full) ? 0 : volume->reserve,
    };
    bale_dispatch_stats(volume->engine, &stats->engine);
    stats->engine.cpu.items += atomic_load(&volume->in_place.items);
    stats->engine.cpu.encoded += atomic_load(&volume->in_place.encoded);
    stats->engine.cpu.decoded += atomic_load(&volume->in_place.decoded);
}

/* Waits until every file that was closed is gone. */
static void wait_for_files(struct bale_volume *volume)
{
    pthread_mutex_lock(&volume->files_lock);
    while (volume->files)
        pthread_cond_wait(&volume->files_gone, &volume->files_lock);
    pthread_mutex_unlock(&volume->files_lock);
}

int bale_volume_destroy(struct bale_volume *volume)
{
    struct bale_wait wait = BALE_WAIT;
    int err = BALE_OK;

    if (volume->flusher_started) {
        bale_volume_thaw(volume);
        wait_for_files(volume);
        bale_volume_sync(volume, true, bale_wait_done_err, &wait);
        err = (int)bale_wait_for(&wait);
        pthread_mutex_lock(&volume->flusher_lock);
        volume->ending = true;
        pthread_cond_signal(&volume->flusher_wake);
        pthread_mutex_unlock(&volume->flusher_lock);
        pthread_join(volume->flusher, NULL);
        if (volume->options.last)
            bale_volume_stats(volume, volume->options.last);
    }
    err = err != BALE_OK ? err : atomic_load(&volume->lost);
    bale_memory_pin_end(volume->memory);
    bale_pool_destroy(volume->fetchers);
    bale_pool_destroy(volume->pool);
    bale_engine_destroy(volume->engine);
    bale_queue_destroy(volume->queue);
    bale_admission_destroy(volume->admission);
    bale_memory_destroy(volume->memory);
    if (volume->reserve_fd >= 0)
        (void)!ftruncate(volume->reserve_fd, 0);
    free(volume);
    return err;
}
