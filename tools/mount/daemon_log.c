#include "tools/mount/daemon_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "fs/daemon/log_file.h"
#include "tools/common/message.h"

#define LINE 4096

static const char *const names[] = {"error", "warning", "info", "debug"};
static int log_fd = -1;

/* "TIME balefs[PID] LEVEL: LINE", with its newline; returns its length. */
static size_t format_line(char text[static LINE], enum bale_level level, const char *line)
{
    char clean[LINE - 64], stamp[32];
    struct timespec now;
    struct tm tm;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &tm);
    return (size_t)snprintf(text, LINE, "%s.%03ldZ balefs[%d] %s: %s\n", stamp,
                            now.tv_nsec / 1000000, (int)getpid(), names[level],
                            bale_clean_text(line, clean, sizeof clean));
}

/* Writes a line with one write(2), so that lines of several threads and daemons do not mix. */
static void to_file(enum bale_level level, const char *line)
{
    char text[LINE];
    size_t length = format_line(text, level, line);

    if (write(log_fd, text, length) < 0)
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

bool bale_daemon_log_system_answers(void)
{
    static const int types[] = {SOCK_DGRAM, SOCK_STREAM};
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    bool answers = false;

    for (size_t i = 0; i < sizeof types / sizeof *types && !answers; i++) {
        int fd = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        answers = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
        if (fd >= 0)
            close(fd);
    }
    return answers;
}

bale_log_sink *bale_daemon_log_system(void)
{
    openlog("balefs", LOG_PID, LOG_DAEMON);
    return to_system;
}

static void to_own(enum bale_level level, const char *line)
{
    char text[LINE];

    bale_log_file_put(text, format_line(text, level, line));
}

bale_log_sink *bale_daemon_log_own(void)
{
    return to_own;
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
