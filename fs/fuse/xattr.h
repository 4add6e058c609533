/* Replying to getxattr and listxattr. */
#ifndef BALE_FS_FUSE_XATTR_H
#define BALE_FS_FUSE_XATTR_H

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stddef.h>

/* size: what the caller has room for; 0: it asks for the length. */
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
