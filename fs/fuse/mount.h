/* The mount that all requests of this room share. This header is the bottom of the room; above it,
 * each source calls only sources below it:
 *
 *   request, freeze, interrupt, ctime, caller, backing    what one request needs
 *   known                                                 attributes that the kernel asks for
 *   drop                                                  what the kernel must not cache any more
 *   shares                                                what users have a share of
 *   sync_tree, sync_node, unsynced                        what a sync must reach one by one
 *   capability, opened_file, opened_query, give, opened   the one bale_file of a node
 *   in_flight, with requests, effects, queued             what is being handled
 *   follow                                                commits of a writer elsewhere
 *   attr, mode                                            attributes and permissions
 *   lookup, listed, names                                 entries and names
 *   the handlers (ops.h)                                  one for each request
 *
 * Handlers run in the session's threads (fs/daemon/session.c). They make system calls on the
 * backing store, but never wait for the file layer: a call that may wait takes a callback, which
 * replies. Results are 0 or a positive errno, in variables called e; results of the rooms below,
 * negative bale_errs in variables called err, are converted where they come in. */
#ifndef BALE_FS_FUSE_MOUNT_H
#define BALE_FS_FUSE_MOUNT_H

#include <errno.h>
#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "fs/cache/file.h"
#include "fs/cache/volume.h"
#include "fs/inode/node.h"
#include "fs/store/store.h"

/* How long the kernel may believe attributes and names, and that a name is absent. Long, because
 * this mount is the only writer of the store and every change comes through the kernel. */
#define BALE_CACHE_SECONDS 3600.0
#define BALE_ABSENT_SECONDS 10.0
#define BALE_BESIDE_SECONDS 0.5 /* for both beside a writer */

struct bale_known;
struct bale_ctimes;
struct bale_drops;
struct bale_follower;
struct bale_freeze_limit;
struct bale_freezer;
struct bale_in_flight;
struct bale_interrupts;
struct bale_seek_op;
struct bale_shares;
struct bale_unsynced;

/* Made by fs/daemon/daemon.c before the first request. Members do not change after the kernel's
 * INIT request, except those under opened_lock. */
struct bale_mount {
    struct bale_store *store;
    struct bale_volume *volume;
    struct bale_nodes *nodes;
    struct bale_container_attr defaults; /* of empty files */
    struct fuse_session *session;        /* for notifications to the kernel */
    uid_t owner;                         /* the user that runs the daemon */
    bool as_root;                        /* the daemon is root and acts with the caller's ids */
    bool keep_out_of_reserve;            /* write containers as nobody: see bale_caller_as_nobody */
    bool modes_in_container;             /* containers keep the permissions of regular files */
    bool backing_acls;                   /* the store keeps POSIX ACLs */
    bool dont_mask; /* this process, not the kernel, applies the caller's umask */
    bool read_only;
    bool beside;        /* somebody else may write to the store: what it commits is followed */
    bool direct;        /* io=direct */
    bool hides_set_id;  /* regular files show no set-id bits and no capabilities */
    bool hides_devices; /* device nodes show no device */
    bool exports;       /* file handles last: the kernel may ask for nodes by their numbers */
    bool keeps_made;    /* nobody else can write to files that this mount has made */
    bool has_selinux;   /* the kernel asks for security.selinux */
    struct bale_known *known;
    struct bale_ctimes *ctimes;
    struct bale_interrupts *interrupts;
    struct bale_freezer *freezer;
    struct bale_freeze_limit *freeze_limit;
    struct bale_in_flight *in_flight;
    struct bale_drops *drops;
    struct bale_unsynced *unsynced;  /* NULL: syncfs() is believed */
    struct bale_follower *follower;  /* NULL: not beside */
    struct bale_shares *files;       /* descriptors of containers */
    struct bale_shares *directories; /* open directories that are kept open */
    struct bale_shares *ahead;       /* containers that listings open ahead (prefetch.h) */
    atomic_uint losing_links;        /* attr.c's: removals of one of several names that run */
    atomic_uint_fast64_t fewer_ns;   /* attr.c's: when the last of them ended */
    atomic_uint reads_expected;      /* give.c's: so many of the next opens are read */
    atomic_bool acls_follow;         /* an access ACL was asked for since the last opendir */

    /* Guards the members below, node->opened and struct bale_opened (opened.h). The locks of the
     * node table and of files may be taken while it is held. */
    pthread_mutex_t opened_lock;
    struct bale_opened *opened; /* all of them */
    unsigned closing;           /* those in BALE_OPENED_CLOSING */
    unsigned after_close;       /* uses that waited for a close, and whose call has not ended */
    pthread_cond_t closed;      /* signalled when one has been closed, or after_close becomes 0 */
    pthread_cond_t restored;    /* signalled when restoring of one has become false */
    bool share_reported;        /* the log says that a user has his share of mount->files */
    struct bale_seek_op *seeks; /* lseek requests that wait; a thread handles the first (seek.c) */
};

static inline double bale_mount_cache_seconds(const struct bale_mount *mount, double seconds)
{
    return mount->beside ? BALE_BESIDE_SECONDS : seconds;
}

static inline struct bale_mount *bale_mount_of(fuse_req_t req)
{
    return fuse_req_userdata(req);
}

/* For the figure of errors: a request failed for lack of space, or of the backing file system. */
static inline void bale_mount_count_error(struct bale_mount *mount, int e)
{
    if (e == ENOSPC || e == EDQUOT || e == EIO)
        bale_volume_count_error(mount->volume);
}

/* The node of a request. Never NULL for the number in a request's header, because bale_session
 * checks that one, but for a lookup of "."; NULL for a number in its arguments if no node has
 * it. */
static inline struct bale_node *bale_node_of(struct bale_mount *mount, fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? bale_nodes_root(mount->nodes)
                               : bale_node_of_number(mount->nodes, ino);
}

static inline fuse_ino_t bale_ino_of(struct bale_mount *mount, struct bale_node *node)
{
    return node == bale_nodes_root(mount->nodes) ? FUSE_ROOT_ID : (fuse_ino_t)node->number;
}

/* The second half of the kernel's file handles; the root's must be 0. */
static inline uint64_t bale_generation_of(struct bale_mount *mount, struct bale_node *node)
{
    return node == bale_nodes_root(mount->nodes) ? 0 : node->generation;
}

static inline bool bale_node_is_regular(const struct bale_node *node)
{
    return S_ISREG(node->mode);
}

/* The store's own directory ".balefs" is not shown at the top of the mount. */
static inline bool bale_name_is_hidden(struct bale_mount *mount, struct bale_node *dir,
                                       const char *name)
{
    return dir == bale_nodes_root(mount->nodes) && strcmp(name, BALE_STORE_DIR) == 0;
}

/* The descriptor of the inode that has the node's owner, mode and ACLs. fd: the node's own. Call
 * bale_permissions_changed after each change of them. */
static inline int bale_permissions_fd(struct bale_mount *mount, struct bale_node *node, int fd)
{
    int top = node == bale_nodes_root(mount->nodes) ? bale_store_top_fd(mount->store) : -1;

    return top < 0 ? fd : top;
}

/* 0 or a positive errno. */
static inline int bale_permissions_changed(struct bale_mount *mount, struct bale_node *node)
{
    return node == bale_nodes_root(mount->nodes) ? bale_store_top_inherit(mount->store) : 0;
}

/* struct bale_node.marks */
enum {
    BALE_MARK_UNCERTAIN = 1,    /* opening the container means verifying it: not in a handler */
    BALE_MARK_BROKEN = 2,       /* the container cannot be opened: show the backing attributes */
    BALE_MARK_REPORTED = 4,     /* the log has a line about the broken container */
    BALE_MARK_CAPABILITY = 8,   /* security.capability was set through this mount */
    BALE_MARK_NO_SETTINGS = 16, /* the directory has no settings */
    BALE_MARK_MADE = 32,        /* this mount has made the file */
    BALE_MARK_HELD = 64,        /* the newest root serves although it could not be verified */
    BALE_MARK_INCAPABLE = 128,  /* it has no security.capability */
    /* known.c's: there is none, or its value is kept. */
    BALE_MARK_NO_ACCESS_ACL = 256,
    BALE_MARK_NO_DEFAULT_ACL = 512,
    BALE_MARK_ACCESS_ACL_KEPT = 1024,
    BALE_MARK_DEFAULT_ACL_KEPT = 2048,
    BALE_MARK_MOVED = 4096,   /* unsynced.c's: to be synced with all that is below it */
    BALE_MARK_FEWER = 8192,   /* attr.c's: it has lost one of several names */
    BALE_MARK_OPENED = 16384, /* give.c's: it was opened before */
};

#endif
