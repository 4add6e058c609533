/* fusermount3, which unmounts for those who may not do it themselves. */
#ifndef BALE_FS_DAEMON_UNMOUNT_H
#define BALE_FS_DAEMON_UNMOUNT_H

#include <stdbool.h>

/* Its words for execvp or posix_spawnp, mountpoint the last of them. lazy: also where somebody
 * uses the mount. quiet: it says nothing when it fails. */
struct bale_fusermount {
    char *words[7];
};
struct bale_fusermount bale_fusermount(const char *mountpoint, bool lazy, bool quiet);

#endif
