/* A check of a store: its state, what it prints, and the check of one container. */
#ifndef BALE_TOOLS_INSPECT_FSCK_H
#define BALE_TOOLS_INSPECT_FSCK_H

#include <jansson.h>
#include <pthread.h>

#include "fs/base/pool.h"
#include "tools/common/inode_set.h"
#include "tools/common/progress.h"
#include "tools/common/reader.h"
#include "tools/inspect/fault.h"

struct bale_fsck {
    struct bale_reader reader;
    bool data, repair, as_json;
    bool keep_doubts; /* with repair, like these */
    bool salvage;     /* make lost parts of an index from all frames, the newest first */
    bool plan;        /* only say what would be done */
    enum bale_root_pick pick;
    unsigned threads;
    struct bale_pool *pool;
    struct bale_inode_set seen;

    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t less;  /* signalled when flying decreases */
    uint64_t flying;
    uint64_t files, bytes, damaged;
    uint64_t doubts; /* files whose root is in doubt */
    bool unreadable; /* something could not be checked */
    json_t *problems, *doubts_list, *notes, *repaired, *unplaced;
    struct bale_progress progress;
};

/* Reports, on any thread. below: a path relative to the store; "" is the store. They are printed,
 * or kept for bale_fsck_print if JSON is wanted. */

void bale_fsck_note(struct bale_fsck *fsck, const char *below, const char *text);

void bale_fsck_problem(struct bale_fsck *fsck, const char *below, const struct bale_fault *fault);

/* The root of a file is in doubt. serves: which root is shown. Counts nothing. */
void bale_fsck_doubt(struct bale_fsck *fsck, const char *below, const char *what,
                     const char *serves);

/* text: what was wrong and what was done, or, with plan, will be. */
void bale_fsck_repaired(struct bale_fsck *fsck, const char *below, const char *text);

/* Reports a piece of a file that only a frame shows: no page says that it still belongs to the
 * file. */
void bale_fsck_unplaced(struct bale_fsck *fsck, const char *below,
                        const struct bale_segment *segment);

/* Something could not be checked: sets fsck->unreadable and prints a message. */
void bale_fsck_unreadable(struct bale_fsck *fsck, const char *below, const char *why);

/* Prints everything as JSON, at the end. False, after a message, if that fails. */
bool bale_fsck_print(struct bale_fsck *fsck);

/* Checks a container on a thread of the pool, after its repair if that is wanted. Waits while too
 * many files are queued, because a store may have more files than fit in memory. */
void bale_fsck_submit(struct bale_fsck *fsck, const char *below);

#endif
