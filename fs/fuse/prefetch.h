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
#define BALE_AHEAD 16u
/* How many containers are read at a time. */
#define BALE_AHEAD_READ 64u

/* Of one request, in one thread. Nothing is open if the rest is zero. */
struct bale_ahead {
    struct bale_shares *shares; /* descriptors: of these the user takes one for each that is open */
    uid_t user;
    /* The entries that are open, in the order of the directory. */
    struct {
        const struct bale_dirent *entry;
        int fd;
    } open[BALE_AHEAD];
    unsigned first, count;
    enum { BALE_DISK_UNKNOWN, BALE_DISK_COLD, BALE_DISK_WARM } disk;
    unsigned being_read; /* so many of the next ones that are opened */
    /* One could not be opened, or the user has his share: the others are not tried. */
    bool ended;
};

/* Whether there is room for one more. */
bool bale_ahead_has_room(const struct bale_ahead *ahead);
/* Opens the container of an entry of the directory for reading, and has the kernel read its
 * beginning if the first one was not in memory. The entry stays where it is until it is taken. Does
 * nothing for what is not a regular file. */
void bale_ahead_open(struct bale_ahead *ahead, int directory, const struct bale_dirent *entry);
/* Whether the disk has to be waited for, and nothing is known to be read for the next entries. */
bool bale_ahead_wants_more(const struct bale_ahead *ahead);
/* Has the kernel read the beginnings of the containers that are opened next, up to BALE_AHEAD_READ
 * regular files, in the order of their inodes: mostly that of the disk, where a directory's own
 * order is none. Sorts the entries. */
void bale_ahead_read(struct bale_ahead *ahead, int directory, const struct bale_dirent **entries,
                     unsigned count);
/* The descriptor of an entry, the caller's from now on; -1: it is not open. Entries that were
 * opened are taken in their order. */
int bale_ahead_take(struct bale_ahead *ahead, const struct bale_dirent *entry);
/* Closes those that were not taken; being_read counts them again. */
void bale_ahead_end(struct bale_ahead *ahead);

#endif
