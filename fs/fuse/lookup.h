/* Replies with the entry of a node. */
#ifndef BALE_FS_FUSE_LOOKUP_H
#define BALE_FS_FUSE_LOOKUP_H

#include "fs/fuse/mount.h"

/* Replies with the node's entry, now or from another thread if the file must be opened first. Takes
 * over the caller's pin of the node. fd and backing as in bale_attr_get. */
void bale_entry_reply(fuse_req_t req, struct bale_node *node, int fd, const struct stat *backing);

/* Replies to a request that made name in dir: with the error e, or with the entry of the new
 * object. */
void bale_entry_reply_new(fuse_req_t req, int e, struct bale_node *dir, const char *name);

#endif
