/* Syncing one file or directory of the store. */
#ifndef BALE_FS_FUSE_SYNC_NODE_H
#define BALE_FS_FUSE_SYNC_NODE_H

#include "fs/fuse/mount.h"

/* fsyncs a regular file or a directory, wherever it is now, and everything below a directory that
 * has BALE_MARK_MOVED; nothing, if it was removed. The caller keeps the node alive. 0 or a positive
 * errno. */
int bale_sync_node(struct bale_mount *mount, struct bale_node *node);

#endif
