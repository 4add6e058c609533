#include "fs/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/base/clock.h"
#include "kernels/base/working_for.h"

#define USERS 256u /* users whose numbers are equal modulo this share a bound */
#define WINDOW_NS (10 * BALE_SECOND_NS)

static void (*log_sink)(enum bale_level level, const char *line);
static enum bale_level log_least = BALE_LOG_INFO;

/* What users have caused in their last windows. */
static struct {
    pthread_mutex_t lock; /* guards the rest */
    struct {
        uint64_t since;
        unsigned lines;
    } of[USERS];
} caused = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bale_log_to(void (*sink)(enum bale_level level, const char *line), enum bale_level least)
{
    log_sink = sink;
    log_least = least;
}

/* Counts a line that the user has caused. Returns how many there are in this window. */
static unsigned count_line(uint32_t user)
{
    uint64_t now = bale_clock_ns();

    pthread_mutex_lock(&caused.lock);
    unsigned *lines = &caused.of[user % USERS].lines;
    uint64_t *since = &caused.of[user % USERS].since;
    if (*lines == 0 || now - *since >= WINDOW_NS) {
        *since = now;
        *lines = 0;
    }
    unsigned count = ++*lines;
    pthread_mutex_unlock(&caused.lock);
    return count;
}

void bale_log(enum bale_level level, const char *format, ...)
{
    if (!log_sink || level > log_least)
        return;
    uint32_t user = bale_working_for;
    unsigned count = user == 0 ? 0 : count_line(user);
    if (count > BALE_LOG_USER_LINES + 1)
        return;
    char line[1024];
    if (count > BALE_LOG_USER_LINES) {
        level = BALE_LOG_WARNING;
        snprintf(line, sizeof line,
                 "user %u causes many messages: the next ones are left out, for at most 10 s",
                 (unsigned)user);
    } else {
        va_list args;
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
    }
    log_sink(level, line);
}
