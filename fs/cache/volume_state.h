/* What the parts of the cache share of a volume: its services, limits and counters, and the lists
 * from which threads take files with dirty data, waiting writes and deferred changes. volume.c
 * creates and destroys it.
 *
 * Lock order: file->lock, then any one lock of this file. */
#ifndef BALE_FS_CACHE_VOLUME_STATE_H
#define BALE_FS_CACHE_VOLUME_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/cache/burst.h"
#include "fs/cache/file.h"
#include "fs/cache/lost.h"
#include "fs/cache/volume.h"
#include "kernels/engine/costs.h"

struct bale_volume {
    /* Set when the volume is made, constant until it is destroyed. */
    struct bale_memory *memory;
    struct bale_engine *engine;
    struct bale_pool *pool;     /* changes: their threads may all stall while they write */
    struct bale_pool *readers;  /* missed reads, parked writes, silent closes: they write nothing */
    struct bale_pool *fetchers; /* reads ahead: jobs of pool wait for what it fetches */
    struct bale_queue *queue;
    struct bale_admission *admission;
    struct bale_lru *lru;         /* evict.c */
    struct bale_flusher *flusher; /* flusher.c */
    struct bale_volume_lists *lists;
    /* Runs a change that has become its file's running one (bale_change_run). Set by volume.c;
     * called as a job: on a pool thread or by a guest of the pool, no lock held. */
    void (*change_run)(struct bale_job *change, struct bale_scratch *scratch);
    bool (*memory_is_scarce)(void); /* bale_memory_is_scarce; set by volume.c */
    struct bale_volume_options options;
    struct bale_container_config config;
    uint64_t age_ms;
    uint64_t stream_bytes; /* a file's dirty bytes at which its whole extents are committed */
    uint64_t stream_ms;    /* how long the flush of a stream takes more */
    /* What the reserve backs; what may be dirty now says bale_reserve_dirty_limit. Both grow with the
     * memory's cap (grow.h). */
    atomic_uint_fast64_t unevictable_limit, dirty_limit;
    int claim; /* bale_memory_claim's descriptor, or -1 */
    struct bale_job grow_job;
    atomic_bool grow_due; /* a GPU has opened, and the flusher has not begun yet */

    struct {
        pthread_mutex_t lock;       /* guards the file and changes of full */
        int fd;                     /* the caller's; -1: there is none */
        atomic_uint_fast64_t bytes; /* its size when it is whole; changes under lock */
        uint64_t failed_ms;         /* when it could not be made whole again; guarded by lock */
    } reserve;
    atomic_uint_fast64_t freed_ms; /* when something was removed that may give space back */
    atomic_int full;           /* not BALE_OK: the reserve is in use, and writes fail with this */
    atomic_uint lacking_space; /* writes that wait for space of the backing store */
    atomic_bool space_came;    /* since the flusher looked; only while writes wait for space */

    struct {
        struct bale_job job;
        atomic_bool running;
        uint64_t ms, commits; /* at the last one; the flusher's */
    } checkpoint;             /* the regular one (sync.c) */

    atomic_bool frozen; /* set under the lock of parked writes */
    atomic_uint
        changing; /* writes and changes that have looked at frozen and are not done with it */
    atomic_uint_fast64_t file_count;
    atomic_uint_fast64_t dirty; /* bytes in all files */
    struct bale_burst burst;    /* of what becomes dirty */
    /* Bytes of buffers with dirty or flushing blocks. */
    atomic_uint_fast64_t unevictable;
    atomic_uint_fast64_t unevictable_of[BALE_TURNS]; /* users' parts, by their number modulo that */
    atomic_bool warned_too_wide;      /* logged that an extent is too wide for the memory */
    struct bale_lost_files lost;      /* whose last data could not be stored */
    atomic_bool cannot_clone;         /* the backing file system shares no blocks */
    atomic_uint_fast64_t reads_noted; /* hits and misses when background work last asked */

    struct {
        atomic_uint_fast64_t read_hits, read_misses, commits, syncs, items, errors, raw_bytes,
            stored_bytes, throttled, cached, read, written;
    } stats;
    struct bale_work_count in_place; /* encoded and decoded without the engine */
};

/* What a write waits for. */
enum bale_lack {
    BALE_LACKS_FLUSH,  /* too much is dirty, or the volume is frozen */
    BALE_LACKS_MEMORY, /* nothing is free or can be evicted */
    BALE_LACKS_SPACE,  /* of the backing store: the flusher can do nothing for it now */
};

/* A write that waits. The writer owns it again once job runs. */
struct bale_parked_write {
    /* run: set by the writer before bale_volume_park; goes on with the write, or ends it if
     * cancelled. Called on a pool thread, no lock held. */
    struct bale_job job;
    void *arg; /* names the write for bale_volume_unpark */
    /* Set by the caller's caller at any time, before bale_volume_unpark; or NULL. */
    const atomic_bool *cancel;
    bool cancelled; /* set before the job is submitted */
    enum bale_lack lack;
    uint64_t wakes; /* bale_volume_wakes before the writer found that it must wait */
    struct bale_parked_write *next;
};

/* Creates and frees lists. BALE_E_NOMEM. destroy: NULL is fine. */
int bale_volume_lists_create(struct bale_volume_lists **lists);
void bale_volume_lists_destroy(struct bale_volume_lists *lists);

uint64_t bale_now_ms(void); /* monotonic */

/* ---- Files ----------------------------------------------------------------------------------- */

void bale_volume_add_file(struct bale_file *file);
/* Returns those that wait for the file to be gone. */
struct bale_waiter *bale_volume_remove_file(struct bale_file *file);
/* Takes a reference, unless the last one is gone. The file is held by a list that it leaves before
 * it is freed. */
bool bale_file_ref_live(struct bale_file *file);
void bale_volume_wait_for_files(struct bale_volume *volume); /* until there are none */

/* Adds to the dirty bytes of file and volume, and puts the file on the list of dirty files or takes
 * it off. Under file->lock. */
void bale_volume_add_dirty(struct bale_file *file, int64_t bytes);

/* How to wait for files that are being closed. */
struct bale_close_watch {
    /* Called once for each such file, with the error of its close, on the thread that closed it; no
     * lock held. */
    bale_file_done *file_closed;
    void *arg;
    atomic_size_t *pending; /* one more for each such file, before file_closed is called */
};
/* The files with something dirty, or all. The caller gives up the references and frees the list,
 * also after an error. watch: NULL leaves out those that are being closed. BALE_E_NOMEM: some files
 * are missing. */
int bale_volume_list_files(struct bale_volume *volume, bool all,
                           const struct bale_close_watch *watch, struct bale_file ***files,
                           size_t *count);

/* ---- Waiting for memory, and freezing -------------------------------------------------------- */

/* How often writes were woken while the volume was not frozen. */
uint64_t bale_volume_wakes(const struct bale_volume *volume);
/* Queues a write until it is woken, and kicks the flusher, unless the write lacks space. Submits it
 * at once instead if writes were woken since write->wakes was read, or, as cancelled, if the
 * write's cancel is set. */
void bale_volume_park(struct bale_volume *volume, struct bale_parked_write *write);
/* Takes the write with this arg off the queue; NULL: it does not wait. */
struct bale_parked_write *bale_volume_unpark(struct bale_volume *volume, const void *arg);
bool bale_volume_writes_wait(struct bale_volume *volume);
uint64_t bale_volume_waiting_writes(struct bale_volume *volume); /* their number */
/* Submits the parked writes, which try again; the pool has users take turns. Does nothing while the
 * volume is frozen. */
void bale_volume_wake(struct bale_volume *volume);
/* The same for those that lack space alone. */
void bale_volume_wake_for_space(struct bale_volume *volume);
/* Something of the memory has become free: submits the first parked write of each user that lacks
 * memory. How many it serves is not known, so a write that was woken has wake_next submit its
 * user's next one, unless it lacks memory again. Then smaller ones of the user wait for the next
 * call, or for the flusher, which wakes all. Any lock may be held, except those of this file, the
 * memory's and the pool's. */
void bale_volume_wake_for_memory(struct bale_volume *volume);
void bale_volume_wake_next(struct bale_volume *volume, uint32_t user);

void bale_volume_set_frozen(struct bale_volume *volume);
/* If the volume is frozen, queues the job until the thaw and returns true. */
bool bale_volume_defer_if_frozen(struct bale_volume *volume, struct bale_job *job);
/* Ends the freeze. Returns the turns of what was deferred, in order, linked by next. */
struct bale_turn *bale_volume_set_thawed(struct bale_volume *volume);

/* ---- Kicks ----------------------------------------------------------------------------------- */

void bale_volume_kick(struct bale_volume *volume); /* the flusher looks now */
/* For the flusher: waits for a kick, at most that long. False: the flusher is to end. */
bool bale_volume_flusher_sleep(struct bale_volume *volume, unsigned ms);
void bale_volume_end_kicks(struct bale_volume *volume);

/* For the flusher, now and then: begins a checkpoint every 30 s if there were commits, and so
 * bounds what must be verified after a power loss. It may still run on the pool when the volume is
 * destroyed. */
void bale_volume_checkpoint_if_due(struct bale_volume *volume);

/* A sync failed: tells the owner of the volume. */
void bale_volume_taint(struct bale_volume *volume);

#endif
