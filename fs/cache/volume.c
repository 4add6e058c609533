#include "fs/cache/volume.h"

#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/base/wait.h"
#include "fs/cache/admission.h"
#include "fs/cache/change.h"
#include "fs/cache/evict.h"
#include "fs/cache/flusher.h"
#include "fs/cache/grow.h"
#include "fs/cache/queue.h"
#include "fs/cache/reserve.h"

#define AGE_MS 4000u

/* ---- Engine ---- */

_Static_assert((int)BALE_GPU_ERROR == (int)BALE_LOG_ERROR &&
                   (int)BALE_GPU_WARNING == (int)BALE_LOG_WARNING &&
                   (int)BALE_GPU_INFO == (int)BALE_LOG_INFO &&
                   (int)BALE_GPU_DEBUG == (int)BALE_LOG_DEBUG,
               "levels differ");

/* Callbacks of the engine (dispatch.h). On threads of the engine's. */

static void log_engine(int level, const char *text)
{
    bale_log((enum bale_level)level, "%s", text);
}

static int pin_arena(void *arg, void *start, size_t size)
{
    return bale_dispatch_pin(arg, start, size);
}

static void set_quarantine(void *arg, bool may)
{
    bale_memory_set_quarantine(arg, may);
}

static void gpu_opened(void *arg)
{
    struct bale_volume *volume = arg;
    bool all = volume->options.engine.choice == BALE_ENGINE_GPU;

    bale_memory_pin_begin(volume->memory, all, pin_arena, volume->engine);
    atomic_store(&volume->grow_due, true);
    bale_volume_kick(volume);
}

/* As bale_memory_on_room says: maybe under a file's lock, the queue's or the GPU engine's. */
static void memory_has_room(void *volume)
{
    bale_volume_wake_for_memory(volume);
}

static int create_engine(struct bale_volume *volume, unsigned threads)
{
    struct bale_dispatch_options options = volume->options.engine;

    options.threads = threads;
    options.gpu.log = log_engine;
    options.gpu.quarantine = set_quarantine;
    options.gpu.arg = volume->memory;
    options.opened = gpu_opened;
    options.arg = volume;
    return bale_dispatch_create(&options, &volume->engine);
}

void bale_volume_open_gpu(struct bale_volume *volume)
{
    bale_dispatch_open(volume->engine);
}

void bale_volume_wait_gpu(struct bale_volume *volume, unsigned ms)
{
    struct bale_reason why; /* is logged */

    (void)bale_dispatch_wait(volume->engine, ms, &why);
}

void bale_volume_release_gpu(struct bale_volume *volume)
{
    bale_dispatch_release_gpu(volume->engine);
}

/* ---- Creation and destruction ---- */

static int create_parts(struct bale_volume *volume)
{
    const struct bale_volume_options *options = &volume->options;
    unsigned cpus = options->threads ? options->threads : bale_cpus();
    uint64_t cap = options->memory ? options->memory : bale_memory_default_cap();
    bool grows = !options->memory && options->engine.choice != BALE_ENGINE_CPU;
    int err = bale_volume_lists_create(&volume->lists);

    if (err != BALE_OK)
        return err;
    err = bale_lru_create(&volume->lru);
    if (err != BALE_OK)
        return err;
    err = bale_memory_create_growing(cap, grows ? bale_memory_gpu_cap() : cap, &volume->memory);
    if (err != BALE_OK)
        return err;
    bale_reserve_make(volume);
    err = bale_admission_create(bale_memory_cap(volume->memory), &volume->admission);
    if (err != BALE_OK)
        return err;
    err = create_engine(volume, cpus);
    if (err != BALE_OK)
        return err;
    err = bale_pool_create("balefs-pool", cpus * 2 > 4 ? cpus * 2 : 4, &volume->pool);
    if (err != BALE_OK)
        return err;
    err = bale_pool_create("balefs-read", cpus * 2 > 4 ? cpus * 2 : 4, &volume->readers);
    if (err != BALE_OK)
        return err;
    err = bale_pool_create("balefs-fetch", cpus > 2 ? cpus : 2, &volume->fetchers);
    if (err != BALE_OK)
        return err;
    err = bale_queue_create(volume, &volume->queue);
    if (err != BALE_OK)
        return err;
    return bale_flusher_start(volume, &volume->flusher);
}

int bale_volume_create(const struct bale_volume_options *options, struct bale_volume **out)
{
    struct bale_volume *volume = calloc(1, sizeof *volume);

    if (!volume)
        return BALE_E_NOMEM;
    volume->options = *options;
    volume->config = options->container;
    volume->age_ms = options->age_ms ? options->age_ms : AGE_MS;
    volume->change_run = bale_change_run;
    volume->memory_is_scarce = bale_memory_is_scarce;
    volume->reserve.fd = options->container.writable ? options->reserve_fd : -1;
    volume->claim = -1;
    pthread_mutex_init(&volume->reserve.lock, NULL);
    bale_lost_init(&volume->lost);
    volume->checkpoint.ms = bale_now_ms();
    int err = create_parts(volume);
    if (err != BALE_OK) {
        (void)bale_volume_destroy(volume);
        return err;
    }
    bale_memory_on_room(volume->memory, memory_has_room, volume);
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
        .dirty_limit = bale_reserve_dirty_limit(volume),
        .read_hits = atomic_load(&volume->stats.read_hits),
        .read_misses = atomic_load(&volume->stats.read_misses),
        .commits = atomic_load(&volume->stats.commits),
        .syncs = atomic_load(&volume->stats.syncs),
        .items = atomic_load(&volume->stats.items),
        .errors = atomic_load(&volume->stats.errors),
        .read = atomic_load(&volume->stats.read),
        .written = atomic_load(&volume->stats.written),
        .raw_bytes = atomic_load(&volume->stats.raw_bytes),
        .stored_bytes = atomic_load(&volume->stats.stored_bytes),
        .throttled = atomic_load(&volume->stats.throttled),
        .waiting = bale_volume_waiting_writes(volume),
        .files = atomic_load(&volume->file_count),
        .reserve = atomic_load(&volume->full) ? 0 : volume->reserve.bytes,
    };
    bale_dispatch_stats(volume->engine, &stats->engine);
    stats->engine.cpu.items += atomic_load(&volume->in_place.items);
    stats->engine.cpu.encoded += atomic_load(&volume->in_place.encoded);
    stats->engine.cpu.decoded += atomic_load(&volume->in_place.decoded);
}

void bale_volume_removed(struct bale_volume *volume, uint64_t inode)
{
    bale_lost_forget(&volume->lost, inode);
    bale_reserve_note_freed(volume);
}

void bale_volume_count_error(struct bale_volume *volume)
{
    atomic_fetch_add(&volume->stats.errors, 1);
}

/* Stores everything and ends the flusher. A GPU that this work had tried again would be open too
 * late to do much of it. */
static int end_work(struct bale_volume *volume)
{
    struct bale_wait wait = BALE_WAIT;

    bale_dispatch_end_tries(volume->engine);
    bale_volume_thaw(volume);
    bale_volume_wait_for_files(volume);
    bale_volume_sync(volume, true, bale_wait_done_err, &wait);
    int err = (int)bale_wait_for(&wait);
    bale_flusher_stop(volume->flusher);
    /* A GPU that hangs may keep the memory for longer than the volume. */
    bale_memory_on_room(volume->memory, NULL, NULL);
    if (volume->options.last)
        bale_volume_stats(volume, volume->options.last);
    return err;
}

int bale_volume_destroy(struct bale_volume *volume)
{
    int err = volume->flusher ? end_work(volume) : BALE_OK;
    struct bale_volume_lost none, *lost = volume->options.lost ? volume->options.lost : &none;
    int missing = bale_lost_report(&volume->lost, lost->name, sizeof lost->name, &lost->count);

    err = err != BALE_OK ? err : missing;
    bale_memory_pin_end(volume->memory);
    bale_pool_destroy(volume->readers);
    bale_pool_destroy(volume->fetchers);
    bale_pool_destroy(volume->pool);
    bale_flusher_free(volume->flusher);
    bale_engine_destroy(volume->engine);
    bale_queue_destroy(volume->queue);
    bale_admission_destroy(volume->admission);
    bale_memory_destroy(volume->memory);
    bale_lru_destroy(volume->lru);
    bale_volume_lists_destroy(volume->lists);
    if (volume->claim >= 0)
        close(volume->claim);
    if (volume->reserve.fd >= 0)
        (void)!ftruncate(volume->reserve.fd, 0);
    pthread_mutex_destroy(&volume->reserve.lock);
    bale_lost_destroy(&volume->lost);
    free(volume);
    return err;
}
