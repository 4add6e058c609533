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

bool bale_daemon_signals_wait_lifeline(const struct bale_daemon_signals *signals, int lifeline)
{
    struct pollfd fds[] = {{.fd = signals->ended, .events = POLLIN},
                           {.fd = lifeline},
                           {.fd = signals->signals, .events = POLLIN}};

    while (!(fds[0].revents & POLLIN) && !(fds[1].revents & POLLHUP)) {
        struct signalfd_siginfo dropped;
        if (poll(fds, 3, -1) > 0 && fds[2].revents & POLLIN)
            (void)!read(signals->signals, &dropped, sizeof dropped);
    }
    return !(fds[0].revents & POLLIN);
}

enum bale_daemon_event bale_daemon_signals_wait(const struct bale_daemon_signals *signals,
                                                int pause_ms)
{
    struct pollfd fds[] = {{.fd = signals->signals, .events = POLLIN},
                           {.fd = signals->ended, .events = POLLIN}};
    int ready;

    while ((ready = poll(fds, 2, pause_ms)) < 0 && errno == EINTR) {
    }
    if (ready == 0)
        return BALE_DAEMON_PAUSE_OVER;
    return fds[0].revents & POLLIN ? BALE_DAEMON_SIGNAL : BALE_DAEMON_GONE;
}
