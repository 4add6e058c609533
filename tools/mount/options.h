/* What mount's -o may say. */
#ifndef BALE_TOOLS_MOUNT_OPTIONS_H
#define BALE_TOOLS_MOUNT_OPTIONS_H

#include <stddef.h>

#include "format/reason.h"
#include "fs/daemon/daemon.h"

#define BALE_EXTRA 1024

struct bale_mount_words {
    struct bale_mount_options options;
    char extra[BALE_EXTRA]; /* for the kernel: options.extra points here */
    bool in_gpu;            /* while a list is taken: the last word was of gpu=N,N... */
};

/* Takes one -o list; lists add up, later words win. text is changed. 0 or a negative bale_err: why
 * names the word and says what is wrong with it. */
int bale_mount_words(struct bale_mount_words *words, char *text, struct bale_reason *why);

#endif
