#include "report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *advice(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "free some space, or write less (--total-mib, --snapshot-every, --checkpoint-every)";
    case ENOMEM:
        return "lower --size";
    case EACCES:
    case EPERM:
    case EROFS:
        return "give --out a directory that you may write to";
    case ENOENT:
    case ENOTDIR:
        return "check the path";
    case EAGAIN:
        return "lower --threads";
    default:
        return "look at the disk or file system it is on";
    }
}

int wave_report(int rc, const char *what)
{
    wave_complain("%s: %s: %s", what, strerror(-rc), advice(-rc));
    return rc;
}

void wave_complain(const char *format, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr, "bale-solver: %s\n", text);
}
