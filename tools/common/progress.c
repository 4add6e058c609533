#include "tools/common/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/size.h"

#define FIRST_MS 1000
#define EACH_MS 200
#define BAR 30

static long long milliseconds(const struct timespec *time)
{
    return (long long)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

void bale_progress_begin(struct bale_progress *progress, const char *what)
{
    *progress = (struct bale_progress){.what = what, .quiet = !isatty(STDERR_FILENO)};
    clock_gettime(CLOCK_MONOTONIC, &progress->last);
}

/* True if a new text is due; then the line has been cleared. */
static bool is_due(struct bale_progress *progress)
{
    struct timespec now;

    if (progress->quiet)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (milliseconds(&now) - milliseconds(&progress->last) < (progress->shown ? EACH_MS : FIRST_MS))
        return false;
    progress->last = now;
    progress->shown = true;
    fputs("\r\033[K", stderr);
    return true;
}

void bale_progress_show(struct bale_progress *progress, uint64_t files, uint64_t bytes)
{
    char size[BALE_TEXT];

    if (!is_due(progress))
        return;
    fprintf(stderr, "%s %llu files, %s", progress->what, (unsigned long long)files,
            bale_size_text(bytes, size));
    fflush(stderr);
}

void bale_progress_text(struct bale_progress *progress, const char *format, ...)
{
    va_list args;

    if (!is_due(progress))
        return;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fflush(stderr);
}

void bale_progress_bar(struct bale_progress *progress, unsigned done, unsigned all,
                       const char *text)
{
    unsigned filled = done < all ? done * BAR / all : BAR;
    char bar[BAR + 1];

    memset(bar, '.', BAR);
    memset(bar, '#', filled);
    bar[BAR] = '\0';
    bale_progress_text(progress, "[%s] %s", bar, text);
}

void bale_progress_end(struct bale_progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
