/* What a flush takes from the cache, and the frames that it makes of it. Shared by flush.c,
 * flush_commit.c, flush_take.c and flush_plan.c. */
#ifndef BALE_FS_CACHE_FLUSH_PLAN_H
#define BALE_FS_CACHE_FLUSH_PLAN_H

#include "fs/cache/buffer.h"
#include "fs/cache/change.h"
#include "fs/cache/flush.h"
#include "fs/cache/queue.h"

/* A dirty extent as it was when it was taken. */
struct bale_part {
    struct bale_extent *extent;        /* stays in the table: it is flushing */
    struct bale_extent_buffer *buffer; /* counted; unchanged while shared */
    uint64_t number;
    uint64_t valid, dirty;
};

/* One frame to be made. */
struct bale_piece {
    struct bale_queue_item item;
    struct bale_flush *flush;
    uint8_t *assembled; /* raw bytes of its own, or NULL: they lie in a part's buffer */
    uint64_t position;
    struct bale_piece *next; /* encoded, waits to be written */
};

/* What a flush took at one time. */
struct bale_take {
    struct bale_part *parts;
    size_t part_count;
    struct bale_piece *pieces; /* do not move any more once they are queued */
    size_t piece_count, piece_room;
    uint64_t bytes;              /* raw, of the pieces */
    struct bale_setting setting; /* what the frames are encoded with */
    struct bale_take *next;
};

/* Owned by one thread after the other: by the one that runs the change, until it queues the pieces;
 * then the members under a lock are shared, and the thread that is writing owns the rest. */
struct bale_flush {
    struct bale_job job; /* writes what is ready; who sets writing submits it */
    struct bale_change *change;
    bale_flush_then *then;
    bool awaited; /* somebody waits since before it began */
    uint64_t generation;
    atomic_int error; /* the first one */

    /* Under file->lock until the flush ends. */
    struct bale_take *takes, **takes_end; /* no part is in two */
    uint64_t size;                        /* of the file as it will be committed; only grows */
    struct timespec mtime;
    enum bale_rounds rounds; /* of the commit, like the next */
    uint64_t greatest_step;

    /* A stream's flush takes more while its frames are encoded and written. Under file->lock. While
     * it is open, file->more is more_job, or that job is under way. */
    bool open;
    struct bale_job more_job;
    uint64_t taken, taken_most; /* raw bytes: what is written stays in memory until the commit */
    uint64_t begun_ms;

    /* Frames as they come back from the engine. One thread at a time writes them: more would only
     * wait for each other at the container's inode. */
    pthread_mutex_t ready_lock; /* guards the rest; taken after file->lock */
    struct bale_piece *ready, **ready_end;
    bool writing; /* job is under way */
    size_t left;  /* pieces not yet written */
};

/* NULL: no memory. */
struct bale_flush *bale_flush_create(struct bale_change *change, bale_flush_then *then);
void bale_flush_free(struct bale_flush *flush); /* it has no takes */

/* Keeps the first error. Any thread. */
void bale_flush_fail(struct bale_flush *flush, int err);

/* After the last frame: ends the transaction and the flush, which is freed. True: the change has
 * the result. False: there was no space for the frames, and the change is to flush again, sparing.
 * On a pool thread, no lock held. */
bool bale_flush_commit(struct bale_flush *flush);

/* Takes what is dirty: of a stream the whole extents that a commit may show. *taken: NULL if there
 * is nothing, or nothing that a stream may commit yet. BALE_E_NOMEM. Under file->lock, which
 * waiting for copies in progress drops; for a stream it waits for none. */
int bale_flush_take(struct bale_flush *flush, struct bale_take **taken);

/* Decides which frames to make of the parts, and adds them to the take. BALE_E_NOMEM. */
int bale_flush_plan(struct bale_flush *flush, struct bale_take *take, struct bale_scratch *scratch);

/* Ends the flushing of the parts (stored: the container has them now), and frees the take. Under
 * file->lock. */
void bale_take_release(struct bale_file *file, struct bale_take *take, bool stored);

#endif
