/* Inside of a file at work: shared by file.c, buffer.c, extent.c, fill.c, file_ask.c, file_read.c,
 * file_write.c, file_change.c, flush.c, readahead.c, recompress.c, rewrite.c and volume.c.
 * fs/README.md draws how they work together. */
#ifndef BALE_FS_CACHE_INTERNAL_H
#define BALE_FS_CACHE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/cache/file.h"
#include "fs/cache/volume.h"
#include "kernels/engine/costs.h"

/* An extent has up to 64 blocks, the units of validity and dirtiness: 4 KiB, or a 64th of the
 * extent size if that is more. */
#define BALE_BLOCKS 64u
#define BALE_BLOCK_LEAST 4096u

#define BALE_REPORTED_FAULTS 16u

/* Memory of an extent. Readers and commits hold it by reference, so that an extent can be evicted,
 * grown or given a copy under them. */
struct bale_extent_buffer {
    struct bale_volume *volume;
    uint8_t *data;
    size_t capacity;  /* whole blocks */
    bool unevictable; /* counted in volume->unevictable: under file->lock */
    /* A device may write yet to blocks that are not valid: nothing else is put there. Under file->lock. */
    bool quarantined;
    atomic_uint refs;
};

/* A cached extent. Everything under file->lock; the LRU links under volume->lru_lock. */
struct bale_extent {
    struct bale_file *file;
    uint64_t number; /* covers [number * file->extent, ...) */
    struct bale_extent_buffer *buffer;
    uint64_t valid; /* bit i: block i holds the file's bytes (zeros beyond size) */
    uint64_t dirty; /* and they are not in the container: subset of valid */
    /* being copied or read into the buffer: hands off, nor may the buffer be replaced or flushed */
    uint64_t filling;
    uint64_t flushing; /* in the running commit */
    bool shared;       /* the running commit reads this very buffer: writers copy it first */
    bool detached;     /* out of the table; freed when filling is over */
    atomic_bool hot;
    uint64_t dirtied_ms;
    struct bale_extent *hash_next;
    struct bale_extent *dirty_next, *dirty_before; /* file->dirty_first.., oldest first */
    bool on_lru;
    struct bale_extent *lru_next, *lru_before;
};

struct bale_waiter {
    bale_file_done *done;
    void *arg;
    struct bale_waiter *next;
};

enum bale_change_kind {
    BALE_CHANGE_FLUSH,        /* everything dirty */
    BALE_CHANGE_FLUSH_STREAM, /* whole extents that a stream left behind */
    BALE_CHANGE_TRUNCATE,
    BALE_CHANGE_ALLOCATE,
    BALE_CHANGE_TIMES,
    BALE_CHANGE_ATTR,
    BALE_CHANGE_RECOMPRESS,
    BALE_CHANGE_CLOSE,
};

/* A change to the container. A file runs one at a time, in the order they came. */
struct bale_change {
    struct bale_job job;
    struct bale_file *file; /* counted */
    enum bale_change_kind kind;
    bool durable;            /* flush */
    uint64_t offset, length; /* truncate: offset; allocate */
    enum bale_allocate how;
    struct timespec atime, mtime; /* tv_nsec UTIME_OMIT: leave */
    unsigned what;
    struct bale_container_attr attr;
    struct bale_rewrite_pass *pass; /* recompress */
    struct bale_waiter *waiters;
    int error;
    bool changed; /* the container, if not yet what is on disk */
    struct bale_change *next;
};

/* Flushes of at most this many raw bytes that somebody waits for do not go through the queue. */
#define BALE_INLINE_BYTES ((uint64_t)256 << 10)

/* Who waits for filling to end. Each is woken for its own extent alone: a stream has many on their
 * way, with a reader for each. */
struct bale_fill_wait {
    const struct bale_extent *extent; /* only compared; NULL: any */
    pthread_cond_t wake;
    struct bale_fill_wait *next;
};

struct bale_file {
    struct bale_volume *volume;
    struct bale_container *container;
    int fd;
    atomic_uint refs;

    pthread_mutex_t lock;
    struct bale_fill_wait *fill_waits;
    char *label;
    uint64_t size;
    uint32_t extent; /* size of an extent */
    uint32_t block;
    struct timespec mtime, ctime;
    bool attr_dirty; /* size or times differ from the container's */
    bool discarded;
    int error; /* of a flush nobody waited for */
    /* positions in the container of damage that the log has */
    atomic_uint_fast64_t reported_faults[BALE_REPORTED_FAULTS];
    atomic_bool index_reported;

    struct bale_extent **table;
    size_t buckets, extents;
    size_t filling; /* extents being filled, also those that left the table meanwhile */
    struct bale_extent *dirty_first, *dirty_last;
    uint64_t dirty;       /* bytes dirty or flushing */
    uint64_t passed_over; /* bytes that the last flush left dirty */

    struct bale_change *change;                 /* running */
    struct bale_change *changes, **changes_end; /* waiting */

    /* Read-ahead: where the stream stands, how far ahead it has been read, and how far it reads. */
    uint64_t stream_next, stream_ahead, stream_window;

    void (*closed)(void *arg);
    void *closed_arg;
    struct bale_waiter *gone; /* told when it is closed: under volume->files_lock */

    struct bale_file *next, *before; /* volume->files */
    bool on_dirty_list;
    struct bale_file *dirty_next, *dirty_before; /* volume->dirty_files */
};

struct bale_write_op {
    struct bale_job job;
    struct bale_file *file; /* counted when it waits */
    uint64_t offset;
    const uint8_t *data;
    uint8_t *copy; /* data, once it waits */
    size_t length, done_length;
    bale_file_done *done;
    void *arg;
    bool cancelled;
    struct bale_write_op *next; /* parked */
};

struct bale_volume {
    struct bale_memory *memory;
    struct bale_engine *engine;
    struct bale_pool *pool;
    struct bale_pool *fetchers; /* read ahead: jobs of pool wait for what they fetch */
    struct bale_queue *queue;
    struct bale_admission *admission;
    struct bale_volume_options options;
    struct bale_container_config config;
    uint64_t age_ms;
    uint64_t stream_bytes; /* a file's dirty bytes at which its whole extents are committed */

    /* Lock order: file->lock, then any one of these. */
    pthread_mutex_t files_lock; /* files and dirty lists */
    pthread_cond_t files_gone;
    struct bale_file *files;
    struct bale_file *dirty_files;
    atomic_uint_fast64_t file_count; /* changed under files_lock */

    pthread_mutex_t lru_lock;
    struct bale_extent *lru_first, *lru_last; /* first: used last */

    pthread_mutex_t park_lock;
    struct bale_write_op *parked, **parked_end;
    struct bale_change *deferred_changes, **deferred_changes_end; /* wait for thaw */
    atomic_bool frozen;                                           /* set under park_lock */
    /* writes and changes that looked at frozen and are not done with it */
    atomic_uint changing;

    atomic_uint_fast64_t dirty; /* bytes in all files */
    atomic_uint_fast64_t dirty_limit;
    /* bytes of buffers with dirty or flushing blocks: not to be evicted */
    atomic_uint_fast64_t unevictable;
    uint64_t unevictable_limit;
    atomic_bool full;            /* the reserve is in use */
    atomic_bool warned_too_wide; /* an extent too wide for the memory was told of */
    atomic_int lost;             /* error of a close whose data could not be stored */
    pthread_mutex_t reserve_lock;
    int reserve_fd;
    uint64_t reserve; /* bytes it has when it is whole */

    atomic_uint_fast64_t reads_noted; /* by what runs in the background */

    struct bale_job checkpoint;
    atomic_bool checkpointing;
    uint64_t checkpoint_ms, checkpoint_commits;

    pthread_t flusher;
    pthread_mutex_t flusher_lock;
    pthread_cond_t flusher_wake;
    bool ending, kicked, flusher_started;

    struct {
        atomic_uint_fast64_t read_hits, read_misses, commits, syncs, items, errors, raw_bytes,
            stored_bytes, throttled, cached, written;
    } stats;
    struct bale_work_count in_place; /* encoded and decoded without the engine */
};

/* ---- extent.c: under file->lock -------------------------------------------------------------- */

struct bale_extent *bale_extent_find(struct bale_file *file, uint64_t number);
/* Finds or makes one with room for its first length bytes; keeps its contents when it grows. Not
 * while it is filling, unless it has the room (bale_extent_has_room). NULL: no memory. */
struct bale_extent *bale_extent_get(struct bale_file *file, uint64_t number, size_t length);
/* Whether its buffer will do for bytes up to length that are not valid yet. */
static inline bool bale_extent_has_room(const struct bale_extent *extent, size_t length)
{
    return extent->buffer->capacity >= length && !extent->buffer->quarantined;
}
/* Makes the buffer writable in place: copies it if the running commit reads it. BALE_E_NOMEM. */
int bale_extent_own(struct bale_extent *extent);
void bale_extent_mark_dirty(struct bale_extent *extent, uint64_t blocks);
/* The dirty blocks become flushing ones. Takes the extent off the dirty list. */
void bale_extent_start_flush(struct bale_extent *extent);
/* stored: they are in the container now; else they are dirty again. */
void bale_extent_end_flush(struct bale_extent *extent, bool stored);
/* Hands off these blocks until bale_fill_end; it stays in the cache. */
void bale_fill_begin(struct bale_extent *extent, uint64_t blocks);
/* Clean and idle: may be evicted from now on. */
void bale_lru_add_idle(struct bale_extent *extent);
/* Out of the table, its dirty data dropped; freed now or at the end of its filling. */
void bale_extent_detach(struct bale_extent *extent);
void bale_extents_detach(struct bale_file *file, uint64_t first, uint64_t last);
/* What lies from byte from on, inside the extent, is gone from the file. Owned, not filling. */
void bale_extent_cut(struct bale_extent *extent, uint64_t from);
/* Blocks that bytes [from, to) of an extent touch. */
uint64_t bale_blocks(const struct bale_file *file, uint64_t from, uint64_t to);
/* How much so many whole blocks are. */
int64_t bale_blocks_bytes(const struct bale_file *file, uint64_t blocks);

/* ---- buffer.c -------------------------------------------------------------------------------- */

/* One with one reference, for an extent of the file, whose lock is held. NULL: no memory. */
struct bale_extent_buffer *bale_extent_buffer_create(struct bale_file *file, size_t capacity);
void bale_extent_buffer_ref(struct bale_extent_buffer *buffer);
void bale_extent_buffer_unref(struct bale_extent_buffer *buffer);
/* Whether it is counted in volume->unevictable. Under file->lock, or by the last who has it. */
void bale_extent_buffer_set_unevictable(struct bale_extent_buffer *buffer, bool held);

/* Memory, evicting clean extents if it must. No file lock is held but held's (or NULL). */
void *bale_volume_take_memory(struct bale_volume *volume, size_t size, struct bale_file *held);

/* ---- file_read.c ----------------------------------------------------------------------------- */

/* Bytes [from, to) of the committed file into out; holes are zeros. No lock is held. */
int bale_file_read_committed(struct bale_file *file, struct bale_scratch *scratch, uint64_t from,
                             uint64_t to, uint8_t *out);
/* One log line for a bad extent. */
void bale_file_report_fault(struct bale_file *file, const struct bale_fault *fault);

/* ---- fill.c: under file->lock ---------------------------------------------------------------- */

/* Makes blocks (neither valid nor filling) of an extent valid; file->lock is dropped for I/O.
 * BALE_E_STALE: the extent went meanwhile. */
int bale_extent_fill(struct bale_extent *extent, uint64_t blocks, struct bale_scratch *scratch);
/* The end of filling: blocks become valid if err is BALE_OK. Returns err, or BALE_E_STALE if the
 * extent is gone. */
int bale_fill_end(struct bale_extent *extent, uint64_t blocks, int err);
/* Waits until some of its filling bits go; NULL: of any extent's. Look for the extent again then. */
void bale_fill_wait_for(struct bale_file *file, const struct bale_extent *extent);

/* ---- change.c, file_change.c, file_ask.c ------------------------------------------------------- */

/* Queues a change (allocated by the caller, freed by the end of it) or joins it to a waiting one like
 * it. */
void bale_change_submit(struct bale_change *change);
struct bale_change *bale_change_create(struct bale_file *file, enum bale_change_kind kind,
                                       bale_file_done *done, void *arg);
void bale_change_run(struct bale_job *change, struct bale_scratch *scratch);
/* bale_change_submit, but for what must wait for thaw. */
void bale_change_offer(struct bale_change *change);
/* Ends the running change with change->error: tells the waiters, starts the next. */
void bale_change_end(struct bale_change *change);
/* Calls and frees them. */
void bale_waiters_complete(struct bale_waiter *waiter, int err);

/* ---- file.c ---------------------------------------------------------------------------------- */

void bale_file_set_extent(struct bale_file *file, uint32_t extent); /* under file->lock */
/* What a change made now shows as its time. */
struct timespec bale_file_now(struct bale_file *file);
struct timespec bale_file_now_locked(struct bale_file *file); /* under file->lock */
/* A reference, unless the last one is gone. Under volume->files_lock. */
bool bale_file_ref_live(struct bale_file *file);
void bale_file_finish_close(struct bale_change *change, struct bale_scratch *scratch);

/* ---- flush.c --------------------------------------------------------------------------------- */

/* Writes out what is dirty as the running change, then calls then(change, scratch) (with change->error
 * set) on a pool thread. */
void bale_flush_run(struct bale_change *change, struct bale_scratch *scratch,
                    void (*then)(struct bale_change *change, struct bale_scratch *scratch));
/* Commits container changes of the open transaction; on lack of space takes the reserve and tries
 * again. */
int bale_file_commit(struct bale_file *file);

/* ---- recompress.c ---------------------------------------------------------------------------- */

/* The running change: commits what was encoded for it. Sets change->error. */
void bale_recompress_store(struct bale_change *change);

/* ---- volume.c -------------------------------------------------------------------------------- */

uint64_t bale_now_ms(void);
void bale_volume_add_dirty(struct bale_file *file, int64_t bytes); /* under file->lock */
bool bale_volume_pressed(struct bale_volume *volume); /* time to write out what there is */
bool bale_volume_writes_wait(struct bale_volume *volume);
void bale_volume_kick(struct bale_volume *volume); /* the flusher looks now */
void bale_volume_park(struct bale_volume *volume, struct bale_write_op *op);
/* Keeps a change until thaw if the volume is frozen. */
bool bale_volume_defer_if_frozen(struct bale_volume *volume, struct bale_change *change);
void bale_volume_wake(struct bale_volume *volume);  /* parked writes try again */
void bale_volume_taint(struct bale_volume *volume); /* a sync failed */

/* ---- flusher.c, sync.c, reserve.c ---- */

void *bale_flusher(void *volume);
struct bale_sync;
/* The files with something dirty, or all, counted; free the list. Those that are being closed tell
 * sync (may be NULL) at their end. */
int bale_volume_list(struct bale_volume *volume, bool all, struct bale_sync *sync,
                     struct bale_file ***files, size_t *count);
void bale_volume_make_reserve(struct bale_volume *volume);
void bale_volume_restore_reserve(struct bale_volume *volume);
/* true: space was given back, try again */
bool bale_volume_take_reserve(struct bale_volume *volume);

#endif
