/* The inode table: the known files and directories of the store.
 *
 * A node stands for one inode of the backing file system, whichever of its names it was found by.
 * It lives while the kernel knows it (lookups), while somebody here uses it (references, pins of
 * its descriptor) and while a known node lies below it. As many nodes as the budget allows have an
 * open descriptor (O_PATH). Another node is opened again by name when it is pinned, from its
 * nearest ancestor that has a descriptor, and must then still be the same inode (number and time of
 * birth). Where the file system allows it (handle.h), a node that was found by its number is opened
 * by that. A file with several links keeps some of the other names that it was found by, and falls
 * back on one of them when its name is removed. A node without a known name keeps its descriptor
 * until a lookup finds a name.
 *
 * Functions that can fail return 0 or a positive errno: errors of the backing file system go to the
 * caller unchanged. Any thread. The caller relies on the kernel, which locks a directory while it
 * changes or looks up names in it. */
#ifndef BALE_FS_INODE_NODE_H
#define BALE_FS_INODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/base/memory.h"
#include "fs/inode/handle.h"

struct bale_nodes;
struct bale_node_link;
struct bale_opened;

/* About 100 bytes, because there may be a million of them. */
struct bale_node {
    uint64_t ino;
    uint64_t number; /* by which the kernel knows it: bale_node_of_number */
    int64_t btime;   /* of birth, in nanoseconds; 0: the file system has none, or changes it */
    /* For the owner of the table; opened must be NULL again when the node is freed. */
    struct bale_opened *opened;
    _Atomic uint32_t mode; /* type, which never changes, and permissions */
    _Atomic uint32_t marks;
    uint32_t unsynced;      /* fs/fuse/unsynced.c's; 0 when the node is freed */
    _Atomic uint32_t shown; /* fs/fuse/follow.c's */
    uint32_t generation;    /* distinguishes it from others that have had its number */

    /* The table's, guarded by its lock. */
    int fd;
    uint32_t pins; /* of fd: it stays open while there are any */
    uint32_t refs;
    uint32_t state;
    uint64_t lookups;
    struct bale_node *parent;
    char *name;                   /* in parent; NULL: none is known, so fd stays open */
    struct bale_node_link *links; /* other names of a file with several */
    struct bale_node *hash_next;
    struct bale_node *lru_next, *lru_before;
};

/* Duplicates root_fd. descriptors: how many to keep open. memory (may be NULL) counts the nodes; it
 * may be destroyed before the table. */
int bale_nodes_create(int root_fd, struct bale_memory *memory, unsigned descriptors,
                      struct bale_nodes **nodes);
/* Before the first lookup: from now on the numbers and generations of nodes are the same whenever
 * they are found, under this key, and a node can be found by its number alone. False: the store's
 * file system does not allow that, or this process may not. */
bool bale_nodes_use_handles(struct bale_nodes *nodes, const uint8_t key[BALE_HANDLE_KEY]);
void bale_nodes_destroy(struct bale_nodes *nodes); /* NULL is fine */
struct bale_node *bale_nodes_root(struct bale_nodes *nodes);
uint64_t bale_nodes_count(struct bale_nodes *nodes);

/* For a caller that got EMFILE or ENFILE: closes some idle descriptors; if there are none calls
 * full, which may wait until other descriptors are closed. False: no descriptor became free. full
 * runs without the table's lock, but may run inside a pin. */
bool bale_nodes_evict(struct bale_nodes *nodes);
void bale_nodes_on_full(struct bale_nodes *nodes, bool (*full)(void *arg), void *arg);
/* Before the first lookup: gone is called whenever the table has closed its descriptor of a removed
 * file, which may have kept the file's blocks. It runs without the table's lock. */
void bale_nodes_on_gone(struct bale_nodes *nodes, void (*gone)(void *arg), void *arg);
/* From here on the table does not call gone, and counts nothing in the memory: both may be
 * destroyed. One thread uses the table. NULL is fine. */
void bale_nodes_outlive_volume(struct bale_nodes *nodes);
/* Before the first lookup: others change names in the store and report nothing. The name by which a
 * node was found last is then the one that it has. */
void bale_nodes_set_beside(struct bale_nodes *nodes);

/* ---- Lifetime ---- */

void bale_node_ref(struct bale_nodes *nodes, struct bale_node *node);
void bale_node_unref(struct bale_nodes *nodes, struct bale_node *node); /* NULL is fine */
/* The kernel got the node in one more reply; or forgot the node that many times. */
void bale_node_remember(struct bale_nodes *nodes, struct bale_node *node);
void bale_node_forget(struct bale_nodes *nodes, struct bale_node *node, uint64_t lookups);

/* Gets the node's descriptor (O_PATH), opening it if necessary, and pins it: it stays open until
 * bale_node_unpin. */
int bale_node_pin(struct bale_nodes *nodes, struct bale_node *node, int *fd);
void bale_node_unpin(struct bale_nodes *nodes, struct bale_node *node);
/* Pins the node's descriptor if it has one. */
bool bale_node_pin_open(struct bale_nodes *nodes, struct bale_node *node, int *fd);
/* Whether fd refers to the node's inode; *st: its attributes. */
bool bale_node_is_at(const struct bale_nodes *nodes, const struct bale_node *node, int fd,
                     struct stat *st);

/* ---- Finding ---- */

/* Looks name up in dir. Sets *node, pinned, its descriptor *fd, and its attributes *st. EXDEV: it
 * is on another file system. */
int bale_node_lookup(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                     struct bale_node **node, int *fd, struct stat *st);

/* The same for a regular file that a listing of dir shows under that name, with inode number ino,
 * and that fd is open on; *node is referenced, and needs no descriptor of its own. ESTALE: it is
 * not that file; look it up. */
int bale_node_listed(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                     uint64_t ino, int fd, struct bale_node **node, struct stat *st);

/* Adds the node of an inode that was just made and that fd refers to; *node is referenced. keep: fd
 * is O_PATH and the table owns it from then on, also on failure. For an inode without a name dir
 * and name are NULL, and keep is true. */
int bale_node_add(struct bale_nodes *nodes, struct bale_node *dir, const char *name, int fd,
                  bool keep, struct bale_node **node, struct stat *st);

/* The node with an inode number, referenced, or NULL. */
struct bale_node *bale_node_find(struct bale_nodes *nodes, uint64_t ino);

/* Whether the kernel has the node with an inode number: it got it in a reply, and has not forgotten
 * it. May be old when it is returned. */
bool bale_node_is_remembered(struct bale_nodes *nodes, uint64_t ino);

/* As bale_node_lookup, by a number that was given out: by this mount or, if handles are used, by an
 * earlier one. ESTALE: there is no such file any more. Unlike bale_node_of_number, nothing else
 * need keep the node. */
int bale_node_by_number(struct bale_nodes *nodes, uint64_t number, struct bale_node **node, int *fd,
                        struct stat *st);
/* As bale_node_lookup, for the directory that dir lies in; that of the root is the root. */
int bale_node_above(struct bale_nodes *nodes, struct bale_node *dir, struct bale_node **node,
                    int *fd, struct stat *st);

/* The node that has this number; NULL: none. Numbers are greater than 1; without handles, one is
 * repeated only after 2^32 nodes. The result is not referenced: it stays as long as the caller
 * handles a request that names the node, because the kernel does not forget the node before. */
struct bale_node *bale_node_of_number(struct bale_nodes *nodes, uint64_t number);
/* The same, referenced, also while other threads may free it. NULL: there is none. */
struct bale_node *bale_node_ref_number(struct bale_nodes *nodes, uint64_t number);

/* ---- Names ---- */

/* Around a rename and the calls below that report it: a pin that does not find a node by its name
 * waits for the end, and looks again. Any number of threads may be within. */
void bale_nodes_rename_begin(struct bale_nodes *nodes);
void bale_nodes_rename_end(struct bale_nodes *nodes);
/* Each reports a change that was made on the backing file system; nothing happens if the node is
 * not known by that name. For unlinked the caller has pinned the node. If the node then falls back
 * on another name, its descriptor stays open until bale_node_verify_name has checked that name. */
void bale_node_renamed(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *from,
                       const char *from_name, struct bale_node *to, const char *to_name);
void bale_node_unlinked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                        const char *name);
void bale_node_linked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                      const char *name);
/* Call it after bale_node_unlinked, outside of a rename. */
void bale_node_verify_name(struct bale_nodes *nodes, struct bale_node *node);
/* The last link was removed: another file may soon get the inode number. */
void bale_node_mark_dead(struct bale_nodes *nodes, struct bale_node *node);
/* fd: of the node's file, which was just opened for writing. On overlayfs that may have made a copy
 * with another inode number; then the node is marked as dead, and the result is ESTALE: the kernel
 * looks the name up again. */
int bale_node_check_copied(struct bale_nodes *nodes, struct bale_node *node, int fd);

/* Gets the directory, referenced, and the name of the node; the caller frees the name. ESTALE: none
 * is known. */
int bale_node_locate(struct bale_nodes *nodes, struct bale_node *node, struct bale_node **dir,
                     char **name);
/* The path from the root, for messages; its beginning is cut off if it is too long. Never empty. */
void bale_node_path(struct bale_nodes *nodes, struct bale_node *node, char *path, size_t size);

/* statx of fd, as a struct stat, and its time of birth. */
int bale_stat_fd(int fd, struct stat *st, int64_t *btime);

#endif
