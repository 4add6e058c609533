/* The mount options for the kernel and fusermount3, as one text for libfuse. */
#ifndef BALE_FS_DAEMON_KERNEL_OPTIONS_H
#define BALE_FS_DAEMON_KERNEL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/daemon/daemon.h"
#include "fs/daemon/trust.h"
#include "fs/fuse/mount.h"

#define BALE_KERNEL_OPTIONS_MAX 8192

struct bale_kernel_options {
    char text[BALE_KERNEL_OPTIONS_MAX];
    size_t length;
    bool full;         /* they did not fit */
    unsigned max_read; /* the option max_read, which libfuse wants in INIT too; 0: no limit */
};

/* Sets all of *o. The mount's and trust's members must be set. */
void bale_kernel_options_compose(const struct bale_mount *mount,
                                 const struct bale_mount_options *options,
                                 const struct bale_trust *trust, struct bale_kernel_options *o);

#endif
