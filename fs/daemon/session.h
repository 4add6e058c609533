/* The connection with the kernel: mounting, negotiation, and the threads that receive requests. */
#ifndef BALE_FS_DAEMON_SESSION_H
#define BALE_FS_DAEMON_SESSION_H

#include <stdbool.h>

#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/daemon/trust.h"
#include "fs/fuse/mount.h"

struct bale_session;

/* Mounts, answers the kernel's first request, and sets mount->session and the handler of
 * mount->freezer. ended: an eventfd; the session writes to it when the file system is gone. On
 * failure a negative bale_err, and usually why. */
int bale_session_create(struct bale_mount *mount, const struct bale_mount_options *options,
                        const struct bale_trust *trust, const char *mountpoint, int ended,
                        struct bale_session **session, struct bale_reason *why);
/* One line: what was agreed on with the kernel. */
const char *bale_session_text(const struct bale_session *session);
/* Starts the threads that receive requests. 0 or BALE_E_NOMEM. */
int bale_session_start(struct bale_session *session, unsigned threads);
/* Makes the kernel write back its dirty pages and takes the mount out of the tree, lazily. Requests
 * are served until stop. */
void bale_session_unmount(struct bale_session *session);
/* Whether a program's request came since the last call. */
bool bale_session_was_used(struct bale_session *session);
/* Ends the threads. Callbacks may still reply to requests under way, until destroy. */
void bale_session_stop(struct bale_session *session);
void bale_session_destroy(struct bale_session *session); /* NULL is fine */

#endif
