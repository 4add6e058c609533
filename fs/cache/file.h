/* A regular file at work: its container, its extents in the cache, its dirty data and its commits.
 *
 * Lock order: (names, above this layer) -> file -> container -> memory, pool and engine. A file's
 * lock is never held over I/O. Files are counted: the caller's reference keeps the file during the
 * call; pending calls have references of their own. */
#ifndef BALE_FS_CACHE_FILE_H
#define BALE_FS_CACHE_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>

#include "fs/cache/volume.h"

struct stat;
struct bale_file;

/* The end of a call that may wait: result >= 0 or a negative bale_err. Set by the caller of each
 * function that takes one; called exactly once, either before that function returns or later from a
 * pool thread; no lock held. arg is the caller's. */
typedef void bale_file_done(void *arg, int64_t result);

/* fd: the container, open for reading and (unless read-only) writing; owned from here on, also on
 * failure. label: a name for log lines (copied; bale_file_relabel after a rename). May read and,
 * after a crash, verify the container: it can take long. feature: as bale_root_decode, room for 5,
 * or NULL. */
int bale_file_open(struct bale_volume *volume, int fd, const struct bale_container_attr *defaults,
                   const char *label, struct bale_file **file, char *feature);
/* The same where the caller has just read the attributes of fd. */
int bale_file_open_known(struct bale_volume *volume, int fd, const struct stat *backing,
                         const struct bale_container_attr *defaults, const char *label,
                         struct bale_file **file, char *feature);
void bale_file_relabel(struct bale_file *file, const char *label);

struct bale_file *bale_file_ref(struct bale_file *file);
/* Gives up one reference. At the last, what is dirty is committed (or dropped after
 * bale_file_discard) and the file closed, later, from another thread. */
void bale_file_unref(struct bale_file *file);
/* closed (may be NULL) is called once when the file has been closed, on a pool thread, no lock
 * held; arg is the caller's. Until then the caller must not open the same container again. written:
 * something was written through this object, and is durable only after an fsync of the inode. last:
 * the inode as the close has left it, if its ctime was changed and the close has not changed the
 * inode; else NULL. */
typedef void bale_file_closed(void *arg, bool written, const struct stat *last);
void bale_file_on_close(struct bale_file *file, bale_file_closed *closed, void *arg);
/* Call it before the last unref if `closed` will write to the backing store, which may stall. */
void bale_file_close_writes(struct bale_file *file);

int bale_file_fd(const struct bale_file *file);
/* Whether elements are rounded as they are written, or may be once it is decided. */
bool bale_file_is_lossy(struct bale_file *file);
/* What was found when the container was opened. *held: the container is read-only because of it. */
enum bale_recovery bale_file_recovery(const struct bale_file *file, bool *held);

/* This process has written everything in the container, and nobody else can have changed it. So its
 * frames may be given to a closed decoder. */
void bale_file_trust(struct bale_file *file);

struct bale_file_attr {
    uint64_t size;
    struct timespec mtime; /* exact, also while data is dirty */
    /* of the last change through this object; zero: the backing inode's is valid */
    struct timespec ctime;
    uint64_t dirty; /* bytes not in the container yet */
    /* Of what is written now; those of container are of the last commit. */
    enum bale_rounds rounds;
    uint64_t greatest_step;
    struct bale_container_attr container;
};
/* The attributes as programs see them. Any thread; waits for no I/O. */
void bale_file_attr(struct bale_file *file, struct bale_file_attr *attr);

/* For a reader beside a writer: looks for a newer commit, and shows that from now on. May read from
 * the store. 0 or a negative bale_err. */
int bale_file_follow(struct bale_file *file);
/* A number for the commit that is shown, never 0; a newer one has another number. */
uint32_t bale_file_stamp(struct bale_file *file);

/* ---- Data ------------------------------------------------------------------------------------ */

/* A read in progress: pieces point into buffers of extents (or a bounce buffer) and stay valid
 * until bale_read_release. */
struct bale_read {
    struct iovec *pieces;
    int count;
    size_t length; /* sum; short only at the end of the file */
};
/* done's result is the length, and read is filled in. The caller calls bale_read_release
 * afterwards, also after an error, and keeps read and arg until then. The file recognises streams
 * and reads ahead. */
void bale_file_read(struct bale_file *file, uint64_t offset, size_t length, struct bale_read *read,
                    bale_file_done *done, void *arg);
void bale_read_release(struct bale_read *read);
/* The file was opened, and will probably be read from its beginning: if it is small, and the calling
 * thread is a guest of the volume's pool that may run a job, reads and decodes its first extent. */
void bale_file_read_soon(struct bale_file *file);

/* Writes length bytes at offset. Elements of a file with a lossy setting that lie in them as a
 * whole are rounded (rounds.h). data is read before the call returns (copied if the write must
 * wait). Result: the bytes written, short only if an error came after the first. Errors:
 * BALE_E_NOSPACE, BALE_E_DQUOT, BALE_E_TOOBIG, BALE_E_IO, BALE_E_CANCELLED. */
void bale_file_write(struct bale_file *file, uint64_t offset, const void *data, size_t length,
                     bale_file_done *done, void *arg);
struct bale_writer {
    /* If it is set before done is called, the write no longer waits for memory. A write that waits
     * already looks at it in bale_file_cancel. NULL: never set. */
    const atomic_bool *cancel;
    /* If it is set before done is called, nothing more is written, and the result is
     * BALE_E_CANCELLED, or what was written before. NULL: never set. */
    const atomic_bool *given_up;
    bool exact; /* round nothing, even if the file's setting is lossy */
};
/* The same with these properties of the writer, which are read before the call returns. */
void bale_file_write_by(struct bale_file *file, uint64_t offset, const void *data, size_t length,
                        const struct bale_writer *writer, bale_file_done *done, void *arg);
/* Cancels the write whose done argument is arg, and whose cancel is set: done is called with
 * BALE_E_CANCELLED, or with what was written before it waited. */
void bale_file_cancel(struct bale_file *file, void *arg);

/* Who wrote last, or else owns the file. */
uint32_t bale_file_user(const struct bale_file *file);

/* Commits what is dirty, then sets the size and commits that. What is cut off is gone, and what is
 * added is a hole. Result 0, BALE_E_TOOBIG, or the error of a commit. */
void bale_file_truncate(struct bale_file *file, uint64_t size, bale_file_done *done, void *arg);

/* fallocate(2): reserves space, or makes the range a hole (PUNCH), or zeros with space reserved
 * (ZERO). KEEP_SIZE and PUNCH leave the size as it is. */
enum bale_allocate {
    BALE_ALLOCATE,
    BALE_ALLOCATE_KEEP_SIZE,
    BALE_ALLOCATE_PUNCH,
    BALE_ALLOCATE_ZERO,
    BALE_ALLOCATE_ZERO_KEEP_SIZE
};
/* Commits what is dirty, then changes the range and commits that. Result 0; BALE_E_INVALID: length
 * is 0; BALE_E_TOOBIG: the range ends beyond the greatest size; or the error of a commit. */
void bale_file_allocate(struct bale_file *file, enum bale_allocate how, uint64_t offset,
                        uint64_t length, bale_file_done *done, void *arg);

/* SEEK_DATA (data is set) or SEEK_HOLE. Returns the offset found, or BALE_E_NOENT, which stands for
 * ENXIO. Dirty data counts as data. May read index pages. */
int64_t bale_file_seek(struct bale_file *file, uint64_t offset, bool data);

/* Commits what is dirty, data and attributes; durable: also syncs. Result 0, or the error of this
 * flush, or of one in the background that was not reported yet. If nothing is dirty: done is called
 * at once (not durable), or after a sync if one is due. */
void bale_file_flush(struct bale_file *file, bool durable, bale_file_done *done, void *arg);

/* As bale_file_flush with durable, but does nothing if nothing is dirty and the last commit is
 * durable. The inode's attributes are then not synced. */
void bale_file_sync(struct bale_file *file, bale_file_done *done, void *arg);

/* Whether bale_file_scrub would do nothing: the container has given up no data, and a commit of
 * what is dirty would give up none. */
bool bale_file_is_scrubbed(struct bale_file *file);
/* Call it before others may read the container. Commits what is dirty, and durably removes from the
 * container what the file no longer shows (bale_container_scrub). Writes nothing if there is
 * nothing to remove. Result 0, or the error of a flush, a commit or a sync. */
void bale_file_scrub(struct bale_file *file, bale_file_done *done, void *arg);

/* Rewriting what is committed: with another codec, and as one frame where there are several. */
struct bale_recompress {
    uint64_t offset; /* begins with the extent that contains this; out: where to continue */
    uint64_t end;    /* ends with the extent before this */
    struct bale_setting setting;
    bool chosen; /* with that setting, not the file's own */
    bool dry;    /* stores nothing, but reports what would be stored */
    bool insist; /* also while others write or read much */
    /* Results. busy: others read or write much, or the volume is frozen; nothing was done. over:
     * there is nothing more up to end. */
    bool busy, over;
    uint64_t extents;   /* checked */
    uint64_t rewritten; /* extents */
    uint64_t logical;   /* bytes of the file in rewritten extents */
    uint64_t before;    /* bytes of their old frames */
    uint64_t after;     /* and of their new ones */
    uint64_t damaged;   /* bytes in extents that cannot be read */
};
/* A bounded amount of work: about a MiB is encoded, more is checked. An extent that is already one
 * frame with the wanted setting is skipped; one that would not become smaller is kept, unless its
 * codec differs and the file's or the caller's codec was chosen explicitly. Holes stay. An extent
 * that changes meanwhile is left alone: it is stored with the file's codec anyway. Size, times and
 * mode do not change. Result 0, BALE_E_NOMEM, or as a commit's. The caller keeps request until
 * done. */
void bale_file_recompress(struct bale_file *file, struct bale_recompress *request,
                          bale_file_done *done, void *arg);

/* Rounding what the file has already, as a write of the same bytes would. */
struct bale_round_stored {
    uint64_t offset; /* begins with the extent that contains this; out: where to continue */
    /* Results. busy: the volume is frozen; nothing was done. over: there is nothing more. exact:
     * the file's setting is not lossy, or the file is no array; nothing was done. */
    bool busy, over, exact;
    uint64_t rounded; /* extents in which elements changed */
};
/* A bounded amount of work, and of dirty data. The file counts as complete, though it may be short
 * or have holes where its first bytes are. mtime changes if an element does. Result 0 or an error
 * of reading, BALE_E_NOMEM, BALE_E_NOSPACE. The caller keeps request until done. */
void bale_file_round(struct bale_file *file, struct bale_round_stored *request,
                     bale_file_done *done, void *arg);

/* The file is unlinked for good: its dirty data need not be stored. */
void bale_file_discard(struct bale_file *file);

/* ---- Attributes held in the container -------------------------------------------------------- */

/* Commits what is dirty, with mtime if that is given; atime is the backing file's. NULL leaves one
 * as it is. If mtime is given and little is dirty, done may come before the commit, which a guest
 * of the volume's pool then makes before it returns from this call: as after a write, the next flush
 * waits for it and reports its error. */
void bale_file_set_times(struct bale_file *file, const struct timespec *atime,
                         const struct timespec *mtime, bale_file_done *done, void *arg);
/* Sets the codec setting, the extent size or the mode, and commits before it calls done; fields
 * says which members of attr. BALE_E_INVALID: an extent size for a file that has data. INODE_MODE,
 * with MODE: also sets the mode of the backing inode (bale_root_backing_mode). BALE_E_PERM: that is
 * not allowed, or the inode does not keep the set-id bits of the mode. */
enum {
    BALE_ATTR_SETTING = 1,
    BALE_ATTR_EXTENT = 2,
    BALE_ATTR_MODE = 4,
    BALE_ATTR_INODE_MODE = 8,
};
void bale_file_set_attr(struct bale_file *file, unsigned fields,
                        const struct bale_container_attr *attr, bale_file_done *done, void *arg);
/* Records that the inode changed now (chmod, link, ...), for bale_file_attr.ctime. */
void bale_file_touch_ctime(struct bale_file *file);

/* Call it before a change of the inode that must not show: from then on the file's ctime is this
 * one, unless something has set it already. */
void bale_file_keep_ctime(struct bale_file *file, const struct timespec *ctime);

/* Figures by codec, as of the last commit. */
int bale_file_usage(struct bale_file *file, struct bale_container_usage *usage);

#endif
