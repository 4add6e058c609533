/* The one bale_file of a regular node, shared by all requests and open files that use it. It is
 * opened for the first use and closed after the last. While it is being opened or closed, new uses
 * wait in a list, without keeping a thread. */
#ifndef BALE_FS_FUSE_OPENED_H
#define BALE_FS_FUSE_OPENED_H

#include "fs/base/pool.h"
#include "fs/fuse/mount.h"

enum bale_opened_state { BALE_OPENED_OPENING, BALE_OPENED_OPEN, BALE_OPENED_CLOSING };

struct bale_use;

/* node->opened. Guarded by mount->opened_lock, except: a caller that has a use may read mount,
 * node, file and writable without it; while the file is being opened or closed, the thread
 * that does so may use fd, backing, gives, writable and defaults, and read last, without it; user
 * does not change; unlinked and accessed are atomic. */
struct bale_opened {
    struct bale_mount *mount;
    struct bale_node *node; /* referenced */
    enum bale_opened_state state;
    struct bale_file *file; /* in BALE_OPENED_OPEN */
    bool writable;
    atomic_bool unlinked; /* the last link is gone: drop what is dirty at the close */
    /* A new file whose settings differ from the volume's: record them even if it stays empty. */
    bool settings_new;
    atomic_bool accessed; /* the file was read */
    bool gives;           /* in BALE_OPENED_OPENING: the kernel is to get the data (give.h) */
    unsigned uses;
    unsigned handles; /* those of the uses that are open files of the kernel */
    unsigned mappers; /* those of the handles that may be mapped for writing */
    /* Those that write through the kernel's cache, which would go on showing what was not rounded.
     * Read without the lock. */
    atomic_uint cached_writers;
    int fd;              /* given by bale_use_begin_created, or -1 */
    struct stat backing; /* what fd refers to */
    uid_t user;          /* who has the descriptors in mount->files: the first to use the file */
    struct bale_container_attr defaults;
    struct bale_file_attr last; /* in BALE_OPENED_CLOSING: the attributes before the close */
    void *capability;           /* security.capability as set since the open (capability.h) */
    size_t capability_size;
    bool restoring;                    /* it is being put back, and does not change meanwhile */
    struct bale_use *waiters;          /* uses that wait for the open or the close */
    bool following;                    /* the job follows a writer, and has a use */
    struct bale_job job;               /* opens the file; or follows a writer (follow.c) */
    struct bale_opened *next, *before; /* mount->opened */
};

/* Part of an operation that needs the open file; the operation owns it. ENFILE: the caller has his
 * share of all open files. */
struct bale_use {
    struct bale_mount *mount;
    struct bale_node *node;
    /* Do not open the file: ENOENT if it is not open. Waits until a close has ended. */
    bool only_open;
    bool gives; /* if it opens the file: give the kernel its data (give.h) */
    /* ready changes the store, and may stall in that: after a close it is a job of the pool. */
    bool changes;
    /* Called once without locks, before begin returns or from another thread (a handler's, or one
     * of the volume's). e is 0, and the use lasts until bale_use_end(); or it is a positive errno,
     * and there is no use. May free the operation. */
    void (*ready)(struct bale_use *use, int e);
    struct bale_use *next; /* opened->waiters */
    struct bale_job job;   /* calls ready with e for the user who began it */
    int e;
};
void bale_use_begin(struct bale_use *use);
/* For a file just made: fd is open for reading and writing, and owned from here on; backing: its
 * attributes. */
void bale_use_begin_created(struct bale_use *use, int fd, const struct stat *backing,
                            const struct bale_container_attr *defaults, bool settings_new);
void bale_use_end(struct bale_mount *mount, struct bale_node *node);
/* One more use of a file that is open. False: it is not. node may be NULL. */
bool bale_use_hold(struct bale_mount *mount, struct bale_node *node);

/* For bale_nodes_on_full, in the thread that ran out of descriptors: waits until a file that is
 * being closed is closed. False: there is none, or this thread may be needed to close it. */
bool bale_opened_wait_close(void *mount);

/* ---- opened_waiters.c, for opened.c: lists of uses that wait ---- */

unsigned bale_opened_count_waiters(const struct bale_use *waiters);
/* Calls them, without locks, on the thread that has opened the file. */
void bale_opened_call_waiters(struct bale_use *waiters, int e);
/* The same on one that has closed the file, before the close returns, or that has read from it: it
 * may be a reader. The caller counted them into mount->after_close. */
void bale_opened_call_waiters_after_close(struct bale_use *waiters, int e);

/* ---- opened_handle.c ---- */

/* Makes the use an open file of the kernel's, as fi->flags say, and tells in fi how the kernel may
 * cache it. fi->fh is a handle (bale_handle_is_direct). The use then lasts until drop. */
void bale_use_add_handle(struct bale_use *use, struct fuse_file_info *fi);
void bale_use_drop_handle(struct bale_mount *mount, struct bale_node *node,
                          const struct fuse_file_info *fi);
enum { BALE_HANDLE_DIRECT = 1, BALE_HANDLE_SYNC = 2 };
/* Whether the kernel caches nothing of what is read and written through it. */
static inline bool bale_handle_is_direct(const struct fuse_file_info *fi)
{
    return fi->fh & BALE_HANDLE_DIRECT;
}
/* Whether what is written through it is durable when the write returns: O_SYNC, O_DSYNC. */
static inline bool bale_handle_is_sync(const struct fuse_file_info *fi)
{
    return fi->fh & BALE_HANDLE_SYNC;
}

/* Drops all handles of the kernel. Only when no handler runs. */
void bale_opened_close_all(struct bale_mount *mount);

/* ---- opened_file.c, for opened.c ---- */

/* Opens the container, from opened->fd if that is set, which it takes over; else through the node,
 * for writing if possible, and sets opened->writable. opened is in BALE_OPENED_OPENING, so no other
 * thread uses these members. May verify the container, which takes long: in a handler only if
 * BALE_MARK_UNCERTAIN is not set. Logs the first failure of a node, and sets its marks. 0 or a
 * positive errno. */
int bale_opened_open_file(struct bale_opened *opened, struct bale_file **file);

/* ---- opened_query.c ---- */

/* Why a file whose opened->writable is not set cannot be written: EROFS or EACCES. */
int bale_opened_refusal(const struct bale_opened *opened);

/* Its file is being read: from now on reads of the container move the backing inode's atime, as the
 * mount of the store has it. */
void bale_opened_note_access(struct bale_opened *opened, const struct bale_file *file);
/* The file if it is open, referenced; else NULL. */
struct bale_file *bale_opened_file(struct bale_mount *mount, struct bale_node *node);
/* The attributes of a file that is open or being closed; false: it is neither. */
bool bale_opened_attr(struct bale_mount *mount, struct bale_node *node,
                      struct bale_file_attr *attr);
/* Whether the kernel may have pages that were written through a mapping. */
bool bale_opened_is_mappable(struct bale_mount *mount, struct bale_node *node);
/* The inode changed now: moves the ctime of an open file. */
void bale_opened_touch_ctime(struct bale_mount *mount, struct bale_node *node);
/* Whether the last link is gone: then nothing need be stored at the close. */
void bale_opened_set_unlinked(struct bale_mount *mount, struct bale_node *node, bool unlinked);

#endif
