/* user.balefs.*: settings, and the space that a file takes, as extended attributes. On regular
 * files they come from the container; on directories they are the backing store's own, checked. */
#ifndef BALE_FS_FUSE_XATTR_BALEFS_H
#define BALE_FS_FUSE_XATTR_BALEFS_H

#include "fs/fuse/mount.h"

#define BALE_XATTR_PREFIX "user.balefs."

bool bale_is_setting_xattr(const char *name); /* any name below BALE_XATTR_PREFIX */

/* Whether a directory has settings for new files and directories in it; remembers the answer no.
 * fd: of the pinned directory. The kernel locks the directory meanwhile, so that no other
 * request makes something there or changes its attributes. */
bool bale_directory_has_settings(struct bale_node *dir, int fd);

/* Logs why a setting of the node was refused, with its path. */
void bale_setting_xattr_refused(const struct bale_mount *mount, struct bale_node *node,
                                const char *why);

/* Reply to a getxattr, setxattr or removexattr (value NULL) of such a name on a regular file. */
void bale_setting_xattr_get(fuse_req_t req, struct bale_node *node, const char *name, size_t size);
void bale_setting_xattr_set(fuse_req_t req, struct bale_node *node, const char *name,
                            const char *value, size_t size);

/* Writes the names that listxattr shows of a regular file to list, each with its NUL, and returns
 * their length. fd: of the pinned node. */
#define BALE_SETTING_XATTR_LIST 64 /* room for them */
size_t bale_setting_xattr_list(struct bale_mount *mount, struct bale_node *node, int fd,
                               char *list);

#endif
