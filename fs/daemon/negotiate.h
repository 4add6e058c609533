/* What is agreed on with the kernel, and the call that mounts. */
#ifndef BALE_FS_DAEMON_NEGOTIATE_H
#define BALE_FS_DAEMON_NEGOTIATE_H

#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/daemon/trust.h"
#include "fs/fuse/mount.h"

struct bale_negotiation {
    bool agreed;       /* the kernel's INIT request was answered */
    unsigned max_read; /* as the mount option says; 0: no limit */
    unsigned max_write;
    char text[768];    /* one line for the log */
    char trouble[256]; /* the last warning of libfuse */
};

/* Mounts. The caller receives the first request, INIT, which then sets agreed and text; negotiation
 * must live until then. NULL, and why. */
struct fuse_session *bale_negotiation_mount(struct bale_negotiation *negotiation,
                                            struct bale_mount *mount,
                                            const struct bale_mount_options *options,
                                            const struct bale_trust *trust, const char *mountpoint,
                                            struct bale_reason *why);

/* Raises the kernel's read-ahead for the mount, if this process may, and adds the size that it has
 * then to text. */
void bale_negotiation_read_ahead(struct bale_negotiation *negotiation, uint64_t device);

#endif
