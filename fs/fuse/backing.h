/* Opening objects of the backing store. */
#ifndef BALE_FS_FUSE_BACKING_H
#define BALE_FS_FUSE_BACKING_H

#include <stdbool.h>

#include "fs/fuse/mount.h"

/* "/proc/self/fd/N", the path by which calls reach the inode of an O_PATH descriptor. */
struct bale_proc_path {
    char text[32];
};
struct bale_proc_path bale_proc_path(int fd);

/* bale_open_now, with O_NOATIME where the file's owner allows it, because the daemon's own reads of
 * a container are no accesses to the file. -1 and errno. */
int bale_backing_open(const char *path, int flags);
int bale_backing_open_at(int directory, const char *path, int flags); /* as openat(2) */

/* After a call that returns a descriptor: true if it failed because descriptors ran out and some
 * were closed, so that the caller shall try again. May wait until files are closed; call it without
 * locks. Otherwise errno is left for the caller. */
bool bale_backing_retry(struct bale_mount *mount, int fd);

/* Beside a writer: e is the error of opening the node's inode, which another machine may have
 * removed while this one still knows its name. Then waits, a second or two at most, until the name
 * leads elsewhere. The result is e; or ESTALE, for which the kernel looks the name up in the mount
 * again. */
int bale_backing_look_again(struct bale_mount *mount, struct bale_node *node, int e);

#endif
