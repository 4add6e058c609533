#include "fs/daemon/stderr_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAID_MAX 4096

void bale_stderr_capture_begin(struct bale_stderr_capture *capture)
{
    *capture = (struct bale_stderr_capture){
        .said = memfd_create("said", MFD_CLOEXEC),
        .saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
    };
    if (capture->said >= 0 && capture->saved >= 0)
        (void)dup2(capture->said, STDERR_FILENO);
}

void bale_stderr_capture_end(struct bale_stderr_capture *capture, const char *name, char *text,
                             size_t size)
{
    char said[SAID_MAX], *rest = said, *line;
    size_t length = name ? strlen(name) : 0;

    if (capture->saved >= 0) {
        (void)dup2(capture->saved, STDERR_FILENO);
        close(capture->saved);
    }
    ssize_t got = capture->said >= 0 ? pread(capture->said, said, sizeof said - 1, 0) : 0;
    said[got > 0 ? got : 0] = '\0';
    text[0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (name && !text[0] && strncmp(line, name, length) == 0 &&
            strncmp(line + length, ": ", 2) == 0)
            snprintf(text, size, "%s", line + length + 2);
        else if (*line)
            dprintf(STDERR_FILENO, "%s\n", line);
    if (capture->said >= 0)
        close(capture->said);
}
