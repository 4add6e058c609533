#include "fs/daemon/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "format/err.h"

int bale_daemon_signals_open(struct bale_daemon_signals *signals)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signals->signals = signalfd(-1, &set, SFD_CLOEXEC);
    signals->ended = eventfd(0, EFD_CLOEXEC);
    return signals->signals < 0 || signals->ended < 0 ? bale_err_from_errno(errno) : BALE_OK;
}

void bale_daemon_signals_close(struct bale_daemon_signals *signals)
{
    if (signals->signals >= 0)
        close(signals->signals);
    if (signals->ended >= 0)
        close(signals->ended);
}

enum bale_daemon_event bale_daemon_signals_wait(const struct bale_daemon_signals *signals,
                                                int lifeline, int pause_ms)
{
    struct pollfd fds[] = {{.fd = signals->signals, .events = POLLIN},
                           {.fd = signals->ended, .events = POLLIN},
                           {.fd = lifeline > 0 ? lifeline : -1}};
    struct signalfd_siginfo info;

    for (;;) {
        int ready = poll(fds, 3, pause_ms);
        if (ready == 0)
            return BALE_DAEMON_PAUSE_OVER;
        if (ready < 0)
            continue;
        if (fds[0].revents & POLLIN && read(signals->signals, &info, sizeof info) > 0) {
            if (info.ssi_signo == SIGUSR1)
                return BALE_DAEMON_RELEASE_GPU;
            if (lifeline <= 0)
                return BALE_DAEMON_SIGNAL;
        }
        if (fds[1].revents & POLLIN)
            return BALE_DAEMON_GONE;
        if (fds[2].revents & POLLHUP)
            return BALE_DAEMON_ALONE;
    }
}
