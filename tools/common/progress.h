/* A line on the terminal that shows the progress of a long command. Nothing is shown if standard
 * error is not a terminal. One thread. */
#ifndef BALE_TOOLS_COMMON_PROGRESS_H
#define BALE_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct bale_progress {
    const char *what; /* "checked" */
    bool shown;
    bool quiet; /* standard error is not a terminal */
    struct timespec last;
};

void bale_progress_begin(struct bale_progress *progress, const char *what);
/* May be called often: it shows the first text after a second, and then a few each second. */
void bale_progress_show(struct bale_progress *progress, uint64_t files, uint64_t bytes);
/* The same with the caller's own text. */
void bale_progress_text(struct bale_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with a bar for done of all, and a text behind it. */
void bale_progress_bar(struct bale_progress *progress, unsigned done, unsigned all,
                       const char *text);
/* Clears the line. Also call it before another message. */
void bale_progress_end(struct bale_progress *progress);

#endif
