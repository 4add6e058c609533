/* A store: the directory, its volume.json, sessions, lock and reserve (FORMAT.md section 2). No FUSE here. */
#ifndef BALE_FS_STORE_H
#define BALE_FS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/container.h"
#include "kernels/codec.h"

#define BALE_STORE_DIR ".balefs"
#define BALE_WHY 512 /* room for a reason, one line */

struct bale_store_config {
    char uuid[37];
    bool modes_held; /* "modes": "container" */
    struct bale_setting setting;
    uint32_t extent;
    char **match; /* "GLOB CODEC", NULL-terminated */
};

struct bale_store;

/* Makes a store of an empty or new directory: path, and .balefs/volume.json in it, fsynced. modes_held is chosen by the caller
 * (true when made by an ordinary user). Refuses a directory that has anything in it or is a store already.
 * Every function here with why: on failure it gets "PATH: what happened: what to do" (room for BALE_WHY). */
int bale_store_init(const char *path, const struct bale_store_config *config, char *why);

enum bale_store_how {
    BALE_STORE_WRITE,    /* takes the lock, starts a session */
    BALE_STORE_READONLY, /* takes the lock shared: refused beside a writer */
    BALE_STORE_LOOK,     /* no lock: for inspect and stat of an unmounted or foreign store */
};
int bale_store_open(const char *path, enum bale_store_how how, struct bale_store **store, char *why);

int bale_store_root_fd(const struct bale_store *store); /* O_PATH | O_DIRECTORY */
const char *bale_store_path(const struct bale_store *store); /* absolute */
const struct bale_store_config *bale_store_config(const struct bale_store *store);
int bale_store_set_config(struct bale_store *store, const struct bale_store_config *config, char *why);

/* Session number and certainty for containers; valid as long as the store is open. */
void bale_store_container_config(const struct bale_store *store, struct bale_container_config *config);
/* Defaults for empty containers. */
void bale_store_defaults(const struct bale_store *store, struct bale_container_attr *attr);

/* The reserve's descriptor (made and kept empty; the volume sizes it), or -1. */
int bale_store_reserve_fd(const struct bale_store *store);

/* What the backing file system can do, found at open (probing in .balefs). */
struct bale_store_abilities {
    bool user_xattr, posix_acl, punch, tmpfile, file_handles, flock;
    char text[160]; /* one line: what is lacking, or empty */
};
const struct bale_store_abilities *bale_store_abilities(const struct bale_store *store);

/* clean: everything written in this session was committed and synced without error: syncfs, then the session leaves the uncertain list (with
 * all others of this boot). result (may be NULL) is kept in .balefs/last-unmount.json for `balefs umount`. Releases
 * the lock last. */
int bale_store_close(struct bale_store *store, bool clean, const char *result);

/* Says who holds the lock, for messages; false: nobody. */
bool bale_store_locked_by(const char *path, char *who, size_t size);

/* ---- Settings by directory --------------------------------------------------------------------------------- */

#define BALE_XATTR_CODEC "user.balefs.codec"
#define BALE_XATTR_EXTENT "user.balefs.extent"
#define BALE_XATTR_MATCH "user.balefs.match"
#define BALE_XATTR_STAT "user.balefs.stat"

/* What a new regular file called name gets in the directory fd: the directory's match lines, else its codec, else the volume's
 * match lines, else the volume's codec; likewise the extent size. attr: setting, extent and the explicit flags (set when they come
 * from the directory). dir_fd may be O_PATH. */
int bale_props_for_new(const struct bale_store *store, int dir_fd, const char *name, struct bale_container_attr *attr);
/* Copies the three attributes from a directory to a new one inside it. */
int bale_props_inherit(int parent_fd, int child_fd);
/* Checks a value to be set: BALE_E_INVALID and why. name is one of the three. *clean: normalised text (room for 4096). */
int bale_props_check(const char *name, const char *value, size_t length, char *clean, char *why);
bool bale_extent_parse(const char *text, uint32_t *extent); /* "128K", "1M", bytes */

#endif
