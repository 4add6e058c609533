/* Known files and directories of the store: the inode table.
 *
 * A node stands for one inode of the backing file system, whichever of its names it was found by.
 * It lives while the kernel knows it (lookups), while somebody here refers to it (references,
 * holds) and while a known node lies below it. Descriptors (O_PATH) are kept for as many nodes as
 * the budget allows; the others are opened again by name, from the nearest ancestor that has one,
 * and must then still be the same inode (number and time of birth). A file with several links
 * keeps some more of the names it was found by, and falls back on one of them when its name goes
 * away. A node without a known name keeps its descriptor until a lookup teaches it one.
 *
 * Functions that can fail return 0 or a positive errno: what the backing file system says goes
 * to the caller unchanged. Any thread; names in one directory are changed and looked up under
 * the kernel's lock of that directory, which the caller relies on. */
#ifndef BALE_FS_INODE_NODE_H
#define BALE_FS_INODE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "fs/base/memory.h"

struct bale_nodes;
struct bale_node_link;
struct bale_opened;

/* About 100 bytes; a million of them is usual. */
struct bale_node {
    uint64_t ino;
    int64_t btime; /* nanoseconds; 0: the file system does not tell */
    /* The owner of the table uses these two as it likes; opened is NULL when the node is freed. */
    struct bale_opened *opened;
    _Atomic uint32_t mode; /* type, which never changes, and permissions */
    _Atomic uint32_t marks;

    /* The rest is the table's. */
    int fd;
    uint32_t users; /* of fd */
    uint32_t refs;
    uint32_t state;
    uint64_t lookups;
    struct bale_node *parent;
    char *name;                   /* in parent; NULL: none is known, and fd stays open */
    struct bale_node_link *links; /* more names, of a file that has several */
    struct bale_node *hash_next;
    struct bale_node *lru_next, *lru_before;
};

/* root_fd is duplicated. descriptors: how many to keep open. memory (may be NULL) counts the
 * nodes; it may be gone when the table is destroyed. */
int bale_nodes_create(int root_fd, struct bale_memory *memory, unsigned descriptors,
                      struct bale_nodes **nodes);
void bale_nodes_destroy(struct bale_nodes *nodes); /* NULL is fine */
struct bale_node *bale_nodes_root(struct bale_nodes *nodes);
uint64_t bale_nodes_count(struct bale_nodes *nodes);

/* For a caller that got EMFILE or ENFILE: closes some idle descriptors, or if there are none asks
 * full, which may wait until others are closed. False: there is no hope. */
bool bale_nodes_evict(struct bale_nodes *nodes);
void bale_nodes_on_full(struct bale_nodes *nodes, bool (*full)(void *arg), void *arg);

/* ---- Lifetime ---- */

void bale_node_ref(struct bale_nodes *nodes, struct bale_node *node);
void bale_node_unref(struct bale_nodes *nodes, struct bale_node *node); /* NULL is fine */
/* The kernel was told of the node once more; or forgot so many tellings. */
void bale_node_remember(struct bale_nodes *nodes, struct bale_node *node);
void bale_node_forget(struct bale_nodes *nodes, struct bale_node *node, uint64_t lookups);

/* The node's descriptor, O_PATH, valid until release. */
int bale_node_pin(struct bale_nodes *nodes, struct bale_node *node, int *fd);
void bale_node_unpin(struct bale_nodes *nodes, struct bale_node *node);

/* ---- Finding ---- */

/* Looks name up in dir. *node is held, its descriptor in *fd, its attributes in *st. EXDEV: it
 * is on another file system. */
int bale_node_lookup(struct bale_nodes *nodes, struct bale_node *dir, const char *name,
                     struct bale_node **node, int *fd, struct stat *st);

/* The node of an inode just made, which fd is open for. keep: fd is O_PATH and becomes the
 * node's own (also on failure). dir and name are NULL for one without a name, which needs keep.
 * *node is referenced. */
int bale_node_add(struct bale_nodes *nodes, struct bale_node *dir, const char *name, int fd,
                  bool keep, struct bale_node **node, struct stat *st);

/* The node of an inode number, referenced, or NULL. */
struct bale_node *bale_node_find(struct bale_nodes *nodes, uint64_t ino);

/* ---- Names ---- */

/* Around a rename and what is told of it below, so that nobody walks by a name that is moving. */
void bale_nodes_rename_begin(struct bale_nodes *nodes);
void bale_nodes_rename_end(struct bale_nodes *nodes);
/* Each tells of a change that was made on the backing file system; nothing happens if the node
 * is not known by that name. The node is held by the caller for unnamed, so that its descriptor
 * stays; until bale_node_verify_name has looked whether the name it falls back on is its own, it stays
 * after that too. */
void bale_node_renamed(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *from,
                       const char *from_name, struct bale_node *to, const char *to_name);
void bale_node_unlinked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                        const char *name);
void bale_node_linked(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                      const char *name);
/* After unnamed, outside of a rename. */
void bale_node_verify_name(struct bale_nodes *nodes, struct bale_node *node);
/* The last link is gone: the inode number may soon be another file's. */
void bale_node_mark_dead(struct bale_nodes *nodes, struct bale_node *node);

/* The directory, referenced, and the name (to be freed) the node is known by. ESTALE: none. */
int bale_node_locate(struct bale_nodes *nodes, struct bale_node *node, struct bale_node **dir,
                     char **name);
/* The path from the root, for messages; shortened to fit, never empty. */
void bale_node_path(struct bale_nodes *nodes, struct bale_node *node, char *path, size_t size);

/* statx of what fd is, as a struct stat, and its time of birth. */
int bale_stat_fd(int fd, struct stat *st, int64_t *btime);

#endif
