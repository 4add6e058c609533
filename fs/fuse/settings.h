/* user.balefs.*: settings, and what a file takes, as extended attributes. On regular files they
 * are made up of what is in the container; on directories they are the backing store's own,
 * checked. */
#ifndef BALE_FS_FUSE_SETTINGS_H
#define BALE_FS_FUSE_SETTINGS_H

#include "fs/fuse/mount.h"

#define BALE_XATTR_PREFIX "user.balefs."

bool bale_is_setting_xattr(const char *name); /* any name below BALE_XATTR_PREFIX */

/* Whether a directory has settings for what is made in it; remembered. fd: held. The kernel lets
 * nobody else make anything there or change its attributes meanwhile. */
bool bale_directory_has_settings(struct bale_node *dir, int fd);

/* Replies to a getxattr, setxattr or removexattr (value NULL) of such a name on a regular file. */
void bale_setting_xattr_get(fuse_req_t req, struct bale_node *node, const char *name, size_t size);
void bale_setting_xattr_set(fuse_req_t req, struct bale_node *node, const char *name,
                            const char *value, size_t size);
/* The names shown by listxattr of a regular file, each with its NUL, and their length; list has
 * room. */
#define BALE_SETTING_XATTR_LIST 64
size_t bale_setting_xattr_list(struct bale_mount *mount, struct bale_node *node, int fd,
                               char *list);

#endif
