/* The connection with the kernel: mounting, negotiation, and the threads that receive requests. */
#ifndef BALE_FS_DAEMON_SESSION_H
#define BALE_FS_DAEMON_SESSION_H

#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/mount.h"

struct bale_session;

/* Mounts and answers the kernel's first request; mount->session is set. ended: an eventfd that
 * is written to when the file system is gone. On failure why says so. */
int bale_session_create(struct bale_mount *mount, const struct bale_mount_options *options,
                        const char *mountpoint, int ended, struct bale_session **session,
                        struct bale_reason *why);
/* One line: what was agreed on with the kernel. */
const char *bale_session_text(const struct bale_session *session);
int bale_session_start(struct bale_session *session, unsigned threads);
/* Writes back what the kernel holds and takes the mount out of the tree, lazily; it is served on
 * until stop. */
void bale_session_unmount(struct bale_session *session);
/* Ends the threads. Requests under way are answered by those who have them, until destroy. */
void bale_session_stop(struct bale_session *session);
void bale_session_destroy(struct bale_session *session); /* NULL is fine */

#endif
