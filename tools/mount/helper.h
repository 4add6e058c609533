/* mount.balefs, mount.fuse.balefs and umount.fuse.balefs: what mount(8) and umount(8) run, for mount
 * -t balefs, or -t fuse.balefs, which is the type that mounts have, and for lines of fstab(5). */
#ifndef BALE_TOOLS_MOUNT_HELPER_H
#define BALE_TOOLS_MOUNT_HELPER_H

#include <stdbool.h>

/* Whether the program was called by one of these names. */
bool bale_is_mount_helper(const char *program);

/* mount.balefs STORE MNT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]
 * umount.fuse.balefs MNT [-flnrv] [-N NAMESPACE] [-t TYPE]
 * Runs balefs mount or umount, without what is mount(8)'s own. Returns the exit code, as those. */
int bale_mount_helper(int argc, char **argv);

#endif
