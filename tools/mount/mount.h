/* Mounting and unmounting, for the commands that do it. */
#ifndef BALE_TOOLS_MOUNT_MOUNT_H
#define BALE_TOOLS_MOUNT_MOUNT_H

#include <stdbool.h>

#include "fs/daemon/daemon.h"

/* Stores everything written in the mount at path durably. False after a message. */
bool bale_sync_mount(const char *path);

/* Exit codes of mount(8) and umount(8). */
enum { BALE_EXIT_UNMOUNT_USAGE = 1, BALE_EXIT_UNMOUNT_SYSTEM = 2, BALE_EXIT_UNMOUNT_FAILED = 32 };

/* Mounts a store. First removes a dead mount at the mount point, and refuses a mount point that a
 * live balefs mount has. log: a file for the daemon's log, or NULL; sets options->log. Prints a
 * message on failure. Returns an exit code of mount(8). */
int bale_mount_store(struct bale_mount_options *options, const char *log);

struct bale_umount_how {
    bool force;  /* also if not everything can be stored */
    bool lazy;   /* do not wait */
    bool others; /* end the daemons even if other mount namespaces have the mounts */
    bool run;    /* for balefs run: messages say what that does next, and not what a user may try */
};

/* Unmounts point: with umount2 as root or in a user namespace of our own, else with fusermount3.
 * Prints a message on failure, which names the programs that keep a busy mount in use. Returns an
 * exit code of umount(8). */
int bale_unmount(const char *point, struct bale_umount_how how);

/* Stores everything in the mounts at paths, unmounts them and waits until their daemons have ended,
 * or until it is clear that another mount namespace keeps one. Changes the working directory to
 * "/". Prints messages on failure. Returns the worst exit code, as of umount(8). */
int bale_umount_all(int count, char **paths, struct bale_umount_how how);

#endif
