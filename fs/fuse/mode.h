/* Permissions, and the suid and sgid bits that a caller may not keep. */
#ifndef BALE_FS_FUSE_MODE_H
#define BALE_FS_FUSE_MODE_H

#include "fs/fuse/mount.h"

/* What a change of a regular file's data or owner leaves of its permissions, as they are now, also
 * after changes beside the mount. As on ext4, suid goes, and sgid goes with execution for the
 * group; without that (mandatory locking) it stays if the caller is root or in the group. *loses:
 * whether any bit goes. fd and EAGAIN as in bale_attr_get. */
int bale_mode_left(struct bale_mount *mount, struct bale_node *node, int fd, fuse_req_t req,
                   mode_t *mode, bool *loses);

/* Gives a node new permissions, as chmod does. fd stays pinned until done. file: the open file of a
 * regular node, needed if containers keep the modes, else it may be NULL. done: as in
 * fs/cache/file.h; it may come before the return. */
void bale_mode_change(struct bale_mount *mount, struct bale_node *node, int fd,
                      struct bale_file *file, mode_t mode, bale_file_done *done, void *arg);

/* For a handler that changes data: whether the file must lose its set-id bits, because the caller
 * may not keep them. The kernel says so in most requests, but not for bits that it does not see. */
bool bale_mode_is_killed(const struct bale_mount *mount);

/* In the handler of req, before it changes the data of an open file: takes away suid, sgid and
 * security.capability as far as the caller may not keep them. */
void bale_mode_kill_suidgid(struct bale_mount *mount, struct bale_node *node, fuse_req_t req);

#endif
