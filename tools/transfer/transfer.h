/* Copies a tree into a store or out of it: the part that import and export share. The walk creates
 * directories, links and special files; tasks on a pool copy regular files. */
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

#define BALE_DAMAGED ".damaged" /* suffix of the name of a damaged file */

struct bale_transfer;
struct bale_link;
struct bale_move;

/* One regular file that is copied. The file callback may use the first group only. */
struct bale_task {
    struct bale_transfer *transfer;
    struct bale_tree_dir *dir;
    struct stat st;
    const char *name;
    bool damaged; /* its name gets BALE_DAMAGED */
    bool stays;   /* not all of it was copied, so that a move does not remove it */

    struct bale_job job;
    struct bale_link *link; /* NULL: it has no other name */
    char text[];
};

struct bale_transfer {
    /* Set by the caller. file copies task->name into task->dir->to; it runs on a thread of the pool
     * without locks, and it or a job that it starts must call bale_transfer_end, which frees the
     * task. entered (may be NULL) is called by the walk for each directory after it was opened, and
     * before anything in it is copied; made: it was created just now. */
    void (*file)(struct bale_task *task, struct bale_scratch *scratch);
    void (*entered)(struct bale_transfer *transfer, struct bale_tree_dir *dir, bool made);
    void *arg;
    const char *from_top, *to_top; /* for messages */
    /* The store whose top the tree's top is, else NULL. The top's owner, mode and ACLs are then
     * those of the store's .balefs/top. */
    const struct bale_store *from_store, *to_store;
    bool sync_each; /* fsync each directory when it is complete; file does so with each file */
    struct bale_attributes_rules rules;
    unsigned threads;
    struct bale_move *move; /* NULL: the files stay where they are, too */

    struct bale_tree_walk walk;
    int to;      /* top directory of the target */
    size_t skip; /* length of the path of the source's top below from_top */
    struct bale_pool *pool;
    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t less;  /* signalled when flying decreases */
    unsigned flying;
    uint64_t files, bytes, kept; /* kept: files that were there already */
    bool failed;
    void *links; /* tsearch */
    struct bale_progress progress;
};

/* Set by SIGINT, SIGTERM and SIGHUP after bale_transfer_signals: the transfer then ends soon. */
extern atomic_bool bale_transfer_stop;
extern atomic_int bale_transfer_signal;
void bale_transfer_signals(void);

/* Copies the tree from into the directory to. Both are open for reading and are taken over. path:
 * where from lies below from_top. what: for the progress line. 0, or a negative bale_err if there
 * are no threads. */
int bale_transfer_run(struct bale_transfer *transfer, int from, int to, const char *path,
                      const char *what);

/* Ends a task and frees it. err: BALE_OK if the file has its name; bytes: its contents. kept: it
 * was there already. */
void bale_transfer_end(struct bale_task *task, int err, uint64_t bytes, bool kept);

/* Syncs the copy of a directory. 0 or an errno. Any thread. */
int bale_transfer_sync_directory(const struct bale_transfer *transfer,
                                 const struct bale_tree_dir *dir);

/* Prints "FROM_TOP/PATH/NAME: text" and notes the failure; the directory stays. Any thread may call
 * it. */
void bale_transfer_fail(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same with the path below FROM_TOP. */
void bale_transfer_fail_path(struct bale_transfer *transfer, const char *path, const char *text);

/* The same, and whether it is a failure. */
void bale_transfer_report(struct bale_transfer *transfer, const char *path, const char *text,
                          bool failed);

/* Copies extended attributes of a regular file; prints a message for those that cannot be copied.
 */
void bale_transfer_attributes(struct bale_task *task, int from, int to);

/* Counts bytes of a file for the progress line, modulo 2^64: a copy that begins again takes them
 * back. */
void bale_transfer_note(struct bale_transfer *transfer, uint64_t bytes);

#endif
