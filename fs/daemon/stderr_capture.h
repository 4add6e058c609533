/* Captures what a helper program writes to standard error. */
#ifndef BALE_FS_DAEMON_STDERR_CAPTURE_H
#define BALE_FS_DAEMON_STDERR_CAPTURE_H

#include <stddef.h>

struct bale_stderr_capture {
    int captured; /* a file that takes the place of standard error, or -1 */
    int saved;    /* standard error, or -1 */
};

/* From here on captures the standard error of this process and of those that it starts. Without
 * memory or descriptors nothing is captured. */
void bale_stderr_capture_begin(struct bale_stderr_capture *capture);

/* Restores standard error and writes to it what was captured, except the first line that begins
 * with "NAME: ": the rest of that line goes to text, which is "" if there is none. name NULL:
 * all is written. */
void bale_stderr_capture_end(struct bale_stderr_capture *capture, const char *name, char *text,
                             size_t size);

#endif
