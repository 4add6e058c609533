/* A container open for use: roots, index, free space, commits (FORMAT.md sections 3 to 5, 8 and 9).
 * Knows nothing of caches, engines or FUSE.
 *
 * Threads: bale_container_map, _read_frame and _stat may run at any time beside a transaction. One
 * transaction is open at a time: bale_container_begin waits for the one before. Inside: writer lock
 * (transaction), then index lock (short, never held over I/O of frames or a sync; page reads under
 * it are allowed). */
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

/* What new containers get, and how sessions are judged. Shared, constant while containers are
 * open. */
struct bale_container_config {
    /* This mount's session, written into roots. May grow while containers are open
     * (bale_store_checkpoint). */
    const _Atomic uint32_t *session;
    /* Held shared from reading *session until the root that names it has been written (not while it
     * is synced), so that no root of a session appears after the sync that lets the session leave
     * the list. NULL: never rolls. */
    pthread_rwlock_t *session_roll;
    bool writable;
    bool modes_in_container; /* volume's modes = container */
    /* FORMAT.md 8 rule 3. NULL: every session is uncertain. For a writer a session other than
     * *session that is certain is also durable; *session itself becomes uncertain when a sync has
     * failed. Session 0 asks for rule 5: false if any listed session is uncertain. From any
     * thread. */
    bool (*session_certain)(const void *arg, uint32_t session);
    const void *session_arg;
};

/* Attributes held in the root besides the data. */
struct bale_container_attr {
    uint64_t size;
    uint64_t generation; /* 0: still an empty file of length 0 */
    uint64_t stored;
    int64_t mtime; /* nanoseconds since the epoch; 0 with generation 0: the backing inode's holds */
    uint32_t extent;
    uint16_t mode; /* BALE_ROOT_MODE_IN_CONTAINER | bits, or 0 */
    struct bale_setting setting;
    bool setting_explicit;
    bool extent_explicit;
};

/* One small read, no index: for stat. defaults gives setting and extent (and mode) of an empty
 * container. BALE_E_UNVERIFIED: the newest root is of an uncertain session and refers to what was
 * never known durable; open it. feature (may be NULL, else room for 5) as bale_root_decode. */
int bale_container_peek(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container_attr *attr, char *feature);

/* Opens; takes over io, also on failure. Chooses the root (FORMAT.md 8), verifying what an
 * uncertain session wrote; when that was needed and succeeded and config->writable, the result is
 * synced and confirmed by a new root. config and everything it points to outlives the container. */
int bale_container_open(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container **container, char *feature);

/* Records what is known to be durable, gives unneeded space back, and closes. No transaction is
 * open. Never syncs: a failure here loses nothing. NULL is fine. */
void bale_container_close(struct bale_container *container);

struct bale_io *bale_container_io(struct bale_container *container);
uint64_t bale_container_id(const struct bale_container *container); /* 0 before the first commit */

/* The generation of a newer root that was rejected when the container was opened, for the log; 0:
 * none was. */
uint64_t bale_container_rejected(const struct bale_container *container);

/* As of the last commit. */
void bale_container_attr(struct bale_container *container, struct bale_container_attr *attr);

/* Bytes of memory it holds (index pages, free map). */
size_t bale_container_memory(struct bale_container *container);

/* The first segment that ends after offset, unwritten ones included. BALE_E_NOENT: none. May read
 * index pages. */
int bale_container_map(struct bale_container *container, uint64_t offset,
                       struct bale_segment *segment);

/* Calls each for the segments in order until it returns non-zero, which is then returned. */
int bale_container_walk(struct bale_container *container,
                        int (*each)(void *arg, const struct bale_segment *segment), void *arg);

struct bale_container_usage {
    uint64_t extents[256]; /* frames by codec id; two segments of one frame count once */
    uint64_t logical[256]; /* bytes covered, by codec id */
    uint64_t stored[256];  /* frame bytes, by codec id */
    uint64_t unwritten;    /* bytes */
    uint64_t free;         /* bytes between frames that belong to nobody */
    uint64_t deferred;     /* bytes given up, not yet durably */
    uint64_t pages;
    uint64_t page_bytes;
    int height; /* as in the root */
};
int bale_container_usage(struct bale_container *container, struct bale_container_usage *usage);

/* Says where and how a structure is bad; texts name expected and found. */
struct bale_fault {
    uint64_t offset; /* in the logical file */
    uint64_t length;
    uint64_t position;
    const char *what; /* constant text: "head checksum", "chunk checksum", "raw checksum", ... */
    uint64_t expected;
    uint64_t found;
};

/* Reads and decodes what segment covers: file bytes [from, from + length) inside the segment, into
 * raw. Only the chunks needed are read, checked and decoded. If a commit moved the data meanwhile
 * (the bytes fail their check and the index has changed), returns BALE_E_STALE: map again.
 * BALE_E_CORRUPT: fault (may be NULL) is filled. Unwritten segments give zeros. */
int bale_container_read(struct bale_container *container, struct bale_scratch *scratch,
                        const struct bale_segment *segment, uint64_t from, uint32_t length,
                        uint8_t *raw, struct bale_fault *fault);

/* What the head of a segment's frame says: how it was encoded. Errors as _read, BALE_E_INVALID for one that is
 * unwritten. */
int bale_container_read_head(struct bale_container *container, const struct bale_segment *segment,
                             struct bale_frame *frame);

/* Reads the whole frame of a segment, undecoded, into frame[0, segment->frame_length), for an
 * engine. The head is checked to be the segment's, which vouches for the chunks; errors as
 * _read. */
int bale_container_read_frame(struct bale_container *container, const struct bale_segment *segment,
                              uint8_t *frame);

/* ---- Writing --------------------------------------------------------------------------------- */

/* Starts the transaction; waits for the one before. *generation: of everything written in it. */
int bale_container_begin(struct bale_container *container, uint64_t *generation);

/* Allocates space and writes one encoded frame (its generation is the transaction's). *position:
 * where. From any thread while the transaction is open. */
int bale_container_write_frame(struct bale_container *container, const uint8_t *frame,
                               size_t length, uint64_t *position);

/* Changes to the index, at once visible to _map; called by the transaction's owner. put: the
 * segment replaces whatever covered its range. cut: [offset, offset + length) becomes a hole. On
 * error the index is unchanged. */
int bale_container_put(struct bale_container *container, const struct bale_segment *segment);
int bale_container_cut(struct bale_container *container, uint64_t offset, uint64_t length);

/* Marks holes in the range as unwritten segments and allocates backing blocks for their bytes. */
int bale_container_preallocate(struct bale_container *container, uint64_t offset, uint64_t length);

/* Attributes for the commit; size cuts what lies beyond it. extent only while there are no
 * segments: BALE_E_INVALID. */
int bale_container_set_attr(struct bale_container *container,
                            const struct bale_container_attr *attr);

/* Writes changed pages and the root, and with durable syncs; ends the transaction, whatever
 * happens. BALE_OK: after a SIGKILL (durable: after power loss) the container opens at this commit
 * or a later one. BALE_E_NOSPACE, BALE_E_DQUOT: nothing on disk changed; index and attributes stay
 * as they are in memory and go out with the next commit. After a failed sync or write (BALE_E_IO)
 * the container is broken: everything but reading fails with BALE_E_IO until it is closed and
 * opened again. */
int bale_container_commit(struct bale_container *container, bool durable);

/* Ends the transaction without a commit; frames written in it that no put refers to are given
 * back. */
void bale_container_abandon(struct bale_container *container);

/* Makes the last commit durable. No-op if it is, or if the container is read-only. Waits for an
 * open transaction. */
int bale_container_sync(struct bale_container *container);

/* Whether the last commit is durable: then _sync does nothing. */
bool bale_container_is_durable(struct bale_container *container);

/* Bytes that wait for a sync before they can be used again. */
uint64_t bale_container_deferred_bytes(struct bale_container *container);

/* Punches or truncates free space if that gives back more than a sixteenth of what is live. Blocks
 * promised to unwritten segments stay. */
int bale_container_trim(struct bale_container *container);

/* Checks structure: root slots; every page; overlaps; stored sum; with data every frame decoded,
 * raw checksums checked. Calls report for each problem and goes on. Returns BALE_OK if there was
 * none, else BALE_E_CORRUPT. Looks at the newest root on disk; transactions wait meanwhile. */
int bale_container_check(struct bale_container *container, struct bale_scratch *scratch, bool data,
                         void (*report)(void *arg, const struct bale_fault *fault), void *arg);

#endif
