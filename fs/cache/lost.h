/* Files that lost data because it could not be stored when they were closed. The end of the mount
 * reports those that are still there then. Any thread. */
#ifndef BALE_FS_CACHE_LOST_H
#define BALE_FS_CACHE_LOST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct bale_lost_files {
    pthread_mutex_t lock; /* guards the rest */
    void *by_inode;       /* struct lost_file, a tree of tsearch(3) */
    atomic_size_t count;  /* read without the lock */
    size_t unnamed;       /* more that there was no room to remember */
    int error;            /* of the first */
};

/* init: an empty list. destroy frees what add has allocated. */
void bale_lost_init(struct bale_lost_files *lost);
void bale_lost_destroy(struct bale_lost_files *lost);

/* err: why. name is copied. */
void bale_lost_add(struct bale_lost_files *lost, uint64_t inode, const char *name, int err);
/* The file was removed, or all that it had was given up: nobody misses anything. */
void bale_lost_forget(struct bale_lost_files *lost, uint64_t inode);
/* The error of the first, or BALE_OK: there are none. name gets one of them, or stays empty; *count
 * gets how many there are. */
int bale_lost_report(struct bale_lost_files *lost, char *name, size_t size, size_t *count);

#endif
