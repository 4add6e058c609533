/* What the sources of the inode table share. Calls go one way: table.c, find.c and name.c, walk.c,
 * node.c, links.c, number.c, handle.c.
 *
 * The table has no bound of its own: a node must stay as long as the kernel knows its number. The
 * kernel bounds it: for each node it has an inode and a name of about 1 KiB, charged to the cgroup
 * of the user that looked the name up, and when those are short it sends FORGET, upon which the
 * node, of about 200 bytes with its name, is freed. So the table takes at most a fifth of what the
 * kernel takes for the same files. It counts against the cap, of which the arena keeps a quarter
 * whatever is counted. */
#ifndef BALE_FS_INODE_INTERNAL_H
#define BALE_FS_INODE_INTERNAL_H

#include <pthread.h>

#include "fs/inode/handle.h"
#include "fs/inode/node.h"

#define BALE_MALLOC_OVERHEAD 16u
#define BALE_NODE_NAME_MAX 1024 /* the kernel's FUSE_NAME_MAX */

/* struct bale_node.state */
enum {
    BALE_NODE_ON_LRU = 1,
    BALE_NODE_DEAD = 2, /* its inode number may be another file's */
    BALE_NODE_UNVERIFIED =
        4,                 /* it fell back on this name: fd stays open until the name is verified */
    BALE_NODE_IN_SLOT = 8, /* its number is that of a slot */
    BALE_NODE_BY_NUMBER =
        16, /* it was found by its number: without a name it is opened again by that */
};

/* At most this many other names are kept. More are not needed: a name is looked up, and so becomes
 * known, before it is removed. */
#define BALE_NODE_LINKS 16

/* Another name of a node. */
struct bale_node_link {
    struct bale_node *dir; /* referenced */
    struct bale_node_link *next;
    char name[];
};

#define BALE_NODE_BLOCKS 22 /* of number.c: for 4 G nodes */

/* Nodes by number. A block stays where it is, so that a lookup needs no lock. */
struct bale_node_numbers {
    _Atomic(struct bale_node_slot *) blocks[BALE_NODE_BLOCKS];
    unsigned count; /* of blocks; guarded by the table's lock, like free */
    uint32_t free;  /* index plus 1 of the first free slot, or 0 */
};

/* lock is not held over close(), which may take long for the last link of a file. */
struct bale_nodes {
    pthread_mutex_t lock; /* guards everything here that changes, and the nodes */
    unsigned renaming;    /* renames under way */
    uint64_t renamed;     /* how many have ended */
    pthread_cond_t rename_ended;
    struct bale_memory *memory;
    uint64_t device; /* st_dev of the whole store */
    bool has_births; /* a file keeps its time of birth */
    bool beside;     /* bale_nodes_set_beside */
    struct bale_node *root;
    struct bale_node **table;
    size_t buckets, count;
    struct bale_node_numbers numbers;
    struct bale_handles *handles; /* NULL: all numbers are those of slots */
    uint32_t generation;          /* of nodes in slots: random */
    unsigned descriptors, budget;
    bool (*full)(void *arg);
    void *full_arg;
    void (*gone)(void *arg);
    void *gone_arg;
    struct bale_node *lru_first,
        *lru_last; /* idle descriptors that may be closed; first: most recently used */
};

/* All functions below run under nodes->lock, unless they say otherwise. */

/* Gives the node the number of a slot; false: no memory. Give it up before the node is freed. */
bool bale_node_number_take(struct bale_nodes *nodes, struct bale_node *node);
void bale_node_number_give_up(struct bale_nodes *nodes, struct bale_node *node);
/* The node in the slot with that number, or NULL. Without the lock. */
struct bale_node *bale_node_in_slot(struct bale_nodes *nodes, uint64_t number);
void bale_node_numbers_free(struct bale_node_numbers *numbers); /* without the lock */

struct bale_node *bale_node_at(struct bale_nodes *nodes, uint64_t ino);
/* The node with both, which may be dead; or NULL. */
struct bale_node *bale_node_numbered(struct bale_nodes *nodes, uint64_t ino, uint64_t number);
void bale_node_insert(struct bale_nodes *nodes, struct bale_node *node);
/* Sets the name, which the node then owns, and frees the old one. Returns the old directory, which
 * has lost a reference, for bale_nodes_unlock. */
struct bale_node *bale_node_set_name(struct bale_nodes *nodes, struct bale_node *node,
                                     struct bale_node *dir, char *name);
/* Adds a name beside the first, unless there are too many. */
void bale_node_add_link(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                        const char *name);
/* False: there is no such name. */
bool bale_node_remove_link(struct bale_nodes *nodes, struct bale_node *node, struct bale_node *dir,
                           const char *name);
/* Frees a link that is in no list. */
void bale_node_free_link(struct bale_nodes *nodes, struct bale_node_link *link);
/* Frees all links. The references to their directories are gone already. */
void bale_node_free_links(struct bale_nodes *nodes, struct bale_node *node);

static inline void bale_node_count_memory(struct bale_nodes *nodes, int64_t bytes)
{
    if (nodes->memory)
        bale_memory_count(nodes->memory, bytes);
}

bool bale_node_is_named(const struct bale_node *node, const struct bale_node *dir,
                        const char *name);
/* Pins the descriptor, which is open. */
void bale_node_add_pin(struct bale_nodes *nodes, struct bale_node *node);
/* Makes fd the node's descriptor. */
void bale_node_adopt(struct bale_nodes *nodes, struct bale_node *node, int fd);

/* Frees a node that is in no table, with its names, and closes its descriptor. Without the lock. */
void bale_node_free(struct bale_nodes *nodes, struct bale_node *node);

/* Ends a locked section: unlocks, then closes descriptors over the budget, and frees the node and
 * the directories above it if nothing uses them any more. node may be NULL. */
void bale_nodes_unlock(struct bale_nodes *nodes, struct bale_node *node);

/* walk.c, without the lock: opens name in the directory dir_fd with O_PATH. Closes idle descriptors
 * if there are too many. 0 or an errno. */
int bale_node_open_at(struct bale_nodes *nodes, int dir_fd, const char *name, int *fd);
/* The same for what has a number of handle.c. */
int bale_node_open_number(struct bale_nodes *nodes, uint64_t number, int *fd);

#endif
