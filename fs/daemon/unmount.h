/* Which mount lies at a path, and taking it away. */
#ifndef BALE_FS_DAEMON_UNMOUNT_H
#define BALE_FS_DAEMON_UNMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Distinguishes a mount from earlier and later ones at the same path. */
struct bale_mount_identity {
    uint64_t id;     /* from statx */
    uint64_t device; /* st_dev; 0: unknown */
    bool unique;     /* id is never given to another mount (Linux 6.8) */
};

/* Identifies the mount on which fd (which may be O_PATH) lies, or path if fd is AT_FDCWD. Like the
 * rest of this header it sends no request to the daemon of that mount, which may hang. */
struct bale_mount_identity bale_mount_identify(int fd, const char *path);
/* False also if either is unknown. */
bool bale_mount_is_same(const struct bale_mount_identity *a, const struct bale_mount_identity *b);

/* st_dev of what is mounted at a directory; 0: unknown, as for /dev/fd/N. */
uint64_t bale_mount_device(const char *mountpoint);

/* The command line of fusermount3, which unmounts for users who may not do it themselves, for
 * execvp or posix_spawnp; it points to mountpoint. lazy: also if programs use the mount. quiet:
 * without messages. */
struct bale_fusermount {
    char *words[7];
};
struct bale_fusermount bale_fusermount(const char *mountpoint, bool lazy, bool quiet);

/* Takes the mount out of the tree, if the mount at the path still has that device and no program
 * uses it. As root, the first call has the kernel mark the mount as unused, and a later one
 * succeeds if nobody has looked a path up in it since; otherwise, if due is set, fusermount3
 * unmounts. True: it is gone. Other threads must serve requests. */
bool bale_mount_expire(const char *mountpoint, uint64_t device, bool due);

/* Makes the kernel write back its dirty pages and takes the mount out of the tree, if the mount at
 * the path still has that device. This does send requests: another thread must serve them. */
void bale_mount_detach(const char *mountpoint, uint64_t device);

#endif
