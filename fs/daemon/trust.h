/* How far a mount relies on its store. Nothing in a store proves who wrote it, because root's
 * chown, cp and tar change owners. So a mount relies only on the owner and the mode of the store's
 * directory, and on files that it has made itself. */
#ifndef BALE_FS_DAEMON_TRUST_H
#define BALE_FS_DAEMON_TRUST_H

#include <stdbool.h>

#include "fs/daemon/daemon.h"
#include "fs/fuse/mount.h"

struct bale_trust {
    /* For the kernel. The first four are also set if the mount that the store lies on has them;
     * nosymfollow only in mounts of root, because fusermount3 does not know it. */
    bool nosuid, nodev, noexec, nosymfollow;
    bool suid_dev; /* set-id programs and devices work: root mounts root's store */
    /* untrusted_store: the CPU decodes everything. untrusted_input: the CPU decodes what a closed
     * decoder would do, except in files that this mount has made (mount->keeps_made). */
    bool untrusted_store, untrusted_input;
    bool unasked; /* untrusted_store although no option asks for it: the log says so */
};

/* Fills in *trust, and sets hides_set_id, hides_devices and keeps_made of the mount; daemon_start
 * has set its other members. mountpoint: as bale_mountpoint_find gives it. If fstat or fstatvfs
 * fails, trusts nothing. */
void bale_trust_decide(struct bale_mount *mount, const struct bale_mount_options *options,
                       const char *mountpoint, struct bale_trust *trust);

#endif
