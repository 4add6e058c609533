/* Bringing a tree into a store or out of it: what both have in common. Directories, links and
 * special files are made by the walk; regular files by tasks on a pool. */
#ifndef BALE_TOOLS_TRANSFER_TRANSFER_H
#define BALE_TOOLS_TRANSFER_TRANSFER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/base/pool.h"
#include "tools/common/progress.h"
#include "tools/transfer/attributes.h"
#include "tools/transfer/tree_walk.h"

#define BALE_DAMAGED ".damaged" /* after the name of what is left of a damaged file */

struct bale_transfer;
struct bale_link;

/* One regular file. Everything but the first group is the transfer's. */
struct bale_task {
    struct bale_transfer *transfer;
    struct bale_tree_dir *dir;
    struct stat st;
    const char *name;
    bool damaged; /* it got its name and BALE_DAMAGED */

    struct bale_job job;
    struct bale_link *link; /* NULL: it has no other name */
    char text[];
};

struct bale_transfer {
    /* The caller's. file makes the file in task->dir->to, on a thread of the pool, and ends with
     * bale_transfer_end, there or later from another. entered (may be NULL): a directory is open,
     * perhaps made just now, and nothing was done in it yet. */
    void (*file)(struct bale_task *task, struct bale_scratch *scratch);
    void (*entered)(struct bale_transfer *transfer, struct bale_tree_dir *dir, bool made);
    void *arg;
    const char *from_top, *to_top; /* for messages */
    struct bale_attributes_rules rules;
    unsigned threads;

    struct bale_tree_walk walk;
    int to;      /* the target's top */
    size_t skip; /* of paths: where the source's top lies below from_top */
    struct bale_pool *pool;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t less;  /* flying fell */
    unsigned flying;
    uint64_t files, bytes, kept; /* kept: those that were there already */
    bool failed;
    void *links; /* tsearch */
    struct bale_progress progress;
};

/* Set by SIGINT, SIGTERM and SIGHUP once bale_transfer_signals was called: all ends soon. */
extern atomic_bool bale_transfer_stop;
extern atomic_int bale_transfer_signal;
void bale_transfer_signals(void);

/* Copies the tree from to the directory to, both open for reading and taken over; path: where from
 * lies below from_top. what: for the progress. 0, or a negative bale_err: there are no threads. */
int bale_transfer_run(struct bale_transfer *transfer, int from, int to, const char *path,
                      const char *what);

/* The task is over: err is BALE_OK if it has its name, bytes what it holds. kept: it was there. */
void bale_transfer_end(struct bale_task *task, int err, uint64_t bytes, bool kept);

/* "FROM_TOP/PATH/NAME: text", once for each failure. From any thread. */
void bale_transfer_fail(struct bale_transfer *transfer, const struct bale_tree_dir *dir,
                        const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Extended attributes of a regular file, with a message for what cannot be kept. */
void bale_transfer_attributes(struct bale_task *task, int from, int to);

/* So much of a file is done: for the progress. */
void bale_transfer_note(struct bale_transfer *transfer, uint64_t bytes);

#endif
