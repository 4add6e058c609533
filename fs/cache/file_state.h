/* The state of a file at work, which the parts of the cache share. fs/cache/README.md shows how
 * these work together. */
#ifndef BALE_FS_CACHE_FILE_STATE_H
#define BALE_FS_CACHE_FILE_STATE_H

#include <pthread.h>

#include "fs/cache/extent_table.h"
#include "fs/cache/volume_state.h"

/* An extent has up to 64 blocks, the units of validity and dirtiness: 4 KiB, or a 64th of the
 * extent size if that is more. */
#define BALE_BLOCKS 64u
#define BALE_BLOCK_LEAST 4096u

#define BALE_REPORTED_FAULTS 16u

struct bale_begin;
struct bale_change;
struct bale_fill_waiter;

/* A caller that waits until something ends; completing the waiter calls done and frees it. */
struct bale_waiter {
    bale_file_done *done; /* as file.h says */
    void *arg;
    struct bale_waiter *next;
};

struct bale_file {
    /* Set when the file is opened, constant until it is closed. */
    struct bale_volume *volume;
    struct bale_container *container;
    int fd;              /* the container's */
    uint64_t ino;        /* of the container */
    atomic_bool trusted; /* its frames are this process's: see bale_file_trust */

    atomic_size_t counted; /* memory of the container, as the cap counts it */
    atomic_uint refs;
    atomic_uint user; /* who wrote last, or else owns it: its changes are this user's jobs */

    pthread_mutex_t lock; /* guards everything below, except where said */
    char *label;
    /* Of the container, when size, times, settings and extents were taken from it. Grows only for a
     * reader beside a writer (follow.c). */
    uint64_t epoch;
    uint64_t size;
    uint32_t extent; /* size of an extent */
    uint32_t block;
    struct bale_setting setting; /* of new data */
    uint8_t rounds;              /* enum bale_rounds, and the next two: see rounds.h */
    struct bale_field field;     /* what is rounded; with npy only once the header was read */
    struct bale_begin *begin;    /* the first bytes, or NULL */
    uint64_t greatest_step;      /* that was used since the file was empty; 0: none */
    struct timespec mtime, ctime;
    struct timespec ctime_before; /* the inode's until ctime is set; tv_sec 0: ask the inode */
    bool attr_dirty;              /* size or times differ from the container's */
    bool discarded;
    int error; /* of a flush that nobody waited for; the next flush reports it */
    /* Not BALE_OK: there is no space for the dirty data, and the reserve does not help. Writes fail
     * with this error until a flush succeeds, so that the file's dirty data does not grow. */
    int refused;

    struct bale_extent_table table;
    struct bale_extent *growing; /* making room for it must not evict it; or NULL */
    size_t filling; /* extents being filled, also those that left the table meanwhile */
    struct bale_fill_waiter *fill_waiters;
    struct bale_extent *dirty_first, *dirty_last;
    uint64_t dirty;       /* bytes dirty or flushing */
    uint64_t flushing;    /* of these, bytes of blocks that are flushing */
    uint64_t passed_over; /* bytes that the running or last flush left dirty */
    /* Takes more into the running flush of a stream (flush.c). NULL: that takes no more, or the job
     * is under way. See bale_file_take_more. */
    struct bale_job *more;

    struct bale_change *change;                 /* running */
    struct bale_change *changes, **changes_end; /* waiting */

    /* Read-ahead: the end of the stream's last read, the end of what was read ahead, and how far
     * ahead to read; bytes. And how many reads in a row came late. */
    uint64_t stream_next, stream_ahead, stream_window;
    unsigned stream_late;
    bool untouched; /* it was read ahead before its first read, which is to set the access time */

    /* Called once the file is closed and may be opened again: by the thread that closed it, no lock
     * held. closed_arg is the caller's (bale_file_on_close). */
    bale_file_closed *closed;
    void *closed_arg;
    bool close_writes; /* the closed callback writes to the backing store */

    /* Positions in the container of damage that was logged already. Any thread, no lock. */
    atomic_uint_fast64_t reported_faults[BALE_REPORTED_FAULTS];
    atomic_bool index_reported;
    atomic_uint stamp; /* bale_file_stamp; changes under the lock */

    /* Owned by volume_state.c, under its lock. on_dirty_list: under file->lock too. */
    struct bale_waiter *gone; /* completed when the file is closed */
    struct bale_file *next, *before;
    bool on_dirty_list;
    struct bale_file *dirty_next, *dirty_before;
};

void bale_file_set_extent(struct bale_file *file, uint32_t extent); /* under file->lock */

/* Has the cap count what the container takes now: its index and its free map. Call it after what
 * may have read pages of the index or fragmented the container. Any thread. */
void bale_file_count_container(struct bale_file *file);

/* For a reader beside a writer: takes over what the container has moved to, and drops what the
 * cache has of before. Under file->lock. */
void bale_file_catch_up(struct bale_file *file);
/* Whether the container has moved since then: what was read of it meanwhile belongs to another
 * commit than the file's size and extents. */
static inline bool bale_file_is_behind(struct bale_file *file)
{
    return bale_container_epoch(file->container, NULL) != file->epoch;
}

/* The timestamp for a change that is made now. */
struct timespec bale_file_now(struct bale_file *file);
struct timespec bale_file_now_locked(struct bale_file *file); /* under file->lock */

/* The job that has the running flush take what is dirty now, which the caller submits to the pool;
 * or NULL. Under file->lock; the job may be submitted without it. */
struct bale_job *bale_file_take_more(struct bale_file *file);

/* The blocks that bytes [from, to) of an extent touch. Under file->lock. */
uint64_t bale_blocks(const struct bale_file *file, uint64_t from, uint64_t to);
/* The bytes of so many whole blocks. Under file->lock. */
int64_t bale_blocks_bytes(const struct bale_file *file, uint64_t blocks);

#endif
