/* Extended attributes: what reading (xattr.c) and writing (xattr_set.c) share. */
#ifndef BALE_FS_FUSE_XATTR_H
#define BALE_FS_FUSE_XATTR_H

#include <errno.h>

#include "fs/fuse/known.h"
#include "fs/fuse/mount.h"

/* A path by which system calls reach an attribute of a node. It leads through the open file's
 * descriptor, or else through the node's own; for an ACL of the mount's root, through the
 * descriptor of .balefs/top; for a symbolic link, through its directory's descriptor and its name,
 * which the call must not follow. */
struct bale_xattr_path {
    int fd;
    struct bale_file *file; /* referenced, or NULL */
    struct bale_node *pinned;
    struct bale_node *dir; /* referenced, or NULL */
    char *text;
    bool follow;
};
/* name: of the attribute. 0 or a positive errno; close it afterwards in either case. */
int bale_xattr_path_open(struct bale_mount *mount, struct bale_node *node, const char *name,
                         struct bale_xattr_path *path);
void bale_xattr_path_close(struct bale_mount *mount, struct bale_xattr_path *path);

/* Whether the name is one of the settings of a regular file (settings.h). */
bool bale_xattr_is_setting(const struct bale_node *node, const char *name);

/* For other names. 0: the backing store keeps the attribute; or the errno of reading it. */
int bale_xattr_check_name(const struct bale_mount *mount, const struct bale_node *node,
                          const char *name);

/* Reads an attribute that is no setting of a regular file, if that needs nothing of the store: the
 * value, or the errno to reply. */
bool bale_xattr_known(struct bale_mount *mount, struct bale_node *node, const char *name,
                      char value[BALE_KNOWN_MAX], size_t *length, int *e);

/* Replies to getxattr or listxattr. size: the room that the caller has; 0: it wants the length. */
static inline void bale_xattr_reply(fuse_req_t req, const char *value, size_t length, size_t size)
{
    if (size == 0)
        fuse_reply_xattr(req, length);
    else if (length > size)
        fuse_reply_err(req, ERANGE);
    else
        fuse_reply_buf(req, value, length);
}

#endif
