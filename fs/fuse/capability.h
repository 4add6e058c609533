/* security.capability: writing a container takes it away from the inode, so it is kept here while
 * the file is open, and put back. */
#ifndef BALE_FS_FUSE_CAPABILITY_H
#define BALE_FS_FUSE_CAPABILITY_H

#include <stddef.h>

#include "fs/fuse/known.h"
#include "fs/fuse/opened.h"

#define BALE_CAPABILITY_MAX 64

/* The attribute was set (value) or is gone (NULL). A value is put back when the file is closed.
 * Waits while the last one is being put back, which a store that stalls holds up. */
void bale_capability_set(struct bale_mount *mount, struct bale_node *node, const void *value,
                         size_t size);

/* While the backing inode may lack the attribute: its length, and the value. 0: read the backing
 * inode. */
size_t bale_capability_get(struct bale_mount *mount, struct bale_node *node,
                           char value[BALE_CAPABILITY_MAX]);

/* Call these around a write of the daemon's own, which must not cost the file its attribute. save
 * reads what the inode has; restore puts it back. A thread that takes the attribute away for good
 * takes it from here first, which waits for a restore, and then from the inode, so nothing puts it
 * back after that. path: of the inode. */
void bale_capability_save(struct bale_opened *opened, const char *path);
void bale_capability_restore(struct bale_opened *opened, const char *path);

/* The same around rewriting the open file's container, which users must not notice. A program's
 * write that is not stored yet still takes the attribute away. The caller has a use of the file. */
void bale_capability_keep(struct bale_opened *opened);
void bale_capability_put_back(struct bale_opened *opened);

#endif
