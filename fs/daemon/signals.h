/* What ends the daemon: a signal, the end of the lifeline, or the end of the connection with the
 * kernel. */
#ifndef BALE_FS_DAEMON_SIGNALS_H
#define BALE_FS_DAEMON_SIGNALS_H

#include <stdbool.h>

struct bale_daemon_signals {
    int signals; /* signalfd, or -1 */
    int ended;   /* eventfd that the session writes to when the file system is gone, or -1 */
};

/* Blocks SIGTERM, SIGINT and SIGHUP for this thread and those it starts later. 0 or a negative
 * bale_err; close afterwards in either case. */
int bale_daemon_signals_open(struct bale_daemon_signals *signals);
void bale_daemon_signals_close(struct bale_daemon_signals *signals);

/* Waits until no process holds the other end of the lifeline (struct bale_mount_options), and drops
 * signals meanwhile. False: the file system is gone. */
bool bale_daemon_signals_wait_lifeline(const struct bale_daemon_signals *signals, int lifeline);
enum bale_daemon_event {
    BALE_DAEMON_GONE, /* the file system */
    BALE_DAEMON_SIGNAL,
    BALE_DAEMON_PAUSE_OVER,
};
/* Waits for one of these. pause_ms: -1 for no limit. */
enum bale_daemon_event bale_daemon_signals_wait(const struct bale_daemon_signals *signals,
                                                int pause_ms);

#endif
