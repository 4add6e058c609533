/* Names in directories: replies with the entry of a node (lookup.c), and the nodes that names
 * refer to (names.c). */
#ifndef BALE_FS_FUSE_NAMES_H
#define BALE_FS_FUSE_NAMES_H

#include "fs/fuse/mount.h"

/* ---- lookup.c ---- */

/* Replies with the node's entry, now or from another thread if the file must be opened first. Takes
 * over the caller's pin of the node. fd and backing as in bale_attr_get. */
void bale_entry_reply(fuse_req_t req, struct bale_node *node, int fd, const struct stat *backing);

/* Replies to a request that made name in dir: with the error e, or with the entry of the new
 * object. */
void bale_entry_reply_new(fuse_req_t req, int e, struct bale_node *dir, const char *name);

/* ---- names.c ---- */

/* The node of a name that a request is about to remove or move. */
struct bale_named_node {
    uint64_t ino;
    uint64_t links;         /* before */
    struct bale_node *node; /* referenced and pinned; NULL: the node table does not know it */
    int fd;                 /* while pinned */
    bool losing_link;       /* bale_attr_losing_link has been called */
};

/* Fills *named; ENOENT: there is no such name. Call unpin afterwards, also after an error. */
int bale_named_node_pin(struct bale_mount *mount, int dir_fd, const char *name,
                        struct bale_named_node *named);
/* The name is about to be removed from the backing store. */
void bale_named_node_removing(struct bale_mount *mount, struct bale_named_node *named);
/* The name has been removed from the backing store: tells the node table and the open file. */
void bale_named_node_removed(struct bale_mount *mount, struct bale_named_node *named,
                             struct bale_node *dir, const char *name);
/* Not during a rename (bale_nodes_rename_begin). */
void bale_named_node_unpin(struct bale_mount *mount, struct bale_named_node *named);

/* Removes a name: unlinkat() with these flags, and all of the above. */
int bale_name_remove(struct bale_mount *mount, struct bale_node *dir, const char *name, int flags);

#endif
