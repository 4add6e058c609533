/* What is agreed on with the kernel, and the calls that mount and unmount. */
#ifndef BALE_FS_DAEMON_NEGOTIATE_H
#define BALE_FS_DAEMON_NEGOTIATE_H

#include "format/reason.h"
#include "fs/daemon/daemon.h"
#include "fs/fuse/mount.h"

#define BALE_MAX_WRITE (1u << 20)

struct bale_negotiation {
    bool agreed;
    unsigned max_read; /* as the mount option says; 0: no limit */
    char text[768];    /* one line for the log */
    char trouble[256]; /* what libfuse said last */
};

/* Mounts; the first request is still to be received. NULL: why says it. */
struct fuse_session *bale_negotiation_mount(struct bale_negotiation *negotiation,
                                            struct bale_mount *mount,
                                            const struct bale_mount_options *options,
                                            const char *mountpoint, struct bale_reason *why);

/* st_dev of what is mounted there; asks the file system itself for nothing. 0: it cannot be
 * said, as of /dev/fd/N. */
uint64_t bale_mount_device(const char *mountpoint);

/* Writes back what the kernel holds and detaches the mount, if the one of that device is still
 * there. */
void bale_mount_detach(const char *mountpoint, uint64_t device);

/* Lets the kernel read ahead far, if we may, and adds to text how far it does. */
void bale_negotiation_read_ahead(struct bale_negotiation *negotiation, uint64_t device);

#endif
