/* The kernel's table of mounts, /proc/self/mountinfo. */
#ifndef BALE_TOOLS_COMMON_MOUNTS_H
#define BALE_TOOLS_COMMON_MOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bale_mount_line {
    uint64_t id;
    char *text;   /* holds what the others point to */
    char *device; /* "MAJOR:MINOR" of its file system */
    char *root;   /* what of the file system is shown at point: "/", but for bind mounts */
    char *point;  /* absolute */
    char *type;   /* "fuse.balefs" */
    char *source;
    uid_t owner;      /* who mounted it, if it is a FUSE mount */
    bool allow_other; /* likewise: lets others in */
};

/* The mount that path, which exists, lies in. 0 or a negative bale_err; to be freed after
 * success. */
int bale_mounts_of(const char *path, struct bale_mount_line *mount);

/* The topmost mount at exactly point, an absolute path without symbolic links; works for a dead
 * one. BALE_E_NOENT: none. */
int bale_mounts_at(const char *point, struct bale_mount_line *mount);

/* The mount that path lies in as far as its name tells, made absolute but without looking at
 * anything: for paths that cannot be reached. BALE_E_NOENT also for names with "..". */
int bale_mounts_holding(const char *path, struct bale_mount_line *mount);

/* True if path, followed, is where a balefs, dead or alive, is mounted topmost; mount is to be
 * freed then. */
bool bale_mounts_here(const char *path, struct bale_mount_line *mount);

/* real, absolute and without symbolic links, as it is called in the mount that shows the most of its
 * file system: a bind mount shows a directory without what leads to it. The caller frees; a copy of
 * real where no mount shows more; NULL: no memory. */
char *bale_mounts_widest(const char *real);

/* The rest of path below top, without a leading slash, both absolute; NULL: not below it. */
const char *bale_mounts_rest(const char *top, const char *path);

/* Zeroed is fine. */
void bale_mount_line_free(struct bale_mount_line *mount);

bool bale_mount_line_is_balefs(const struct bale_mount_line *mount);

/* realpath that resolves only the directory's part, so that a mount point whose daemon is dead can
 * be named. The caller frees; NULL and errno on failure. */
char *bale_mounts_path(const char *path);

#endif
