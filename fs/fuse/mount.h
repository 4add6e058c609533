/* A mount at work: what the operations of fs/fuse share.
 *
 * Handlers run in the session's threads. They make system calls on the backing store, but never
 * wait for the file layer: what may wait goes on in a callback, and replies from there. Results
 * are 0 or a positive errno. */
#ifndef BALE_FS_FUSE_MOUNT_H
#define BALE_FS_FUSE_MOUNT_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/cache/file.h"
#include "fs/cache/volume.h"
#include "fs/inode/node.h"
#include "fs/store/store.h"

/* The only writer is here and the kernel hears of every change, so that it may believe what it
 * knows for long. */
#define BALE_CACHE_SECONDS 3600.0
#define BALE_ABSENT_SECONDS 10.0

struct bale_ctimes;
struct bale_interrupts;
struct bale_freezer;
struct bale_session;
struct bale_seek_op;

struct bale_mount {
    struct bale_store *store;
    struct bale_volume *volume;
    struct bale_nodes *nodes;
    struct bale_container_attr defaults; /* of empty files */
    struct fuse_session *session;
    uid_t owner;              /* who runs this */
    bool as_root;             /* acts for everybody */
    bool keep_out_of_reserve; /* containers are written as nobody */
    bool modes_in_container;  /* permissions of regular files are in their containers */
    bool backing_acls;        /* the store keeps POSIX ACLs */
    bool dont_mask;           /* new objects get the caller's umask from us, not from the kernel */
    bool read_only;
    bool direct;
    struct bale_ctimes *ctimes;
    struct bale_interrupts *interrupts;
    struct bale_freezer *freezer;
    struct bale_session *receiver;

    pthread_mutex_t opened_lock; /* opened.h; may be held while taking the nodes' lock */
    struct bale_opened *opened;
    unsigned closing;           /* of them */
    struct bale_seek_op *seeks; /* seek.c: the first is under way */
    pthread_cond_t closed;
};

/* What libfuse does not pass on of the request that this thread handles. */
struct bale_request_info {
    uint64_t unique;
    bool kill_suidgid;  /* write, open and truncate: the caller may not keep suid and sgid */
    bool acl_kill_sgid; /* setxattr of an ACL: likewise sgid */
};
extern _Thread_local struct bale_request_info bale_current_request;

static inline struct bale_mount *bale_mount_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

static inline struct bale_node *bale_node_of(struct bale_mount *mount, fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? bale_nodes_root(mount->nodes) : (struct bale_node *)(uintptr_t)ino;
}

static inline fuse_ino_t bale_ino_of(struct bale_mount *mount, struct bale_node *node)
{
    return node == bale_nodes_root(mount->nodes) ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)node;
}

static inline bool bale_node_is_regular(const struct bale_node *node)
{
    return S_ISREG(node->mode);
}

/* struct bale_node.marks */
enum {
    BALE_MARK_UNCERTAIN = 1, /* opening it means verifying it: not in a handler */
    BALE_MARK_BROKEN = 2,    /* the container cannot be opened; shown as the backing store has it */
    BALE_MARK_REPORTED = 4,  /* there was a log line about that */
    BALE_MARK_CAPABILITY = 8,   /* security.capability was set here */
    BALE_MARK_NO_SETTINGS = 16, /* a directory that is known to have no settings */
};

/* ".balefs" at the top is not there for anybody. */
bool bale_name_is_hidden(struct bale_mount *mount, struct bale_node *dir, const char *name);

/* "/proc/self/fd/N", through which calls reach the inode of an O_PATH descriptor. */
struct bale_proc_path {
    char text[32];
};
struct bale_proc_path bale_proc_path(int fd);

/* ---- attr.c ---- */

/* The attributes a node shows. fd: held, of the node; backing: what stat says of it, if that was
 * just asked, or NULL. timeout (may be NULL): how long the kernel may believe them. EAGAIN: the
 * file must be opened first. */
int bale_attr_get(struct bale_mount *mount, struct bale_node *node, int fd,
                  const struct stat *backing, struct stat *st, double *timeout);
/* The container's attributes alone, of a regular file; EAGAIN as above. */
int bale_attr_container(struct bale_mount *mount, struct bale_node *node, int fd,
                        struct bale_container_attr *attr);
/* The permissions as they are now, whoever changed them. As bale_attr_get. */
int bale_mode_get(struct bale_mount *mount, struct bale_node *node, int fd, mode_t *mode);
/* suid and sgid as they are after a write by somebody who may not keep them. */
mode_t bale_mode_without_suid(mode_t mode);

/* ---- setattr.c ---- */

/* Gives a node new permissions, as chmod does; fd is held until done. file: the open file of a
 * regular node, needed if modes are held, else may be NULL. done may come before the return. */
void bale_mode_change(struct bale_mount *mount, struct bale_node *node, int fd,
                      struct bale_file *file, mode_t mode, bale_file_done *done, void *arg);

/* ---- write.c ---- */

/* Before a change of data that this thread's request makes: takes away what the caller may not
 * keep. The file is open. */
void bale_mode_kill_suidgid(struct bale_mount *mount, struct bale_node *node);

/* ---- names.c ---- */

/* What a name refers to, before the name is taken away. */
struct bale_named_node {
    uint64_t ino;
    struct bale_node *node; /* referenced and held; NULL: it is not known */
    int fd;
};
int bale_named_node_pin(struct bale_mount *mount, int dir_fd, const char *name,
                        struct bale_named_node *victim);
/* The name is gone. */
void bale_named_node_removed(struct bale_mount *mount, struct bale_named_node *victim,
                             struct bale_node *dir, const char *name);
void bale_named_node_unpin(struct bale_mount *mount, struct bale_named_node *victim);
/* All of these, and unlinkat. */
int bale_name_remove(struct bale_mount *mount, struct bale_node *dir, const char *name, int flags);

/* ---- lookup.c ---- */

/* Replies with the entry of a node. Takes over the caller's hold on it. */
void bale_entry_reply(fuse_req_t req, struct bale_node *node, int fd, const struct stat *backing);
/* The reply to who wanted something made: err, or the entry of what was. */
void bale_entry_reply_new(fuse_req_t req, int err, struct bale_node *dir, const char *name);

/* ---- open.c ---- */

/* How an open file is cached, into a reply. */
void bale_open_flags(struct bale_mount *mount, struct fuse_file_info *fi);

/* ---- caller.c ---- */

/* New objects get the caller's ids and umask: between enter and leave, in this thread.
 * errno survives leave. */
void bale_caller_enter(fuse_req_t req);
void bale_caller_leave(fuse_req_t req);
/* The mode to make something with: sgid goes where the caller's groups forbid it. */
mode_t bale_caller_mode(fuse_req_t req, int dir_fd, mode_t mode);
/* A thread of the session begins: its umask becomes its own. False: it cannot. */
bool bale_caller_own_umask(void);
/* Between, this thread and those it begins are nobody's for the backing store, with all
 * capabilities: what ext4 keeps in reserve for root is then not for what we write. */
void bale_caller_as_nobody(bool begins);
/* Gives up the capabilities that are not needed, CAP_SYS_RESOURCE first: quotas and reserves
 * hold for us. */
void bale_caller_drop_capabilities(void);

/* ---- ctime.c: what was shown as ctime before a container was written later, for a while ---- */

/* Counted in memory, which may be gone when it is destroyed. */
int bale_ctimes_create(struct bale_memory *memory, struct bale_ctimes **ctimes);
void bale_ctimes_destroy(struct bale_ctimes *ctimes);
void bale_ctimes_put(struct bale_ctimes *ctimes, uint64_t ino, const struct timespec *shown,
                     const struct timespec *backing);
/* Replaces *ctime, which the backing inode has now, by what was shown. */
void bale_ctimes_get(struct bale_ctimes *ctimes, uint64_t ino, struct timespec *ctime);

/* ---- interrupt.c: writes that wait can be interrupted ---- */

struct bale_interruptible {
    uint64_t unique;
    void (*ref)(struct bale_interruptible *what); /* called under a lock */
    void (*interrupt)(
        struct bale_interruptible *what); /* then this, without; and drops the reference */
    struct bale_interruptible *next;
};
int bale_interrupts_create(struct bale_interrupts **interrupts);
void bale_interrupts_destroy(struct bale_interrupts *interrupts);
/* False: the interrupt came before. */
bool bale_interrupts_add(struct bale_interrupts *interrupts, struct bale_interruptible *what);
void bale_interrupts_remove(struct bale_interrupts *interrupts, struct bale_interruptible *what);
void bale_interrupts_deliver(struct bale_interrupts *interrupts, uint64_t unique);

#endif
