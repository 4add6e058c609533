#include "fs/daemon/stderr_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CAPTURED_MAX 4096

void bale_stderr_capture_begin(struct bale_stderr_capture *capture)
{
    *capture = (struct bale_stderr_capture){
        .captured = memfd_create("balefs-stderr", MFD_CLOEXEC),
        .saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
    };
    if (capture->captured >= 0 && capture->saved >= 0)
        (void)dup2(capture->captured, STDERR_FILENO);
}

void bale_stderr_capture_end(struct bale_stderr_capture *capture, const char *name, char *text,
                             size_t size)
{
    char buffer[CAPTURED_MAX], *rest = buffer, *line;
    size_t length = name ? strlen(name) : 0;

    if (capture->saved >= 0) {
        (void)dup2(capture->saved, STDERR_FILENO);
        close(capture->saved);
    }
    ssize_t got =
        capture->captured >= 0 ? pread(capture->captured, buffer, sizeof buffer - 1, 0) : 0;
    buffer[got > 0 ? got : 0] = '\0';
    text[0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (name && !text[0] && strncmp(line, name, length) == 0 &&
            strncmp(line + length, ": ", 2) == 0)
            snprintf(text, size, "%s", line + length + 2);
        else if (*line)
            dprintf(STDERR_FILENO, "%s\n", line);
    if (capture->captured >= 0)
        close(capture->captured);
}
