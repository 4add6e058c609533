/* Removes files at their origin once their copies are durable and were read back, for import --move
 * and export --move. What was copied waits in a batch; one sync serves the whole batch. */
#ifndef BALE_TOOLS_TRANSFER_MOVE_H
#define BALE_TOOLS_TRANSFER_MOVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/transfer/origin.h"
#include "tools/transfer/same.h"
#include "tools/transfer/transfer.h"

struct bale_move {
    /* Set by the caller. */
    /* Compares the origin's file, open as from, with its copy, name in dir->to. Any thread, without
     * locks. */
    enum bale_same (*same)(struct bale_transfer *transfer, struct bale_tree_dir *dir,
                           const char *name, int from, struct bale_scratch *scratch);
    int control;   /* the root of the mount that the target lies in, or -1 */
    bool no_lease; /* also where the file system has no leases */

    /* Held for reading while a file is copied or a batch removed, for writing by who needs space
     * and must be alone. */
    pthread_rwlock_t busy;
    pthread_mutex_t lock; /* guards the batch */
    struct bale_origin *batch;
    unsigned count;
    uint64_t bytes;
    struct bale_scratch *scratch; /* of the walk's thread */
    atomic_uint batches;
    atomic_ullong removed; /* files and what is like them, not directories */
    atomic_bool no_leases; /* that has been reported */
};

/* bale_transfer_run calls these; without transfer->move, all functions here do nothing. */
int bale_move_begin(struct bale_transfer *transfer);
/* Removes what is left to remove, and frees the rest. After the last copy. */
void bale_move_end(struct bale_transfer *transfer);

/* Takes over an origin whose copies have all their names. Any thread. */
void bale_move_add(struct bale_transfer *transfer, struct bale_origin *origin);
/* The same for one name. */
void bale_move_add_name(struct bale_transfer *transfer, struct bale_tree_dir *dir, const char *name,
                        const struct stat *st);
/* Removes the batch if it is large enough. scratch: the thread's. */
void bale_move_step(struct bale_transfer *transfer, struct bale_scratch *scratch);

/* Prints ", N removed from FROM", for a summary. */
void bale_move_report(const struct bale_transfer *transfer, const char *from);

/* Around the copying of one file. */
void bale_move_enter(struct bale_transfer *transfer);
void bale_move_leave(struct bale_transfer *transfer);
/* Instead of enter, after a copy that found no space: waits until nobody else copies, and removes
 * the batch. */
void bale_move_enter_alone(struct bale_transfer *transfer, struct bale_scratch *scratch);

#endif
