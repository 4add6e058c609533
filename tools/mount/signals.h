/* Signals and children of a command that runs another one: signals are taken where the children
 * are waited for, so that none comes between. One thread. */
#ifndef BALE_TOOLS_MOUNT_SIGNALS_H
#define BALE_TOOLS_MOUNT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct bale_signals {
    sigset_t blocked, before;
    struct sigaction pipe_before;
    int end; /* the SIGTERM or SIGINT that came first, or 0 */
};

/* Holds back SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2; SIGPIPE is ignored. */
void bale_signals_block(struct bale_signals *signals);

/* As fork; the child has its signals as they were before hold. -1 and errno. */
pid_t bale_signals_fork(const struct bale_signals *signals);

/* Waits for a child. pass: hands on to it what comes, but for what the terminal has sent to it
 * already. grace: the most milliseconds to wait after signals->end, or after the call if that is
 * later; -1: no limit. False: the time is over. state: as waitpid's. */
bool bale_signals_wait(struct bale_signals *signals, pid_t child, bool pass, int grace, int *state);

/* Waits so many milliseconds, or less when a signal comes. */
void bale_signals_pause(struct bale_signals *signals, int milliseconds);

/* What a shell makes of a waitpid's state. */
int bale_signals_status(int state);

#endif
