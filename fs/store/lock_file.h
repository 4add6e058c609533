/* The files of a store's lock: making, opening and locking them. Only for fs/store. */
#ifndef BALE_FS_STORE_LOCK_FILE_H
#define BALE_FS_STORE_LOCK_FILE_H

#include <stdbool.h>

#define BALE_SECOND_LOCK "lock2"

/* Whether e, of flock, says that the file system has none. */
bool bale_flock_missing(int e);
/* flock without waiting for a holder. A process that only queries the holder has the lock for a
 * moment, so this tries for 0.2 s. -1: errno is set. */
int bale_flock(int fd, int operation);
/* Whether writers hold fd's lock, and not only readers. Call it after EWOULDBLOCK. */
bool bale_flock_by_writer(int fd);

/* Opens a file of .balefs; makes it first, unless flags are O_RDONLY. */
int bale_lock_open(int dir, const char *name, int flags, int *fd);
/* Replaces fd's contents by this process's text, durably: other hosts see it. */
int bale_lock_write_text(int fd);
/* Replaces them by a line feed: nobody has the lock, and a full disk has room for the next text. */
int bale_lock_clear(int fd);

/* Makes a new lock: a file with this process's text, locked first if flocked is set, then given the
 * name. BALE_E_BUSY: the name is taken, and replace is not set. */
int bale_lock_make(int dir, bool flocked, bool replace, int *fd);
/* For a lock that is a name: removes it, if its holder, read again, is gone, or is of the boot
 * takeover (may be NULL). BALE_E_BUSY: it is not. */
int bale_lock_move_stale(int dir, const char *takeover);

/* What the name in the directory dir stands for. */
enum bale_named {
    BALE_NAMED,        /* the file of fd */
    BALE_NAMED_NONE,   /* no file */
    BALE_NAMED_OTHER,  /* another file */
    BALE_NAMED_UNKNOWN /* the file system does not tell now */
};
/* Asks the server of a network file system. Changes nothing. */
enum bale_named bale_lock_named(int dir, const char *name, int fd);

/* Locks a second file, so that a lock that was removed lets no other writer in. *fd is the file, or
 * -1. 0; BALE_E_BUSY: another process has it, and *by_writer is set; or another error, with errno.
 * A file system without flock has no second lock: 0. */
int bale_lock_take_second(int dir, bool write, int *fd, bool *by_writer);

/* Whether there is nothing of that name. */
bool bale_lock_is_missing(int dir, const char *name);

/* Waits until name is a lock that somebody has, but no longer than a live holder needs to make it
 * again. */
void bale_lock_await(int dir, const char *name);
/* Before a writer takes the lock: if it seems free although a mount may still run, waits until a
 * holder whose lock was removed has made it again. */
void bale_lock_await_holder(int dir);

#endif
