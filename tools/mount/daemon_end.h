/* The end of a daemon whose mount umount has taken away. */
#ifndef BALE_TOOLS_MOUNT_DAEMON_END_H
#define BALE_TOOLS_MOUNT_DAEMON_END_H

#include <stdbool.h>

#include "tools/common/control.h"
#include "tools/common/mounts.h"

struct bale_daemon_end {
    const struct bale_mount_line *mount;
    bool read_only;
    int pidfd; /* or -1 */
    int pid;   /* 0: unknown */
    char store[sizeof((struct bale_control_status *)0)->store];
    char log[sizeof((struct bale_control_status *)0)->log]; /* or empty */
};

/* Opens a pidfd of the daemon, or returns -1. Checks that the process is a balefs here too. */
int bale_daemon_end_open(int pid);
/* Waits until the daemon has ended: for its process if that is visible, else for the lock of the
 * store. False after a message: it is kept from ending. */
bool bale_daemon_end_wait(const struct bale_daemon_end *daemon);
/* Reports the result that the daemon wrote when it ended. False: not everything was stored. */
bool bale_daemon_end_report(const struct bale_daemon_end *daemon);

#endif
