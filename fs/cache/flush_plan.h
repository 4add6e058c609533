/* What a flush took from the cache, and the frames that it makes of it. Shared by flush.c and
 * flush_plan.c. */
#ifndef BALE_FS_CACHE_FLUSH_PLAN_H
#define BALE_FS_CACHE_FLUSH_PLAN_H

#include "fs/cache/buffer.h"
#include "fs/cache/change.h"
#include "fs/cache/flush.h"
#include "fs/cache/queue.h"

/* A dirty extent as it was when the flush began. */
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

/* Owned by one thread after the other: by the one that runs the change, until it queues the pieces;
 * then the members under ready_lock are shared, and the thread that is writing owns the rest. */
struct bale_flush {
    struct bale_job job; /* the commit, if the last frame came on a thread of the engine's */
    struct bale_change *change;
    bale_flush_then *then;
    struct bale_part *parts;
    size_t part_count;
    struct bale_piece *pieces;
    size_t piece_count, piece_room;
    uint64_t size; /* of the file as it will be committed */
    struct timespec mtime;
    struct bale_setting setting; /* what the frames are encoded with */
    enum bale_rounds rounds;     /* of the commit */
    uint64_t generation;
    atomic_int error; /* the first one */

    /* Frames as they come back from the engine. One thread at a time writes them: more would only
     * wait for each other at the container's inode. */
    pthread_mutex_t ready_lock; /* guards the next three */
    struct bale_piece *ready, **ready_end;
    bool writing;
    size_t left; /* pieces not yet written; the writer's */
};

/* Decides which frames to make of a part and adds them to the flush. BALE_E_NOMEM. */
int bale_flush_plan(struct bale_flush *flush, const struct bale_part *part,
                    struct bale_scratch *scratch);

#endif
