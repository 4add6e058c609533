/* A container open for use: roots, index, free space, commits (FORMAT.md sections 3 to 5, 8 and 9).
 * Knows nothing of caches, engines or FUSE.
 *
 * Threads: everything that reads (_map, _walk, _attr and the _read functions) may run at any time
 * beside a transaction. One transaction is open at a time: bale_container_begin waits until the one
 * before has ended. Lock order inside: the writer lock (which a transaction holds), then the index
 * lock (short: index pages may be read under it, but no frame I/O and no sync happen). */
#ifndef BALE_FS_CONTAINER_CONTAINER_H
#define BALE_FS_CONTAINER_CONTAINER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/frame.h"
#include "format/page.h"
#include "format/root.h"
#include "fs/container/io.h"

struct bale_scratch;

struct bale_container;

/* What a store knows of a session. */
enum bale_session_state {
    BALE_SESSION_CERTAIN,
    BALE_SESSION_UNCERTAIN, /* it is listed */
    BALE_SESSION_UNKNOWN,   /* it is of another store, or the list of sessions was lost */
};

/* Which root a container is opened at. */
enum bale_root_pick { BALE_PICK_BY_RULES, BALE_PICK_NEWEST, BALE_PICK_OLDER };

/* What the containers of a mount share. Constant while any of them is open. */
struct bale_container_config {
    /* This mount's session, which goes into the roots that it writes. May grow while containers are
     * open (bale_store_checkpoint). */
    const _Atomic uint32_t *session;
    /* Read-locked from reading *session until the root with that session has been written (not
     * while it is synced). So no root of a session appears after the sync that removes the session
     * from the list of uncertain ones. NULL: the session never changes. */
    pthread_rwlock_t *session_roll;
    bool writable;
    /* For a reader: somebody else may write. What looks damaged is then read again by the newest
     * root (bale_container_follow). */
    bool follows;
    bool remote; /* with follows: another machine may be the one that writes */
    /* Once it returns true, nothing is written any more, as after a failed sync. Called before each
     * step of a transaction, on any thread, with the writer lock or without locks. arg is
     * session_arg. NULL: never. */
    bool (*stopped)(const void *arg);
    bool modes_in_container; /* volume.json: "modes": "container" */
    /* What is known of a session (FORMAT.md 8 rule 3); NULL: all are uncertain. A writer takes what
     * a certain session wrote for durable, except for *session itself, which becomes uncertain when
     * a sync has failed. Session 0 stands for rule 7: uncertain if any listed session is, unknown
     * if nothing is known of any. Called on any thread, with the writer lock or without locks;
     * takes no container lock. */
    enum bale_session_state (*session_state)(const void *arg, uint32_t session);
    const void *session_arg;
    enum bale_root_pick pick; /* BALE_PICK_NEWEST, BALE_PICK_OLDER: nothing is verified */
};

/* Attributes that the root contains besides the index. */
struct bale_container_attr {
    uint64_t size;
    uint64_t generation; /* 0: still an empty file of length 0 */
    uint64_t stored;
    int64_t mtime; /* nanoseconds since the epoch; 0 with generation 0: take the backing inode's */
    uint32_t extent;
    uint16_t mode; /* BALE_ROOT_MODE_IN_CONTAINER | bits, or 0 */
    struct bale_setting setting;
    uint8_t rounds;         /* enum bale_rounds */
    uint64_t greatest_step; /* with which elements were rounded since the file was empty; 0: none */
    bool setting_explicit;
    bool extent_explicit;
};

/* Reads the attributes with one small read, and a second one of a settings page, without the index:
 * for stat. defaults gives setting, extent and mode of an empty container. BALE_E_UNVERIFIED: the
 * newest root is of an uncertain session and refers to data that was never known to be durable;
 * open the container to verify it. attr is then the newest root's. feature (may be NULL, else room
 * for 5 bytes) as for bale_root_decode. */
int bale_container_peek(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container_attr *attr, char *feature);

/* Opens a container; owns io from then on, also on failure. Chooses the root (FORMAT.md 8) and
 * verifies what an uncertain or unknown session wrote. If that was necessary and succeeded, and
 * config->writable, it syncs the file and writes a new root that says so. config and everything
 * that it points to must outlive the container. BALE_E_INVALID: config->pick asks for an older
 * root, and there is none. */
int bale_container_open(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container **container, char *feature);
/* The same for a file of length 0, which has no root. Reads nothing. Not beside a writer. */
int bale_container_open_empty(struct bale_io *io, const struct bale_container_config *config,
                              const struct bale_container_attr *defaults,
                              struct bale_container **container);

/* A read that finds so often in a row that the data has moved gives up: no honest writer makes
 * it. */
#define BALE_MOVED_TRIES 1000

/* For a container that follows: looks for a newer root, and goes on with what it refers to. 1:
 * there was one; 0: there was none; or a negative bale_err. Any thread; may wait for one that does
 * the same. */
int bale_container_follow(struct bale_container *container);
/* A number that counts up when the container goes on with another root, before anything is read
 * through that root. attr (may be NULL) gets the attributes that belong to the result, or to a
 * newer epoch that begins just now. Waits for nothing. */
uint64_t bale_container_epoch(struct bale_container *container, struct bale_container_attr *attr);
/* A number for what a root with these attributes refers to, never 0. Different roots of one
 * container have different numbers; those of different containers most probably do. */
uint32_t bale_container_stamp(struct bale_container *container);

/* Writes a root that records what is known to be durable, gives unused space back to the backing
 * file system, and closes. No transaction is open. Never syncs. NULL is fine. BALE_OK: nothing was
 * written through this object. 1: something was, and a sync of the file must follow before all of
 * it is durable. Negative: the backing file system reported on close() that it has lost something
 * of that. */
int bale_container_close(struct bale_container *container);
/* Whether closing it now would write nothing. */
bool bale_container_closes_silently(struct bale_container *container);

struct bale_io *bale_container_io(struct bale_container *container);
uint64_t bale_container_id(const struct bale_container *container); /* 0 before the first commit */

/* What was found when the container was opened. */
enum bale_recovery {
    BALE_RECOVERY_NONE, /* a newest root that is whole or of a certain session */
    /* A slot is damaged: the other root serves, which may be the older one. */
    BALE_RECOVERY_SLOT,
    /* A crash of an uncertain session cut off the last commit: the older root serves. */
    BALE_RECOVERY_CUT_OFF,
    /* The session is unknown to the store, and writes of the last commit are missing. The older
     * root is whole, and serves. */
    BALE_RECOVERY_MISSING,
    /* The session is unknown to the store. Bytes of the last commit are wrong, or writes of it are
     * missing and no older root is whole. The newest root serves, and the container is read-only
     * until bale_container_settle. */
    BALE_RECOVERY_DAMAGE,
    /* The slots are zeros, and no session is known: an empty file, likewise read-only. */
    BALE_RECOVERY_BLANK,
};
enum bale_recovery bale_container_recovery(const struct bale_container *container);
/* A message for users: "its last commit ...: what to do", to be printed after "PATH: ". NULL for
 * BALE_RECOVERY_NONE. */
const char *bale_recovery_text(enum bale_recovery recovery);
/* Whether the container is read-only because of what was found. */
bool bale_container_is_held(const struct bale_container *container);

/* The generation of the newer root that opening did not use; 0: there is none. */
uint64_t bale_container_rejected(const struct bale_container *container);

/* Call it when somebody has decided that the root in use stays, with what is damaged below it.
 * Makes the root durable, and writes a confirming root over the other slot; truncates an empty
 * file. The container is open with config->writable, and nothing was written yet. */
int bale_container_settle(struct bale_container *container);

/* The attributes as of the last commit. */
void bale_container_attr(struct bale_container *container, struct bale_container_attr *attr);

/* Bytes of memory that the container uses (index pages, free map). */
size_t bale_container_memory(struct bale_container *container);

/* Finds the first segment that ends after offset; it may be an unwritten one. BALE_E_NOENT: there
 * is none. May read index pages. */
int bale_container_map(struct bale_container *container, uint64_t offset,
                       struct bale_segment *segment);

/* Call it after bale_container_map has failed at offset. Sets [*first, *end) to the first range at
 * or behind offset whose part of the index is lost. False: there is none; map again. Reads the
 * index. */
bool bale_container_lost(struct bale_container *container, uint64_t offset, uint64_t *first,
                         uint64_t *end);

/* Calls each for the segments in order of offsets, without locks, until it returns non-zero, which
 * is then returned. */
int bale_container_walk(struct bale_container *container,
                        int (*each)(void *arg, const struct bale_segment *segment), void *arg);

struct bale_container_usage {
    uint64_t extents[256]; /* frames by codec id; two segments of one frame count once */
    uint64_t logical[256]; /* bytes of the file that are in them, by codec id */
    /* The bytes that were compressed for that, by codec id: what was overwritten since is still in
     * its frame. The index does not say how long a frame is, so what lies behind the last byte
     * that counts in logical is left out. */
    uint64_t raw[256];
    uint64_t stored[256]; /* frame bytes, by codec id */
    uint64_t unwritten;   /* bytes */
    uint64_t free;        /* bytes between frames that nothing uses */
    uint64_t deferred;    /* bytes that the next sync frees */
    uint64_t pages;
    uint64_t page_bytes;
    int height; /* as in the root */
};
/* Counts from the index; reads all its pages, without the writer lock unless commits come too
 * often. Errors of reading. */
int bale_container_usage(struct bale_container *container, struct bale_container_usage *usage);

/* Where and how a structure is damaged. */
struct bale_fault {
    uint64_t offset; /* in the logical file */
    uint64_t length;
    uint64_t position;
    const char *what;  /* constant text: "head checksum", "chunk checksum", "raw checksum", ... */
    uint64_t expected; /* by the failed check, like found; 0 if it compares no numbers */
    uint64_t found;
};

/* Reads and decodes file bytes [from, from + length), which lie inside the segment, into raw. Only
 * the chunks needed are read, checked and decoded. Unwritten segments give zeros. BALE_E_STALE: a
 * commit moved the data meanwhile (the bytes fail their check and the index has changed); map the
 * offset again. BALE_E_CORRUPT: fault (may be NULL) is filled. */
int bale_container_read(struct bale_container *container, struct bale_scratch *scratch,
                        const struct bale_segment *segment, uint64_t from, uint32_t length,
                        uint8_t *raw, struct bale_fault *fault);

/* Reads the head of a segment's frame, which says how it was encoded. Errors as
 * bale_container_read; BALE_E_INVALID for an unwritten segment. */
int bale_container_read_head(struct bale_container *container, const struct bale_segment *segment,
                             struct bale_frame *frame);

/* Reads the whole frame of a segment, undecoded, into frame[0, segment->frame_length), for an
 * engine. Checks that the head is the one that the segment refers to; the head has the checksums of
 * the chunks. Errors as bale_container_read. */
int bale_container_read_frame(struct bale_container *container, const struct bale_segment *segment,
                              uint8_t *frame);

/* ---- Writing --------------------------------------------------------------------------------- */

/* Starts a transaction; waits until the one before has ended. *generation: of everything that is
 * written in it. */
int bale_container_begin(struct bale_container *container, uint64_t *generation);

/* Allocates space and writes one encoded frame (its generation is the transaction's); *position is
 * where. Any thread, while the transaction is open. */
int bale_container_write_frame(struct bale_container *container, const uint8_t *frame,
                               size_t length, uint64_t *position);

/* Puts frames of another container, which lie one behind the other there, into space of this one,
 * sharing the blocks of the backing file system: the first is then at *position, the others as far
 * behind it as they were. They keep their generations. Each segment shows its whole frame. The
 * source may change meanwhile: if its index does not have all segments any more afterwards, what
 * was cloned is worthless, and must not be put. BALE_E_UNSUPPORTED: the backing file system cannot;
 * BALE_E_NOENT: not these frames, or not here; else as bale_container_write_frame. Only the
 * transaction's owner calls it. */
int bale_container_clone(struct bale_container *container, struct bale_container *from,
                         const struct bale_segment *segments, size_t count, uint64_t *position);
/* Whether the second frame lies directly behind the first. */
bool bale_container_adjoins(const struct bale_segment *before, const struct bale_segment *after);

/* Change the index; bale_container_map sees the change at once. Only the transaction's owner calls
 * these. put: the segment replaces all that covered its range. cut: [offset, offset + length)
 * becomes a hole. On error the index is unchanged. */
int bale_container_put(struct bale_container *container, const struct bale_segment *segment);
int bale_container_cut(struct bale_container *container, uint64_t offset, uint64_t length);

/* Preallocates: makes the holes in the range unwritten segments, and allocates blocks of the
 * backing file for their bytes. After an error it has kept none of them. */
int bale_container_preallocate(struct bale_container *container, uint64_t offset, uint64_t length);
/* Gives back the blocks of what was preallocated and is cut off, after the commit that cut it off.
 * Waits for the end of an open transaction. */
void bale_container_give_back(struct bale_container *container);

/* Sets the attributes that the commit writes. A smaller size removes the segments beyond it. The
 * extent size can only change while there are no segments: BALE_E_INVALID. */
int bale_container_set_attr(struct bale_container *container,
                            const struct bale_container_attr *attr);

/* Writes changed pages and the root, syncs if durable is set, and ends the transaction in any case.
 * BALE_OK: after a SIGKILL (durable: after power loss) the container opens at this commit or a
 * later one. BALE_E_NOSPACE, BALE_E_DQUOT: nothing on disk changed; index and attributes stay as
 * they are in memory, and the next commit writes them. After a failed sync or write (BALE_E_IO) the
 * container is broken: everything but reading fails with BALE_E_IO until it is closed and opened
 * again. */
int bale_container_commit(struct bale_container *container, bool durable);

/* Ends the transaction without a commit, and frees the frames written in it that no put refers to.
 * Changes of the index and of attributes stay in memory; the next commit writes them. */
void bale_container_abandon(struct bale_container *container);

/* Makes the last commit durable. Does nothing if it is already, or if the container is read-only.
 * Waits for the end of an open transaction. */
int bale_container_sync(struct bale_container *container);

/* Whether the last commit is durable: then bale_container_sync does nothing. Any thread; waits for
 * nothing. */
bool bale_container_is_durable(struct bale_container *container);

/* Bytes of deferred frees: a durable root refers to them, so they can be used again only after a
 * sync. */
uint64_t bale_container_deferred_bytes(struct bale_container *container);

/* Gives free space back to the backing file system, by punching holes and truncating, if that is
 * more than a sixteenth of the live bytes. Blocks preallocated for unwritten segments stay, and no
 * others. */
int bale_container_trim(struct bale_container *container);

/* Whether the container may have bytes that the file no longer shows. It has none only if it was
 * empty when it was opened and has given up nothing since. Any thread. */
bool bale_container_has_slack(const struct bale_container *container);

/* Removes such bytes, so that a user who may read the container from now on finds only the file as
 * of its last commit. Replaces each frame of which the file shows only a part, makes the last
 * commit and a root that confirms it durable, and zeroes what nothing refers to. Writes nothing if
 * there are no such bytes. Waits for the end of an open transaction. Errors are those of a commit
 * and of reading a frame; some of the bytes may then still be there. */
int bale_container_scrub(struct bale_container *container, struct bale_scratch *scratch);

/* Checks the structure below the newest root: root slots, every page, overlaps, the sum of stored
 * bytes; with data it also decodes every frame and checks the raw checksums. Calls report for each
 * fault, on this thread and with the writer lock, and goes on. Returns BALE_OK if there was none,
 * else BALE_E_CORRUPT. Transactions wait meanwhile. */
int bale_container_check(struct bale_container *container, struct bale_scratch *scratch, bool data,
                         void (*report)(void *arg, const struct bale_fault *fault), void *arg);

#endif
