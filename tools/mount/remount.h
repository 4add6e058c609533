/* mount -o remount: changes the kernel's flags of a mount that stays. */
#ifndef BALE_TOOLS_MOUNT_REMOUNT_H
#define BALE_TOOLS_MOUNT_REMOUNT_H

#include <stdbool.h>

/* Whether the list of options (may be NULL) asks for it. */
bool bale_remount_is_asked(const char *options);
/* Takes over ro, rw, noatime and the like; nosuid, nodev, noexec and nosymfollow stay once they are
 * set. Words for the daemon change nothing, as mount(8) adds those that a mount has. Changes the
 * list. Prints a message on failure. Returns an exit code of mount(8). */
int bale_remount(const char *point, char *options);

#endif
