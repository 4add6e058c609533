/* The request of balefs recompress. */
#ifndef BALE_FS_DAEMON_RECOMPRESS_H
#define BALE_FS_DAEMON_RECOMPRESS_H

#include <stddef.h>

#include "fs/fuse/mount.h"

/* Replies to BALE_IOC_RECOMPRESS on a node that the kernel has open; in has in_size bytes. */
void bale_recompress_request(fuse_req_t req, struct bale_node *node, const void *in, size_t in_size,
                             size_t out_size);

#endif
