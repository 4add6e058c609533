#ifndef BALE_FS_BASE_SAME_INODE_H
#define BALE_FS_BASE_SAME_INODE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether both are of one file, as far as device and number tell: a number is used again once its
 * file is gone. */
static inline bool bale_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
