/* The kernel's table of mounts, /proc/self/mountinfo. */
#ifndef BALE_TOOLS_COMMON_MOUNTS_H
#define BALE_TOOLS_COMMON_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bale_mount_line {
    uint64_t id;
    char *text;   /* the strings that the other members point into */
    char *device; /* "MAJOR:MINOR" of its file system */
    char *root;   /* the part of the file system that point shows: "/", or a bind mount's */
    char *point;  /* absolute */
    char *type;   /* "fuse.balefs" */
    char *source;
    uid_t owner;      /* the user who mounted it, for a FUSE mount */
    bool allow_other; /* the same: other users may enter it */
};

/* The mount that an existing path lies in. 0 or a negative bale_err; after success the caller frees
 * mount. */
int bale_mounts_of(const char *path, struct bale_mount_line *mount);

/* The topmost mount exactly at point, an absolute path without symbolic links. Works for a dead
 * mount too. BALE_E_NOENT: there is none. */
int bale_mounts_at(const char *point, struct bale_mount_line *mount);

/* The mount that path lies in by its name alone: it is made absolute, but not opened, so this works
 * for paths that cannot be reached. BALE_E_NOENT also for names with "..". */
int bale_mounts_holding(const char *path, struct bale_mount_line *mount);

/* True if a balefs, dead or alive, is the topmost mount at path, which is followed. The caller then
 * frees mount. */
bool bale_mounts_here(const char *path, struct bale_mount_line *mount);

/* Whether the mount's file system is mounted at another place, too, whether mount still is or not.
 * The caller then frees other, one of these places. */
bool bale_mounts_beside(const struct bale_mount_line *mount, struct bale_mount_line *other);

/* Whether the process, a name in /proc, sees the mount's file system somewhere. Its source counts
 * as well as its device number: the kernel gives the number of one that has ended to the next. */
bool bale_mounts_seen_by(const char *process, const struct bale_mount_line *mount);

/* True if the process, a name in /proc, can see no mount of the store. False also if it has
 * ended. */
bool bale_mounts_lost_by(const char *process, const char *store);

/* The path of real, which is absolute and without symbolic links, in the mount that shows the
 * largest part of its file system: a bind mount shows a directory without those above it. The
 * caller frees it. A copy of real if no mount shows more; NULL: no memory. */
char *bale_mounts_widest(const char *real);

/* The rest of path below top, without a leading slash. Both are absolute. NULL: path is not below
 * top. */
const char *bale_mounts_rest(const char *top, const char *path);

/* A zeroed struct is allowed. */
void bale_mount_line_free(struct bale_mount_line *mount);

bool bale_mount_line_is_balefs(const struct bale_mount_line *mount);

/* True if error, an errno, says that a FUSE daemon is gone: already when it was asked, or while
 * the request waited. */
bool bale_mounts_is_gone(int error);

/* As realpath, but if the last name cannot be followed because the daemon of a mount is dead, it
 * resolves only the directory. The caller frees it; NULL with errno on failure. */
char *bale_mounts_path(const char *path);

#endif
