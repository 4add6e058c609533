/* Reading ahead the heads of containers, and small ones whole, when a directory is listed with
 * attributes: each of those takes a small read, and the disk can serve them side by side. */
#ifndef BALE_FS_FUSE_PREFETCH_H
#define BALE_FS_FUSE_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

/* struct linux_dirent64, as getdents64 returns it. */
struct bale_dirent {
    uint64_t ino;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* Makes the kernel read the heads of all containers among length bytes of entries of the directory
 * fd. Does nothing if the first one is in memory: then the others are too, or will be soon. */
void bale_prefetch_heads(int fd, const char *entries, size_t length);

#endif
