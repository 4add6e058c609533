/* The one bale_file of a regular node, shared by everybody who uses it: opened for the first
 * user, closed after the last. While it is being opened or closed those who come wait, without
 * keeping a thread. */
#ifndef BALE_FS_FUSE_OPENED_H
#define BALE_FS_FUSE_OPENED_H

#include "fs/fuse/mount.h"

enum bale_opened_state { BALE_OPENED_OPENING, BALE_OPENED_OPEN, BALE_OPENED_CLOSING };

struct bale_use;

/* node->opened. Guarded by mount->opened_lock; who has a use may read file and writable without
 * it. */
struct bale_opened {
    struct bale_mount *mount;
    struct bale_node *node; /* referenced */
    enum bale_opened_state state;
    struct bale_file *file;
    bool writable;
    atomic_bool unlinked; /* the last link is gone: nothing need be kept at the end */
    /* A new file whose settings differ from the volume's: they are recorded even if it stays
     * empty. */
    bool settings_new;
    atomic_bool accessed; /* somebody read the file */
    unsigned uses;
    unsigned handles; /* those of them that are the kernel's */
    unsigned mappers; /* those of them that may be mapped for writing */
    int fd;           /* given to begin, or -1 */
    struct bale_container_attr defaults;
    struct bale_file_attr last; /* in CLOSING: as it was */
    void *capability;           /* security.capability as set since it was opened, or NULL */
    size_t capability_size;
    struct bale_use *waiting;
    struct bale_job job;
    struct bale_opened *next, *before; /* mount->opened */
};

/* Part of an operation. ready comes once, perhaps before begin returns, perhaps from another
 * thread: err 0, and the use lasts until bale_use_end(); or an errno, and there is none. */
struct bale_use {
    struct bale_mount *mount;
    struct bale_node *node;
    bool only_open; /* ENOENT if it is not open; waits until what is being closed is closed */
    void (*ready)(struct bale_use *use, int err);
    struct bale_use *next;
};
void bale_use_begin(struct bale_use *use);
/* For a file just made: fd is open for reading and writing, and owned from here on. */
void bale_use_begin_created(struct bale_use *use, int fd,
                            const struct bale_container_attr *defaults, bool settings_new);
void bale_use_end(struct bale_mount *mount, struct bale_node *node);

/* The kernel has the use now, by a file opened with these flags; and has it no more. */
void bale_use_add_handle(struct bale_use *use, int flags);
void bale_use_drop_handle(struct bale_mount *mount, struct bale_node *node, int flags);
/* Waits for a file that is being closed. False: there is none, or this thread is one that closes
 * them. For bale_nodes_on_full. */
bool bale_opened_wait_close(void *mount);
/* Ends all that the kernel has. Only when no handler runs. */
void bale_opened_close_all(struct bale_mount *mount);

/* Somebody reads the file: from now on that shows in the backing inode's atime, as its mount has
 * it. */
void bale_opened_note_access(struct bale_opened *opened);
/* The file if it is open, referenced; else NULL. */
struct bale_file *bale_opened_file(struct bale_mount *mount, struct bale_node *node);
/* What the file shows, if it is open or being closed. */
bool bale_opened_attr(struct bale_mount *mount, struct bale_node *node,
                      struct bale_file_attr *attr);
/* Whether the kernel may hold what was written through a mapping. */
bool bale_opened_is_mappable(struct bale_mount *mount, struct bale_node *node);
/* The inode changed now: moves the ctime of an open file. */
void bale_opened_touch_ctime(struct bale_mount *mount, struct bale_node *node);
/* Whether it has a link left; without one nothing need be kept at the end. */
void bale_opened_set_unlinked(struct bale_mount *mount, struct bale_node *node, bool unlinked);
/* ---- capability.c: writing a container takes security.capability away from the inode ---- */

/* security.capability was set (value) or is gone (NULL). Writing a container takes it away, and
 * unless the caller wrote it is put back at the close. */
void bale_capability_set(struct bale_mount *mount, struct bale_node *node, const void *value,
                         size_t size);
/* While the backing inode may lack it: its length, and as much of it as fits; 0: ask the backing
 * inode. */
#define BALE_CAPABILITY_MAX 64
size_t bale_capability_get(struct bale_mount *mount, struct bale_node *node,
                           char value[BALE_CAPABILITY_MAX]);

/* Reads what the inode has before a write of ours that the caller knows nothing of; puts it back
 * after that. The second is done under the lock, so that who takes it away for good (first here,
 * then from the inode) does not find it put back. path: of the inode. */
void bale_capability_save(struct bale_opened *opened, const char *path);
void bale_capability_restore(struct bale_opened *opened, const char *path);

#endif
