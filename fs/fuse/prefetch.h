/* Getting the heads of containers from the disk side by side: listing a directory with attributes
 * reads one small piece of each. */
#ifndef BALE_FS_FUSE_PREFETCH_H
#define BALE_FS_FUSE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* struct linux_dirent64, as getdents64 gives it. */
struct bale_dirent {
    uint64_t ino;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Asks the kernel for the heads of all containers among length bytes of entries of the directory
 * fd. Does nothing if the first one is in memory: then the others will be, too, or soon. */
void bale_prefetch_heads(int fd, const char *entries, size_t length);

#endif
