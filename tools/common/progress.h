/* A line on the terminal that shows how far a long command is. Nothing where standard error is no
 * terminal. One thread. */
#ifndef BALE_TOOLS_COMMON_PROGRESS_H
#define BALE_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct bale_progress {
    const char *what; /* "looked at" */
    bool shown;
    bool quiet; /* no terminal */
    struct timespec last;
};

void bale_progress_begin(struct bale_progress *progress, const char *what);
/* As often as one likes: shows a few times a second, and first after one. */
void bale_progress_show(struct bale_progress *progress, uint64_t files, uint64_t bytes);
/* The same with a text of one's own. */
void bale_progress_text(struct bale_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same with a bar: done of all, and then a text. */
void bale_progress_bar(struct bale_progress *progress, unsigned done, unsigned all,
                       const char *text);
/* Takes the line away, also before another message. */
void bale_progress_end(struct bale_progress *progress);

#endif
