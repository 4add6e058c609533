/* A command that runs with a store mounted, from the mount to its end. */
#ifndef BALE_TOOLS_MOUNT_RUN_MOUNTED_H
#define BALE_TOOLS_MOUNT_RUN_MOUNTED_H

#include <stdbool.h>

#include "tools/mount/join.h"
#include "tools/mount/mount.h"
#include "tools/mount/options.h"
#include "tools/mount/signals.h"

enum { BALE_EXIT_RUN = 125 }; /* the exit code if balefs run itself fails */

struct bale_run {
    struct bale_mount_words words;
    const char *log;
    char *store, *mnt; /* absolute */
    char *inside;      /* of the mount: where CMD begins; NULL: in our working directory */
    char **command;
    int grace; /* milliseconds */
    bool shared;
    int daemon;    /* its process id */
    int daemon_fd; /* a pidfd */
    char daemon_log[BALE_LOG_PATH];
    struct bale_join join;
    struct bale_signals signals;
};

/* Mounts, runs the command, stores everything and unmounts. Returns the exit code. */
int bale_run_mounted(struct bale_run *run);

#endif
