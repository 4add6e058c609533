/* The parts of a container. Private to its files.
 *
 * Locks, in this order: the transaction (busy), index_lock, space_lock. The transaction's holder is
 * the only one that changes index, root and attributes, and so reads them without the lock. */
#ifndef BALE_FS_CONTAINER_INTERNAL_H
#define BALE_FS_CONTAINER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/base/free_map.h"
#include "fs/container/container.h"
#include "fs/container/index.h"

/* Space given up that waits for a sync: a durable root refers to it. */
struct bale_deferred_free {
    uint64_t position;
    uint32_t length;
};

struct bale_container {
    struct bale_io *io;
    const struct bale_container_config *config;

    pthread_mutex_t state_lock;
    pthread_cond_t idle;
    bool busy; /* a transaction, sync, trim or check is under way; guarded by state_lock */

    /* Guarded by index_lock, and written only by the transaction's holder. */
    pthread_rwlock_t index_lock;
    struct bale_index index;
    struct bale_root root;           /* the newest; generation 0: none */
    struct bale_container_attr attr; /* as in root */

    /* The transaction holder's. */
    struct bale_container_attr next; /* attributes for the next root */
    bool attr_changed;
    uint64_t generation;     /* the last used */
    uint64_t durable;        /* the newest root known to be durable; 0: none */
    int slot;                /* of root, or of a rejected one; -1: none */
    int durable_slot;        /* of the root of generation durable, -1: none */
    bool durable_unrecorded; /* durable was learnt by a sync, and no root says so */
    bool
        sync_before_write; /* a durable root may use space that root does not: sync before writing */
    uint64_t rejected;     /* generation of a root that open rejected; 0: none */
    bool ready;            /* everything is loaded and the free map made */
    bool punchable;        /* the backing file can be punched */
    atomic_bool broken;    /* only reading is left */
    _Atomic uint64_t id;   /* root's container id, for any thread */

    pthread_mutex_t
        first_lock; /* held over the write of the first root, by whoever writes the first frame */

    pthread_mutex_t space_lock;
    struct bale_free_map free;
    struct bale_free_map written; /* the transaction's frames that no put has referred to yet */
    uint64_t high;    /* the backing file does not reach further than this, or than free.end */
    uint64_t punched; /* free bytes that trim need not look at again, at most */
    struct bale_deferred_free *deferred;
    size_t deferred_count;
    size_t deferred_capacity;
    uint64_t deferred_bytes;
    uint64_t head_checksum; /* of the last frame written for offset 0 */
    uint32_t head_raw_length;
};

/* Takes the transaction; waits for its holder. */
void bale_container_lock_writer(struct bale_container *container);
void bale_container_unlock_writer(struct bale_container *container);

/* For BALE_E_IO and whatever else leaves the disk in an unknown state: marks the container broken.
 * Errors after which all is as before (no space, no memory) come back unchanged, the others as
 * BALE_E_IO. */
int bale_container_failed(struct bale_container *container, int err);

/* All but the index; NULL: no memory, io is closed. */
struct bale_container *bale_container_create(struct bale_io *io,
                                             const struct bale_container_config *config);
void bale_container_destroy(struct bale_container *container);

/* The attributes a root holds. */
void bale_container_root_attr(const struct bale_root *root, struct bale_container_attr *attr);

/* ---- container_open.c, verify.c -------------------------------------------------------------- */

/* What FORMAT.md section 8 makes of a container's first bytes. */
struct bale_choice {
    struct bale_roots roots;
    bool empty;        /* no root, nothing wrong */
    bool check_newest; /* what is newer than above must be verified */
    uint64_t above;
};
int bale_container_choose(struct bale_io *io, const struct bale_container_config *config,
                          struct bale_choice *choice);

/* Verifies what a root refers to with a generation greater than above. BALE_E_CORRUPT: reject it.
 */
int bale_root_verify(struct bale_io *io, const struct bale_root *root, uint64_t above);

/* ---- commit.c -------------------------------------------------------------------------------- */

/* The attributes of a root, without an index. */
void bale_container_fill_root(const struct bale_container *container,
                              const struct bale_container_attr *attr, struct bale_root *root);

/* Writes a root of the transaction's generation and makes it the newest; durable and session are
 * filled in here. BALE_E_NOSPACE and the like: it was not written. */
int bale_container_write_root(struct bale_container *container, struct bale_root *root);

/* Writes the newest root once more, to the other slot if it is durable, to say so. */
int bale_container_repeat_root(struct bale_container *container);

/* Syncs; the newest root is durable then. */
int bale_container_make_durable(struct bale_container *container);

/* ---- space.c --------------------------------------------------------------------------------- */

/* Loads the index and makes the free map. */
int bale_space_build(struct bale_container *container);
void bale_space_clear(struct bale_container *container);

int bale_space_allocate(struct bale_container *container, uint64_t length, uint64_t *position);
void bale_space_release(struct bale_container *container, uint64_t position, uint64_t length);

/* Deals with what the index released: all of it once a root without it is written (committed),
 * before that only what no root on disk ever referred to; from is the first entry to look at. */
void bale_space_reclaim(struct bale_container *container, bool committed, size_t from);

/* All that waited is free: the newest root is durable. */
void bale_space_free_deferred(struct bale_container *container);

/* Gives back the transaction's frames that nothing refers to. */
void bale_space_free_unreferenced(struct bale_container *container);

/* Punches and truncates if it is worth it; the transaction is held. */
int bale_space_trim(struct bale_container *container);

/* Allocates blocks behind the end for all unwritten bytes and extra more. */
int bale_space_preallocate(struct bale_container *container, uint64_t extra);

#endif
