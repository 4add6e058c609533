#include "fs/daemon/stderr_capture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SAID_MAX 4096

void bale_overhear_begin(struct bale_overhearing *overhearing)
{
    *overhearing = (struct bale_overhearing){
        .said = memfd_create("said", MFD_CLOEXEC),
        .saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1),
    };
    if (overhearing->said >= 0 && overhearing->saved >= 0)
        (void)dup2(overhearing->said, STDERR_FILENO);
}

void bale_overhear_end(struct bale_overhearing *overhearing, const char *name, char *text,
                       size_t size)
{
    char said[SAID_MAX], *rest = said, *line;
    size_t length = name ? strlen(name) : 0;

    if (overhearing->saved >= 0) {
        (void)dup2(overhearing->saved, STDERR_FILENO);
        close(overhearing->saved);
    }
    ssize_t got = overhearing->said >= 0 ? pread(overhearing->said, said, sizeof said - 1, 0) : 0;
    said[got > 0 ? got : 0] = '\0';
    text[0] = '\0';
    while ((line = strsep(&rest, "\n")))
        if (name && !text[0] && strncmp(line, name, length) == 0 &&
            strncmp(line + length, ": ", 2) == 0)
            snprintf(text, size, "%s", line + length + 2);
        else if (*line)
            dprintf(STDERR_FILENO, "%s\n", line);
    if (overhearing->said >= 0)
        close(overhearing->said);
}
