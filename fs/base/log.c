#include "fs/base/log.h"

#include <stdarg.h>
#include <stdio.h>

static void (*log_sink)(enum bale_level level, const char *line);
static enum bale_level log_least = BALE_LOG_INFO;

void bale_log_to(void (*sink)(enum bale_level level, const char *line), enum bale_level least)
{
    log_sink = sink;
    log_least = least;
}

void bale_log(enum bale_level level, const char *format, ...)
{
    if (!log_sink || level > log_least)
        return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log_sink(level, line);
}
