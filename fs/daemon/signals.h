/* What ends the daemon: a signal, the end of the lifeline, or the end of the connection with the
 * kernel. */
#ifndef BALE_FS_DAEMON_SIGNALS_H
#define BALE_FS_DAEMON_SIGNALS_H

#include <stdbool.h>

struct bale_daemon_signals {
    int signals; /* signalfd, or -1 */
    int ended;   /* eventfd that the session writes to when the file system is gone, or -1 */
};

/* Blocks SIGTERM, SIGINT, SIGHUP and SIGUSR1 for this thread and those it starts later. 0 or a
 * negative bale_err; close afterwards in either case. */
int bale_daemon_signals_open(struct bale_daemon_signals *signals);
void bale_daemon_signals_close(struct bale_daemon_signals *signals);

enum bale_daemon_event {
    BALE_DAEMON_GONE,        /* the file system is gone */
    BALE_DAEMON_SIGNAL,      /* a signal asks for the end */
    BALE_DAEMON_ALONE,       /* no process holds the other end of the lifeline */
    BALE_DAEMON_RELEASE_GPU, /* SIGUSR1 */
    BALE_DAEMON_PAUSE_OVER,
};

/* Waits for one of these. lifeline: as in struct bale_mount_options; while there is one, signals
 * that ask for the end are dropped. 0: none. pause_ms: -1 for no limit. */
enum bale_daemon_event bale_daemon_signals_wait(const struct bale_daemon_signals *signals,
                                                int lifeline, int pause_ms);

#endif
