/* Reading beside a writer: the open files of a read-only mount follow what somebody else commits to
 * the store. */
#ifndef BALE_FS_FUSE_FOLLOW_H
#define BALE_FS_FUSE_FOLLOW_H

#include "fs/fuse/mount.h"

/* Starts looking for new commits. Sets mount->follower. */
int bale_follower_create(struct bale_mount *mount);
/* Ends that; waits for looks that are under way. Call it while requests are still answered: the
 * kernel drops no page that somebody is reading. NULL is fine. */
void bale_follower_stop(struct bale_follower *follower);
/* Frees it, when no request is handled any more. NULL is fine. */
void bale_follower_destroy(struct bale_follower *follower);

/* In a mount beside a writer, with a use of the file: shows the newest commit to somebody who opens
 * it. May read from the store. */
void bale_follow_open(struct bale_mount *mount, struct bale_node *node);
/* Likewise, after the file was read: if another commit was read than the kernel has pages of, has
 * the kernel drop these, soon. */
void bale_follow_note(struct bale_mount *mount, struct bale_node *node);

#endif
