/* What the sources of a container share. Calls go one way: repair.c, restore.c, rootless.c and
 * salvage.c, open.c and transaction.c, check.c, usage.c and read.c, map.c, follow.c, choose.c,
 * history.c, candidates.c, clone.c, commit.c and verify.c, container.c, space.c, the index,
 * evidence.c, frame_io.c.
 *
 * Locks, in this order: the writer lock (busy), first_lock, index_lock, space.lock. Only the owner
 * of the writer lock changes index, root and attributes, so it may read them without index_lock. */
#ifndef BALE_FS_CONTAINER_INTERNAL_H
#define BALE_FS_CONTAINER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/base/free_map.h"
#include "fs/container/container.h"
#include "fs/container/index.h"

/* A deferred free: a durable root refers to this space, so it becomes free with the next sync. */
struct bale_deferred_free {
    uint64_t position;
    uint32_t length;
};

/* The space of a container. lock guards all members. Preparing the first transaction, when no frame
 * can be written yet, needs only the writer lock. */
struct bale_space {
    pthread_mutex_t lock;
    struct bale_free_map free;
    struct bale_free_map written; /* the transaction's frames that no put has referred to yet */
    uint64_t high;    /* the backing file ends at or before the larger of this and free.end */
    uint64_t punched; /* at most this many free bytes were punched already */
    uint64_t backed;  /* where the preallocated blocks end, or 0; those beyond are given back */
    struct bale_deferred_free *deferred;
    size_t deferred_count;
    size_t deferred_capacity;
    uint64_t deferred_bytes;
    uint64_t head_checksum; /* of the last frame written at offset 0 */
    uint32_t head_raw_length;
};

struct bale_container {
    struct bale_io *io;
    const struct bale_container_config *config;

    /* The writer lock: busy while a transaction, sync, trim or check runs. It is no mutex, because
     * a transaction may begin and end on different threads. */
    pthread_mutex_t state_lock; /* guards busy and attr; held for moments, taken last */
    pthread_cond_t idle;
    bool busy;
    /* As in root. Guarded by state_lock, since index_lock is held over reads of pages, which may
     * stall. Written only by the owner of the writer lock, who holds index_lock besides: he and
     * holders of index_lock may read it without state_lock. */
    struct bale_container_attr attr;

    /* Guarded by index_lock, and written only by the owner of the writer lock. */
    pthread_rwlock_t index_lock;
    struct bale_index index;
    struct bale_root root;  /* the newest; generation 0: none */
    _Atomic uint64_t epoch; /* may be read without the lock: bale_container_epoch */

    /* Guarded by the writer lock. */
    struct bale_container_attr next; /* attributes for the next root */
    bool attr_changed;
    uint64_t generation;     /* the last used */
    uint64_t durable;        /* the newest root known to be durable; 0: none */
    int slot;                /* of root, or of a rejected one; -1: none */
    int durable_slot;        /* of the root of generation durable, -1: none */
    bool durable_unrecorded; /* a sync made the root durable, and no root says so */
    bool opened_empty;       /* the file had length 0: bale_container_open_empty */
    bool sync_before_write;  /* a durable root may use space that root does not */
    uint64_t rejected;       /* generation of a root that open rejected; 0: none */
    uint64_t cloned;         /* the least generation of frames cloned for the next root; or 0 */
    bool ready;              /* the index is loaded and the free map made */
    bool punchable;          /* the backing file system can punch holes */
    bool read_only;          /* nothing may be written: by the config, or because of recovery */
    enum bale_recovery recovery;

    /* For a container that follows. Guarded by the writer lock. */
    struct bale_root seen;            /* the newest root that was found */
    struct bale_container_attr empty; /* of a container without a root */
    uint64_t doubted; /* when a check below `seen` first failed: bale_clock_ns; or 0 */
    unsigned looks;   /* how often a rejected root was verified again */

    /* Any thread. */
    atomic_bool broken;         /* a write or a sync failed */
    atomic_bool slack;          /* there may be bytes that the file no longer shows */
    _Atomic uint64_t id;        /* root's container id */
    atomic_bool newest_durable; /* durable is root's generation; set under the writer lock */

    /* The thread that writes the first frame locks it while it writes the first root. */
    pthread_mutex_t first_lock;

    struct bale_space space;
};

/* Takes the writer lock; waits until it is free. */
void bale_container_lock_writer(struct bale_container *container);
void bale_container_unlock_writer(struct bale_container *container);

/* Whether nothing may be written any more, because a write failed or the whole mount was stopped.
 */
static inline bool bale_container_is_broken(const struct bale_container *c)
{
    const struct bale_container_config *config = c->config;

    return atomic_load(&c->broken) || (config->stopped && config->stopped(config->session_arg));
}

/* Handles the error of a write. An error that changes nothing on disk (no space, no memory) is
 * returned as it is. Any other leaves the disk in an unknown state: this marks the container broken
 * and returns BALE_E_IO. */
int bale_container_failed(struct bale_container *container, int err);

/* Makes everything but the index. NULL: no memory; io is closed. */
struct bale_container *bale_container_create(struct bale_io *io,
                                             const struct bale_container_config *config);
/* The result of closing io. */
int bale_container_destroy(struct bale_container *container);

/* Sets attr. */
void bale_container_show_attr(struct bale_container *container,
                              const struct bale_container_attr *attr);

/* Sets newest_durable. Call it after each change of root or durable. */
void bale_container_note_durable(struct bale_container *container);

/* Sets *id to a random number unless it is set. */
int bale_container_make_id(uint64_t *id);

/* The attributes in a root. */
void bale_container_root_attr(const struct bale_root *root, struct bale_container_attr *attr);

/* ---- follow.c -------------------------------------------------------------------------------- */

/* Call it when a check has failed. True: what was read may only have been replaced meanwhile, or is
 * not there yet: map and read it again. Not with a lock. */
bool bale_container_reconsider(struct bale_container *container, int err);

/* ---- choose.c, verify.c ---------------------------------------------------------------------- */

/* The result of FORMAT.md section 8 for a container's first bytes. */
struct bale_root_choice {
    struct bale_roots roots;
    bool empty;                      /* there is no root, and that is valid */
    bool blank;                      /* all bytes of the slots are zeros */
    bool check_newest;               /* all that is newer than above must be verified */
    uint64_t above;                  /* a generation */
    enum bale_session_state session; /* of the newest root's session */
};
int bale_container_choose(struct bale_io *io, const struct bale_container_config *config,
                          struct bale_root_choice *choice);
/* Sets attr to the attributes of a container without a root. */
void bale_container_empty_attr(const struct bale_container_attr *defaults,
                               struct bale_container_attr *attr);
/* Makes the root in slot the container's. */
void bale_container_adopt(struct bale_container *container, const struct bale_roots *roots,
                          int slot);
/* Takes over what the settings page says. If it is damaged, so is the index: the container opens,
 * and reading and writing fail. */
int bale_container_take_settings(struct bale_container *container);

/* Verifies everything that a root refers to and whose generation is greater than above.
 * BALE_E_CORRUPT: not everything is good. Then *missing (may be NULL: not wanted) says whether a
 * write is missing; otherwise all of them arrived, and some bytes are wrong. */
int bale_root_verify(struct bale_io *io, const struct bale_root *root, uint64_t above,
                     bool *missing);

/* What the config says of a session; session 0, which no root should have, is unknown. */
enum bale_session_state bale_container_session(const struct bale_container_config *config,
                                               uint32_t session);

/* ---- commit.c -------------------------------------------------------------------------------- */

/* Makes a root with these attributes and neither index nor settings page. */
void bale_container_fill_root(const struct bale_container *container,
                              const struct bale_container_attr *attr, struct bale_root *root);

/* Writes a root of the transaction's generation and makes it the newest; durable and session are
 * filled in here. BALE_E_NOSPACE and the like: it was not written. */
int bale_container_write_root(struct bale_container *container, struct bale_root *root);

/* Before the first frame or settings page, writes the root of an empty file: so a kill never leaves
 * them behind empty root slots, which only a power loss may do (FORMAT.md 9, rule 2). */
int bale_container_write_first(struct bale_container *container);
/* The same before a frame is written at position. *written: the frame is written too, in one write
 * with the root, which comes first in the file, wherever a kill cuts the write off. */
int bale_container_write_first_frame(struct bale_container *container, const uint8_t *frame,
                                     size_t length, uint64_t position, bool *written);

/* Writes the newest root once more, with what is known to be durable now; to the other slot if it
 * is durable itself. */
int bale_container_repeat_root(struct bale_container *container);

/* Syncs, which makes the newest root durable. */
int bale_container_make_durable(struct bale_container *container);

/* ---- space.c --------------------------------------------------------------------------------- */

/* Loads the index and makes the free map. */
int bale_space_build(struct bale_container *container);
void bale_space_clear(struct bale_container *container);

/* Any thread, while a transaction is open. allocate: BALE_E_NOMEM, BALE_E_TOOBIG. release: of space
 * that was allocated, and that no root refers to. */
int bale_space_allocate(struct bale_container *container, uint64_t length, uint64_t *position);
void bale_space_release(struct bale_container *container, uint64_t position, uint64_t length);

/* Frees the space that the index released, beginning with entry `from`. Before the commit it frees
 * only space that no root on disk ever referred to. After the commit (committed) it frees
 * everything, but defers space that the durable root uses. */
void bale_space_reclaim(struct bale_container *container, bool committed, size_t from);

/* Carries out the deferred frees: the newest root is durable. */
void bale_space_free_deferred(struct bale_container *container);

/* Frees the frames of the transaction that no put refers to. */
void bale_space_free_unreferenced(struct bale_container *container);

/* bale_container_trim, under the writer lock. */
int bale_space_trim(struct bale_container *container);
/* Whether bale_space_trim would give back nothing. */
bool bale_space_is_trim(struct bale_container *container);

/* Gives back blocks that were preallocated for segments that are no longer unwritten. */
void bale_space_give_back(struct bale_container *container);
/* Allocates blocks of the backing file beyond the end, for all unwritten bytes and extra more.
 * After an error those for extra, of which some may have been allocated, are given back. */
int bale_space_preallocate(struct bale_container *container, uint64_t extra);

#endif
