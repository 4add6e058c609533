/* The lock of the store's directory itself, which outlives whatever is done to .balefs. Only for
 * fs/store and its tests. */
#ifndef BALE_FS_STORE_LOCK_DIRECTORY_H
#define BALE_FS_STORE_LOCK_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "fs/store/file.h"

/* Who has it. */
struct bale_lock_other {
    bool writer;
    pid_t pid;     /* 0: not known */
    bool stranger; /* a process of a user who cannot write to the store: it does not count */
};

/* Locks the directory root, for a writer alone or shared with other readers. All processes of this
 * kernel see it, in any namespace; those of other hosts may not. 0: *fd has the lock; or is -1,
 * because the file system has no such lock, the directory may not be read, or only strangers have
 * it. BALE_E_BUSY: *other has it. */
int bale_lock_take_directory(int root, bool write, int *fd, struct bale_lock_other *other);

/* BALE_E_BUSY, and why: the store path is mounted by other, whom the text of the lock in the
 * directory dir names (-1: there is none). */
int bale_lock_report_taken(const char *path, int dir, const struct bale_lock_other *other,
                           struct bale_reason *why);

#endif
