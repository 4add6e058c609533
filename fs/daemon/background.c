#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/daemon/log_file.h"

/* From the child to the parent, through a pipe. */
struct report {
    int err;
    char why[BALE_REASON_SIZE];
    char log[BALE_LOG_PATH];
};

static void send_report(int fd, int err, const char *why)
{
    struct report report = {.err = err};

    snprintf(report.why, sizeof report.why, "%s", why);
    bale_log_file_path(report.log, sizeof report.log);
    (void)!write(fd, &report, sizeof report);
}

/* The state of the child. */
struct child {
    int fd; /* the pipe to the parent; -1 once it has the report */
    struct bale_reason why;
};

/* The ready callback of the child: the parent may return; detach from its terminal. */
static void report_ready(void *arg)
{
    struct child *child = arg;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    send_report(child->fd, BALE_OK, child->why.text);
    close(child->fd);
    child->fd = -1;
    for (int i = 0; i < 3 && null >= 0; i++)
        (void)dup2(null, i);
    close(null);
}

static void ignore_ready(void *arg)
{
    (void)arg;
}

static void __attribute__((noreturn)) daemon_child(const struct bale_mount_options *options, int fd)
{
    struct child child = {.fd = fd};

    setsid();
    int err = bale_daemon_serve(options, &child.why, report_ready, &child);
    if (child.fd >= 0)
        send_report(child.fd, err, child.why.text);
    _exit(err == BALE_OK ? 0 : 1);
}

static bool read_report(int fd, struct report *report)
{
    size_t used = 0;
    ssize_t got = 1;

    while (used < sizeof *report && (got > 0 || (got < 0 && errno == EINTR))) {
        got = read(fd, (char *)report + used, sizeof *report - used);
        used += got > 0 ? (size_t)got : 0;
    }
    return used == sizeof *report;
}

static int wait_for_child(pid_t child, int fd, struct bale_reason *why,
                          char log[static BALE_LOG_PATH])
{
    struct report report;

    if (!read_report(fd, &report)) {
        int status;
        (void)waitpid(child, &status, 0);
        bale_reason_set(why,
                        "balefs: the daemon ended without a report: this is a bug: run it with -f");
        return BALE_E_IO;
    }
    bale_reason_set(why, "%s", report.why);
    memcpy(log, report.log, sizeof report.log);
    return report.err;
}

int bale_daemon_run(const struct bale_mount_options *options, struct bale_reason *why,
                    char log[static BALE_LOG_PATH])
{
    int pipe_fds[2];

    why->text[0] = log[0] = '\0';
    if (options->log)
        bale_log_to(options->log, options->log_least);
    if (options->foreground)
        return bale_daemon_serve(options, why, ignore_ready, NULL);
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return bale_err_from_errno(errno);
    pid_t child = fork();
    if (child == 0) {
        close(pipe_fds[0]);
        daemon_child(options, pipe_fds[1]);
    }
    close(pipe_fds[1]);
    int err = child < 0 ? bale_err_from_errno(errno) : wait_for_child(child, pipe_fds[0], why, log);
    close(pipe_fds[0]);
    return err;
}
