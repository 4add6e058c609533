/* A set of inodes, so that a file with several names counts once. One thread. */
#ifndef BALE_TOOLS_COMMON_INODE_SET_H
#define BALE_TOOLS_COMMON_INODE_SET_H

#include <stddef.h>
#include <sys/stat.h>

struct bale_inode {
    dev_t dev;
    ino_t ino; /* 0: an empty slot */
};

/* A zeroed struct is an empty set. */
struct bale_inode_set {
    struct bale_inode *slots;
    size_t count, capacity; /* a power of two */
};

/* 1: it was added; 0: it was in the set; or a negative bale_err. */
int bale_inode_set_add(struct bale_inode_set *set, dev_t dev, ino_t ino);
void bale_inode_set_clear(struct bale_inode_set *set);

#endif
