/* Permissions, and the suid and sgid bits that a caller may not keep. */
#ifndef BALE_FS_FUSE_MODE_H
#define BALE_FS_FUSE_MODE_H

#include "fs/fuse/mount.h"

/* The permissions as they are now, also after changes beside the mount. fd and EAGAIN as in
 * bale_attr_get. */
int bale_mode_get(struct bale_mount *mount, struct bale_node *node, int fd, mode_t *mode);

/* suid and sgid as they are after a write by a caller who may not keep them. */
mode_t bale_mode_without_suid(mode_t mode);

/* Gives a node new permissions, as chmod does. fd stays pinned until done. file: the open file of a
 * regular node, needed if containers keep the modes, else it may be NULL. done: as in
 * fs/cache/file.h; it may come before the return. */
void bale_mode_change(struct bale_mount *mount, struct bale_node *node, int fd,
                      struct bale_file *file, mode_t mode, bale_file_done *done, void *arg);

/* For a handler that changes data: whether the file must lose its set-id bits, because the caller
 * may not keep them. The kernel says so in most requests, but not for bits that it does not see. */
bool bale_mode_is_killed(const struct bale_mount *mount);

/* In a handler, before it changes the data of an open file: takes away suid, sgid and
 * security.capability as far as the caller may not keep them. */
void bale_mode_kill_suidgid(struct bale_mount *mount, struct bale_node *node);

#endif
