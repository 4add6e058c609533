/* How far a mount relies on its store. Nothing in a store proves who wrote it: chown, cp and tar of
 * root change the owner of everything. So only the owner and the mode of the store's directory
 * count, and what this mount has made itself. */
#ifndef BALE_FS_DAEMON_TRUST_H
#define BALE_FS_DAEMON_TRUST_H

#include <stdbool.h>

#include "fs/daemon/daemon.h"
#include "fs/fuse/mount.h"

struct bale_trust {
    /* For the kernel. The first four are also those of the mount that the store lies on;
     * nosymfollow in mounts of root alone: fusermount3 does not know it. */
    bool nosuid, nodev, noexec, nosymfollow;
    bool suid_dev; /* root's mount of a store of root: set-id programs and devices work */
    /* The CPU decodes: everything; or what a closed decoder would do, except in files that this
     * mount has made (mount->keeps_made). */
    bool untrusted_store, untrusted_input;
    bool unasked; /* untrusted_store, without an option: for the log */
};

/* Sets hides_set_id, hides_devices and keeps_made of the mount, whose other members from
 * daemon_start are set. mountpoint: as bale_mountpoint_find gives it. Errors of fstat and fstatvfs
 * count as the worst answer. */
void bale_trust_decide(struct bale_mount *mount, const struct bale_mount_options *options,
                       const char *mountpoint, struct bale_trust *trust);

#endif
