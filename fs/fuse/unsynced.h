/* The nodes that were changed since the last sync and must be synced one by one, because syncfs()
 * is not believed (bale_store_believes_syncfs): directories whose entries have changed, inodes
 * whose attributes have changed, and closed files whose containers were written. The volume syncs
 * open files. If syncfs() is believed, mount->unsynced is NULL, and the functions here do nothing.
 * A sync opens the nodes. No descriptors are kept for it: there may be many nodes, and on some file
 * systems an open file cannot be removed for good. If a node cannot be synced, the store is
 * tainted, unless it merely could not be opened now, and the next sync tries the node again. */
#ifndef BALE_FS_FUSE_UNSYNCED_H
#define BALE_FS_FUSE_UNSYNCED_H

#include "fs/fuse/mount.h"

/* Sets mount->unsynced if it is needed. BALE_E_NOMEM. */
int bale_unsynced_create(struct bale_mount *mount);
void bale_unsynced_destroy(struct bale_mount *mount); /* before the node table */

/* Call it after the change and before it is acknowledged. The caller keeps the node alive. Any
 * thread. */
void bale_unsynced_add(struct bale_mount *mount, struct bale_node *node);
/* The node's last name is gone: it need not be synced. */
void bale_unsynced_forget(struct bale_mount *mount, struct bale_node *node);

/* Before an fsync of the node: adds the directories above it if an earlier mount may have changed
 * them (bale_store_has_unsynced). */
void bale_unsynced_add_above(struct bale_mount *mount, struct bale_node *node);

/* Around a rename. What moves is synced with all that is below it, if a sync is going through
 * everything that an earlier mount may have left: it may have been at the new place already, and
 * may not get to the old one any more. Call add_moved before the rename; the caller keeps the node
 * alive, and NULL is fine: only what was changed beside the mount is moved without a node. */
void bale_unsynced_move_begin(struct bale_mount *mount);
void bale_unsynced_add_moved(struct bale_mount *mount, struct bale_node *node);
void bale_unsynced_move_end(struct bale_mount *mount);

/* Syncs the directories among the nodes, so that all names are durable. Returns after syncs that
 * other threads have begun. 0, or a positive errno; the log then names the node. */
int bale_unsynced_sync_directories(struct bale_mount *mount);
/* The callback bale_volume_options.sync_closed; its arg is the mount. Syncs all nodes and, the
 * first time, everything that an earlier mount may have left. A bale_err. */
int bale_unsynced_sync(void *mount);

#endif
