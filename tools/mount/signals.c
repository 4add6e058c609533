#include "tools/mount/signals.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/message.h"

enum { EXIT_NOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void bale_signals_block(struct bale_signals *signals)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};

    *signals = (struct bale_signals){0};
    sigemptyset(&signals->blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&signals->blocked, numbers[i]);
    sigprocmask(SIG_BLOCK, &signals->blocked, &signals->before);
    sigaction(SIGPIPE, &ignore, &signals->pipe_before);
    /* If SIGCHLD were ignored, children could not be waited for. */
    sigaction(SIGCHLD, &standard, NULL);
}

pid_t bale_signals_fork(const struct bale_signals *signals)
{
    fflush(NULL);
    pid_t child = fork();

    if (child == 0) {
        sigaction(SIGPIPE, &signals->pipe_before, NULL);
        sigprocmask(SIG_SETMASK, &signals->before, NULL);
    }
    return child;
}

/* Returns the signal that came, or 0 after so many milliseconds (-1: no limit). */
static int wait_for_signal(struct bale_signals *signals, long long milliseconds, siginfo_t *info)
{
    const struct timespec limit = {.tv_sec = milliseconds / 1000,
                                   .tv_nsec = milliseconds % 1000 * 1000000};
    int number = milliseconds < 0 ? sigwaitinfo(&signals->blocked, info)
                                  : sigtimedwait(&signals->blocked, info, &limit);

    if (number < 0)
        return 0;
    if ((number == SIGTERM || number == SIGINT) && !signals->end)
        signals->end = number;
    return number;
}

bool bale_signals_wait(struct bale_signals *signals, pid_t child, bool pass, int grace, int *state)
{
    long long begun = now_ms();
    bool ending = signals->end != 0;

    for (;;) {
        siginfo_t info;
        pid_t ended = waitpid(child, state, WNOHANG);
        if (ended == child)
            return true;
        if (ended < 0 && errno != EINTR) {
            *state = 1 << 8; /* not our child: treated as failed */
            return true;
        }
        long long left = signals->end && grace >= 0 ? begun + grace - now_ms() : -1;
        if (signals->end && grace >= 0 && left <= 0)
            return false;
        int number = wait_for_signal(signals, left, &info);
        if (signals->end && !ending) {
            ending = true;
            begun = now_ms();
        }
        if (pass && number != 0 && number != SIGCHLD && info.si_code != SI_KERNEL)
            kill(child, number);
    }
}

void bale_signals_pause(struct bale_signals *signals, int milliseconds)
{
    siginfo_t info;

    (void)wait_for_signal(signals, milliseconds, &info);
}

int bale_signals_status(int state)
{
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

void bale_signals_become(char **command)
{
    execvp(command[0], command);
    int e = errno;
    bale_message("%s: cannot be run: %s", command[0], strerror(e));
    _exit(e == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}
