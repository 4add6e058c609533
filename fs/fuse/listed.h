/* The entries of a directory as a listing with attributes shows them. */
#ifndef BALE_FS_FUSE_LISTED_H
#define BALE_FS_FUSE_LISTED_H

#include "fs/fuse/mount.h"
#include "fs/fuse/prefetch.h"

/* Whether to list an entry with attributes. Not if the kernel has the file from an earlier reply: a
 * program that begins to read a directory, to see whether it is empty, and then reads it again, as
 * rm does, would have everything looked up twice. Beside a writer what it has may be old. */
bool bale_listed_needs_attributes(struct bale_mount *mount, const struct bale_dirent *entry);

/* Looks an entry of dir up for the kernel, through the descriptor if it was opened ahead; then also
 * its ACL, if that will be asked for. Without attributes, or if that fails, param tells only number
 * and type, and the kernel looks it up when a program needs it. */
void bale_listed_look_up(struct bale_mount *mount, struct bale_node *dir,
                         const struct bale_dirent *entry, struct bale_ahead *ahead, bool acl,
                         struct fuse_entry_param *param);

/* The kernel did not get the reply, so it will not forget the nodes that were looked up for it. */
void bale_listed_forget(struct bale_mount *mount, const char *reply, size_t length);

#endif
