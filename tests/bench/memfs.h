/* A file system that does nothing but keep bytes in memory: the ceiling of the FUSE transport.
 * What is negotiated with the kernel is what balefs negotiates (fs/daemon/negotiate.c), except
 * POSIX ACLs.
 *
 * Locking: `memfs_tree` guards names, link counts and lookups; a node's lock its contents and
 * attributes. The tree's is taken first. */
#ifndef BALE_TESTS_BENCH_MEMFS_H
#define BALE_TESTS_BENCH_MEMFS_H

#include <fuse_lowlevel.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

static const double memfs_cache_seconds = 86400;

struct memfs_block {
    unsigned char *data;
    size_t capacity; /* what is beyond reads as zeros */
};

struct memfs_entry;

struct memfs_node {
    pthread_rwlock_t lock;
    struct stat attr;
    uint64_t lookups; /* by the kernel, and one for each file that is being made */
    struct memfs_block *blocks;
    size_t block_count;
    struct memfs_entry *first, *last; /* of a directory, in the order they were made */
    uint64_t changes;                 /* of its names */
    char *target;                     /* of a symbolic link */
};

extern pthread_rwlock_t memfs_tree;
extern bool memfs_direct;

struct memfs_node *memfs_node_get(fuse_ino_t ino);
fuse_ino_t memfs_node_ino(const struct memfs_node *node);

/* NULL: no memory. The attributes are the caller's to complete. */
struct memfs_node *memfs_node_create(mode_t mode);
void memfs_node_destroy(struct memfs_node *node);

/* One more name for nothing: makes a node, gives it a name and counts a lookup. 0 or an errno. */
int memfs_make(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t device,
               const char *target, struct fuse_entry_param *e);

void memfs_now(struct timespec *t);
/* ready: bytes to have touched before they are written to. False: no memory. */
bool memfs_data_begin(uint64_t ready);
void memfs_data_resize(struct memfs_node *node, off_t size); /* under the node's lock, to write */
void memfs_data_free(struct memfs_node *node);

/* Each fills in its operations. */
void memfs_names(struct fuse_lowlevel_ops *ops);
void memfs_inodes(struct fuse_lowlevel_ops *ops);
void memfs_data(struct fuse_lowlevel_ops *ops);

#endif
