/* The mount options of -o. */
#ifndef BALE_TOOLS_MOUNT_OPTIONS_H
#define BALE_TOOLS_MOUNT_OPTIONS_H

#include <stddef.h>

#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "tools/balefs.h"

#define BALE_EXTRA 1024

struct bale_mount_words {
    struct bale_mount_options options;
    char extra[BALE_EXTRA]; /* options for the kernel; options.extra points here */
    bool in_gpu;            /* inside a list: the last word belonged to gpu=N,N... */
    bool ro, rw;            /* each was given */
};

/* Parses one -o list. Several lists add up, and a later word wins, but ro and rw
 * together are refused. Changes text. 0, or a negative
 * bale_err: why names the word and says what is wrong with it. */
int bale_mount_words(struct bale_mount_words *words, char *text, struct bale_reason *why);

/* --codec or --extent was given to a command that mounts: says which commands have it. Returns the
 * exit code of wrong usage. */
int bale_mount_setting_error(const struct bale_command *command, bool codec, const char *value);

#endif
