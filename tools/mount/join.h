/* One mount for several tasks of a node: the first task mounts, the last one unmounts. Tasks are
 * counted by objects that the kernel releases when a task is killed: a lock, and the writing end of
 * the mount's lifeline (fs/daemon/daemon.h), a fifo. Both are files in a directory of the user, in
 * $XDG_RUNTIME_DIR if that is the user's own, else in /tmp. */
#ifndef BALE_TOOLS_MOUNT_JOIN_H
#define BALE_TOOLS_MOUNT_JOIN_H

#include <stdbool.h>

#include "tools/mount/signals.h"

/* The descriptors are -1 if not open; all are close-on-exec. */
struct bale_join {
    int directory; /* where the files are */
    int gate;  /* locked by a task that begins or ends; the file contains the daemon's process id */
    int users; /* locked shared by every task */
    int reader;      /* reading end of the lifeline, for the daemon; only in the task that mounts */
    int lifeline;    /* writing end; a task keeps it open */
    char where[512]; /* the path of the directory */
    char name[24];   /* of the files, without their suffixes */
};

/* Prepares a lifeline for this task alone, a pipe; this task is always the first and the last. */
int bale_join_alone(struct bale_join *join);

/* Joins the mount of store at mnt, both absolute. *first: nobody has mounted it, and the gate stays
 * locked until bale_join_mounted; otherwise *pid is its daemon. Waits while other tasks begin or
 * end. 0, or a negative bale_err after a message; BALE_E_CANCELLED if signals->end was set. */
int bale_join_begin(struct bale_join *join, const char *store, const char *mnt,
                    struct bale_signals *signals, bool *first, int *pid);

/* The store is mounted: lets the other tasks join. */
void bale_join_mounted(struct bale_join *join, int pid);

/* Leaves the mount. True: this was the last task, which must unmount; the gate stays locked until
 * bale_join_close. */
bool bale_join_leave(struct bale_join *join);

/* Before bale_join_close. Whether the last task of the same session said the same of the same
 * mount, a short time ago; notes that it is said now. */
bool bale_join_said(struct bale_join *join, const char *text);

void bale_join_close(struct bale_join *join); /* also call it after a failure */

/* For a child that must not count as a task. */
void bale_join_forget(struct bale_join *join);

#endif
