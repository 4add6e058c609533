/* The place in which the command of balefs run begins. What a process opened before a mount stays
 * as it was: its working directory and its redirections would lie beneath the mount, and what is
 * written there would not be in the store. */
#ifndef BALE_TOOLS_MOUNT_PLACE_H
#define BALE_TOOLS_MOUNT_PLACE_H

#include <stdbool.h>

/* The path of the working directory below mnt, an absolute path without symbolic links: "" is mnt
 * itself. NULL: it is elsewhere. The caller frees it. */
char *bale_place_inside(const char *mnt);

/* Whether none of this process's descriptors is a file or directory beneath mnt, on which nothing
 * is mounted yet; otherwise a message says which one. */
bool bale_place_is_free(const char *mnt);

/* Makes inside, as above, of what is mounted at mnt the working directory. False after a
 * message. */
bool bale_place_enter(const char *mnt, const char *inside);

#endif
