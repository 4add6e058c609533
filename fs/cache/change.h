/* Changes of a file's container (flush, truncate, attributes, close, ...) and the queue in which a
 * file runs one at a time, in the order in which they came. File references are counted here too,
 * as giving up the last one queues the change that closes the file. */
#ifndef BALE_FS_CACHE_CHANGE_H
#define BALE_FS_CACHE_CHANGE_H

#include "fs/cache/file_state.h"

enum bale_change_kind {
    BALE_CHANGE_FLUSH,        /* everything dirty */
    BALE_CHANGE_FLUSH_STREAM, /* whole extents that a stream left behind */
    BALE_CHANGE_TRUNCATE,
    BALE_CHANGE_ALLOCATE,
    BALE_CHANGE_TIMES,
    BALE_CHANGE_ATTR,
    BALE_CHANGE_SCRUB,
    BALE_CHANGE_RECOMPRESS,
    BALE_CHANGE_COPY, /* into this file */
    BALE_CHANGE_CLOSE,
};

/* Written by its creator until it is submitted, by the thread that runs it afterwards; waiters and
 * durable under file->lock until it ends (other flushes join it). */
struct bale_change {
    struct bale_job job;
    struct bale_file *file; /* counted */
    enum bale_change_kind kind;
    bool durable;            /* flush */
    bool in_place;           /* flush: if it is small, though nobody waits for it */
    bool sparing;            /* flush: stores only what is dirty, as space is short */
    uint64_t offset, length; /* truncate: offset; allocate */
    enum bale_allocate how;
    struct timespec atime, mtime; /* tv_nsec UTIME_OMIT: leave */
    unsigned fields;              /* attr: BALE_ATTR_ bits */
    struct bale_container_attr attr;
    struct bale_rewrite_pass *pass; /* recompress */
    struct bale_copying *copying;
    struct bale_waiter *waiters;
    int error;
    bool changed; /* the container was changed, though perhaps not on disk yet */
    struct bale_change *next;
};

/* Flushes of at most this many raw bytes that somebody waits for do not go through the queue. */
#define BALE_INLINE_BYTES ((uint64_t)256 << 10)

/* done (NULL: nobody waits): called with the result on the thread that ends the change, no lock
 * held; the change's reference on the file may be gone by then. NULL: no memory. */
struct bale_change *bale_change_create(struct bale_file *file, enum bale_change_kind kind,
                                       bale_file_done *done, void *arg);

/* Queues a change, which bale_change_end frees, or joins a flush to one that serves it. No lock is
 * held; may run the change before it returns. */
void bale_change_submit(struct bale_change *change);
/* Programs that unpack or copy set the time of a file that they have just written, and go on with
 * its owner and mode: meanwhile its data can be stored. If little is dirty, nothing else is under
 * way and the calling thread may run jobs, gives the file the change's times, calls done, runs the
 * file's flush and returns true. The next flush that somebody waits for reports an error of that
 * one. Else returns false, and nothing has happened. The change sets mtime. */
bool bale_change_note_times(struct bale_change *change);
/* Submits the change; if the volume is frozen, only at the thaw. A flush is never deferred, nor are
 * attributes of a file that was never committed: it is new, and its name is not there before they
 * are. */
void bale_change_offer(struct bale_change *change);

/* Ends the running change with change->error: starts the next, completes the waiters, frees. */
void bale_change_end(struct bale_change *change);

/* Calls and frees them. No lock is held. */
void bale_waiters_complete(struct bale_waiter *waiter, int err);

/* ---- change_run.c, close.c ------------------------------------------------------------------- */

/* Runs a change, of which job is the first member: volume->change_run. */
void bale_change_run(struct bale_job *job, struct bale_scratch *scratch);

/* Closes the file after its last flush, whose error change has, and frees change and file. If
 * memory was short, runs the change again instead. On a pool thread, no lock held. */
void bale_file_close_run(struct bale_change *change, struct bale_scratch *scratch);

#endif
