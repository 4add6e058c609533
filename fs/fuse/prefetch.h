/* Opening containers ahead when a directory is listed with attributes: the size of a file is in the
 * root of its container, which takes a small read. The disk can serve these side by side. */
#ifndef BALE_FS_FUSE_PREFETCH_H
#define BALE_FS_FUSE_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/fuse/shares.h"

/* struct linux_dirent64, as getdents64 returns it. */
struct bale_dirent {
    uint64_t ino;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* How many containers a listing has open at a time. While one is, nobody gets a write lease on
 * it. */
#define BALE_AHEAD 64u

/* Of one request, in one thread. Nothing is open if the rest is zero. */
struct bale_ahead {
    struct bale_shares *shares; /* descriptors: of these the user takes one for each that is open */
    uid_t user;
    struct bale_ahead_entry {
        const struct bale_dirent *dirent;
        int fd;            /* -1: it could not be opened */
    } entries[BALE_AHEAD]; /* in the order of the directory */
    unsigned next, count;  /* of entries: the one to be taken next; their number */
    /* One could not be opened, or the user has his share: the others are not tried. */
    bool ended;
};

/* Opens the containers of up to BALE_AHEAD entries of the directory for reading, all regular files,
 * and has the kernel read their beginnings if they are not in memory: in the order of their inodes,
 * mostly that of the disk, where a directory's own order is none. The entries stay where they are
 * until they are taken; all that were opened before are taken, or are closed now. */
void bale_ahead_open(struct bale_ahead *ahead, int directory, const struct bale_dirent **entries,
                     unsigned count);
/* The descriptor of an entry, the caller's from now on; -1: it is not open. Entries that were
 * opened are taken in their order. */
int bale_ahead_take(struct bale_ahead *ahead, const struct bale_dirent *entry);
/* Closes those that were not taken. */
void bale_ahead_end(struct bale_ahead *ahead);

#endif
