/* security.capability: writing a container takes it away from the inode, so it is kept here while
 * the file is open, and put back. */
#ifndef BALE_FS_FUSE_CAPABILITY_H
#define BALE_FS_FUSE_CAPABILITY_H

#include <stddef.h>

#include "fs/fuse/opened.h"

#define BALE_CAPABILITY_XATTR "security.capability"
#define BALE_CAPABILITY_MAX 64

/* The attribute was set (value) or is gone (NULL). A value is put back when the file is closed. */
void bale_capability_set(struct bale_mount *mount, struct bale_node *node, const void *value,
                         size_t size);

/* While the backing inode may lack the attribute: its length, and the value. 0: read the backing
 * inode. */
size_t bale_capability_get(struct bale_mount *mount, struct bale_node *node,
                           char value[BALE_CAPABILITY_MAX]);

/* Around a write of ours that the caller knows nothing of: save reads what the inode has, restore
 * puts it back. restore does so under opened_lock: a thread that takes the attribute away for good
 * (first here, then from the inode) does not find it put back. path: of the inode. */
void bale_capability_save(struct bale_opened *opened, const char *path);
void bale_capability_restore(struct bale_opened *opened, const char *path);

/* The same around a rewriting of the open file's container, which its user must not notice. But a
 * program's write that is not stored yet takes the attribute away too, and that is not undone. The
 * caller has a use of the file. */
void bale_capability_keep(struct bale_opened *opened);
void bale_capability_put_back(struct bale_opened *opened);

#endif
