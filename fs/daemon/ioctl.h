/* The handlers of ioctl requests; control.h says what they are. */
#ifndef BALE_FS_DAEMON_IOCTL_H
#define BALE_FS_DAEMON_IOCTL_H

#include <fuse_lowlevel.h>
#include <stddef.h>

#include "fs/fuse/mount.h"

/* As the handlers of fs/fuse/ops.h. */
void bale_op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned int cmd, void *arg,
                   struct fuse_file_info *fi, unsigned flags, const void *in, size_t in_size,
                   size_t out_size);

/* Replies to BALE_IOC_STATUS. Asks the store for nothing. */
void bale_status_request(fuse_req_t req, size_t out_size);

/* Replies to BALE_IOC_RECOMPRESS on a node that the kernel has open; in has in_size bytes, and is
 * valid until the return. */
void bale_recompress_request(fuse_req_t req, struct bale_node *node, const void *in, size_t in_size,
                             size_t out_size);

#endif
