/* A daemon whose mount has been taken away, and which still stores what is left. */
#ifndef BALE_TOOLS_MOUNT_LEAVING_H
#define BALE_TOOLS_MOUNT_LEAVING_H

/* Waits for the daemon of this machine that has the store at path and is leaving it, up to 5 s:
 * umount(8) does not wait for it where it does not find umount.fuse.balefs. Returns at once if the
 * store is free, or if its holder still has a mount, or is no daemon. */
void bale_leaving_await(const char *path);

#endif
