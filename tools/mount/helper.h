/* mount.balefs, mount.fuse.balefs and umount.fuse.balefs, which mount(8) and umount(8) run: for
 * mount -t balefs, for mount -t fuse.balefs, which is the type that mounts show, and for lines of
 * fstab(5). */
#ifndef BALE_TOOLS_MOUNT_HELPER_H
#define BALE_TOOLS_MOUNT_HELPER_H

/* Runs balefs mount or umount without the options that are for mount(8) itself: "mount.balefs STORE
 * MNT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o OPTIONS]", "umount.fuse.balefs MNT [-flnrv] [-N
 * NAMESPACE] [-t TYPE]". Returns their exit code. */
int bale_mount_helper(int argc, char **argv);

#endif
