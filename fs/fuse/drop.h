/* Drops what the kernel caches. Of files whose elements are rounded, so that everybody reads what
 * is stored: pages that were written back through a mapping, and all pages once a file becomes
 * lossy. And names and files that a request that was given up may have changed. A thread of its own
 * tells the kernel, because that waits for pages to be written back and for locks of directories,
 * which depends on requests that session threads and the volume's serve. */
#ifndef BALE_FS_FUSE_DROP_H
#define BALE_FS_FUSE_DROP_H

#include "fs/fuse/mount.h"

struct bale_drops;

/* BALE_E_NOMEM. */
int bale_drops_create(struct fuse_session *const *session, struct bale_drops **drops);
/* Ends the thread; what comes later is not dropped. Call it while requests are still served. */
void bale_drops_stop(struct bale_drops *drops);
void bale_drops_destroy(struct bale_drops *drops);

/* Length 0: up to the end. Any thread, no lock of a file held; never waits for the kernel. */
void bale_drops_add(struct bale_drops *drops, fuse_ino_t ino, off_t offset, off_t length);
/* A name, whether there is such a file or not. */
void bale_drops_add_name(struct bale_drops *drops, fuse_ino_t dir, const char *name);

#endif
