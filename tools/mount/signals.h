/* Signals and children of a command that runs another command. Signals are blocked, and accepted
 * only while the command waits for a child, so that none is lost between. One thread. */
#ifndef BALE_TOOLS_MOUNT_SIGNALS_H
#define BALE_TOOLS_MOUNT_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct bale_signals {
    sigset_t blocked, before;
    struct sigaction pipe_before;
    int end; /* the first SIGTERM or SIGINT, or 0 */
};

/* Blocks SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGCHLD; ignores SIGPIPE. */
void bale_signals_block(struct bale_signals *signals);

/* As fork; the child gets the signal settings from before bale_signals_block. -1 with errno on
 * failure. */
pid_t bale_signals_fork(const struct bale_signals *signals);

/* Waits for a child. pass: forwards signals to it, except those that the terminal has sent to both.
 * grace: the most milliseconds to wait after signals->end was set, or after the call if that is
 * later; -1: no limit. False: the time is over. state: as of waitpid. */
bool bale_signals_wait(struct bale_signals *signals, pid_t child, bool pass, int grace, int *state);

/* Waits so many milliseconds, or until a signal comes. */
void bale_signals_pause(struct bale_signals *signals, int milliseconds);

/* Becomes a command that is searched for in PATH. If it cannot, it ends after a message, with 127
 * if there is no such program, otherwise with 126. */
void bale_signals_become(char **command) __attribute__((noreturn));

/* The exit status that a shell derives from a waitpid state. */
int bale_signals_status(int state);

#endif
