/* One mount for several tasks of a node: the first makes it, the last ends it. Who takes part is
 * counted by what the kernel takes back from a killed task: a lock, and the writing end of the
 * mount's lifeline (fs/daemon/daemon.h), a fifo. They lie in a directory of the user's,
 * $XDG_RUNTIME_DIR or /tmp. */
#ifndef BALE_TOOLS_MOUNT_JOIN_H
#define BALE_TOOLS_MOUNT_JOIN_H

#include <stdbool.h>

#include "tools/mount/signals.h"

/* Descriptors, or -1; all are close-on-exec. */
struct bale_join {
    int gate;        /* locked by whoever begins or ends; its text is the daemon's process */
    int users;       /* locked shared by every task */
    int reader;      /* the lifeline's, for the daemon; only for who mounts */
    int lifeline;    /* the other end; what a task must keep open */
    char where[512]; /* those files, but for their endings */
};

/* A lifeline of this task's own, a pipe: always the first and the last. */
int bale_join_alone(struct bale_join *join);

/* Takes part in the mount of store at mnt, both absolute. *first: nobody has mounted it, and the
 * gate stays closed until bale_join_mounted; else *pid is its daemon. Waits while others begin or
 * end. Says why not: 0 or a negative bale_err, BALE_E_CANCELLED if signals->end came. */
int bale_join_begin(struct bale_join *join, const char *store, const char *mnt,
                    struct bale_signals *signals, bool *first, int *pid);

/* Mounted: the others may come. */
void bale_join_mounted(struct bale_join *join, int pid);

/* Takes part no more. True: this was the last task, which is to unmount; the gate stays closed until
 * bale_join_close. */
bool bale_join_leave(struct bale_join *join);

void bale_join_close(struct bale_join *join); /* also after a failure */

/* In a child that must not take part. */
void bale_join_forget(struct bale_join *join);

#endif
