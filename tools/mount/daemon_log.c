#include "tools/mount/daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/message.h"

#define LINE 4096

static const char *const names[] = {"error", "warning", "info", "debug"};
static int log_fd = -1;

/* Writes a line with one write(2), so that lines of several threads and daemons do not mix. */
static void to_file(enum bale_level level, const char *line)
{
    char text[LINE], clean[LINE - 64], stamp[32];
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    int length =
        snprintf(text, sizeof text, "%s.%03ldZ balefs[%d] %s: %s\n", stamp, now.tv_nsec / 1000000,
                 (int)getpid(), names[level], bale_clean_text(line, clean, sizeof clean));
    if (write(log_fd, text, (size_t)length) < 0)
        return; /* there is nowhere to report it */
}

bale_log_sink *bale_daemon_log_file(const char *path)
{
    log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644);
    if (log_fd >= 0)
        return to_file;
    bale_message("%s: the log cannot be opened: %s", path, strerror(errno));
    return NULL;
}

static void to_system(enum bale_level level, const char *line)
{
    static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

    syslog(priorities[level], "%s", line);
}

bale_log_sink *bale_daemon_log_system(void)
{
    openlog("balefs", LOG_PID, LOG_DAEMON);
    return to_system;
}

static void to_terminal(enum bale_level level, const char *line)
{
    (void)level;
    bale_message("%s", line);
}

bale_log_sink *bale_daemon_log_terminal(void)
{
    return to_terminal;
}
