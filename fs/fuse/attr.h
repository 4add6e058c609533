/* The attributes that a node shows: the backing inode's, corrected by those of the open file or of
 * the container. */
#ifndef BALE_FS_FUSE_ATTR_H
#define BALE_FS_FUSE_ATTR_H

#include "fs/fuse/mount.h"

/* What the mount shows to users. If these go into a reply, it follows at once (see
 * bale_attr_losing_link). fd: pinned, of the node. backing: the node's stat data if the caller has
 * just read them, or NULL. timeout (may be NULL): for how many seconds the kernel may believe the
 * attributes. EAGAIN: the file must be opened first (bale_use_begin). */
int bale_attr_get(struct bale_mount *mount, struct bale_node *node, int fd,
                  const struct stat *backing, struct stat *st, double *timeout);
/* The same where fd is open for reading, and the caller's. Not beside a writer. */
int bale_attr_get_opened(struct bale_mount *mount, struct bale_node *node, int fd,
                         const struct stat *backing, struct stat *st, double *timeout);
/* As bale_attr_get, with what the mount hides. */
int bale_attr_read(struct bale_mount *mount, struct bale_node *node, int fd,
                   const struct stat *backing, struct stat *st, double *timeout);

/* Call losing before one of several names of a file is removed, and lost after that, whether it was
 * removed or not. When the kernel gets the reply it takes one off the number of links that it
 * knows. If it has got attributes with the new number before, it then takes a file with one link
 * for a removed one, and link() fails with ENOENT. So until a second after the removal attributes
 * of that file do not change what the kernel knows (bale_attr_get): only the program that asked for
 * them sees them. The second is the mount's: while one such removal runs, no file's begins. */
void bale_attr_losing_link(struct bale_mount *mount, struct bale_node *node);
void bale_attr_lost_link(struct bale_mount *mount);

/* Only the container's attributes, of a regular file. fd and EAGAIN as above; fd may be -1 while
 * the caller has a use of the file. */
int bale_attr_container(struct bale_mount *mount, struct bale_node *node, int fd,
                        struct bale_container_attr *attr);

#endif
