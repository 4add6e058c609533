/* What a helper program says on standard error. */
#ifndef BALE_FS_DAEMON_STDERR_CAPTURE_H
#define BALE_FS_DAEMON_STDERR_CAPTURE_H

#include <stddef.h>

struct bale_stderr_capture {
    int said;  /* takes the place of standard error; -1: nothing does */
    int saved; /* standard error */
};

/* From here on standard error is kept back, of this process and of those it starts. */
void bale_stderr_capture_begin(struct bale_stderr_capture *capture);

/* Standard error is itself again, and gets what was kept back; but not the first line that begins
 * with "NAME: ", of which text has the rest, or "". name NULL: all. */
void bale_stderr_capture_end(struct bale_stderr_capture *capture, const char *name, char *text,
                             size_t size);

#endif
