/* A store: the directory, its volume.json, sessions, lock and reserve (FORMAT.md section 2). No
 * FUSE here. */
#ifndef BALE_FS_STORE_STORE_H
#define BALE_FS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/codecs.h"
#include "format/reason.h"
#include "fs/container/container.h"

#define BALE_STORE_DIR ".balefs"

struct bale_store_config {
    char uuid[37];
    bool modes_in_container; /* "modes": "container" */
    struct bale_setting setting;
    uint32_t extent;
    char **match; /* "GLOB CODEC", NULL-terminated */
};

struct bale_store;
struct bale_volume_options;

/* Makes a store of an empty or new directory: path, and .balefs/volume.json in it, fsynced. Takes
 * setting, extent, match and modes_in_container from config; makes the uuid. An ordinary user's store
 * always holds its modes: it could not reopen its own 0444 files otherwise. Refuses a directory
 * that has anything in it or lies inside a store. Every function here with why: on failure it gets
 * "PATH: what happened: what to do". */
int bale_store_init(const char *path, const struct bale_store_config *config,
                    struct bale_reason *why);
/* The same with the usual settings, but nothing where there is a .balefs: opening it says if it is
 * good. */
int bale_store_init_missing(const char *path, struct bale_reason *why);

enum bale_store_access {
    BALE_STORE_WRITE,    /* takes the lock, starts a session */
    BALE_STORE_READONLY, /* takes the lock shared: refused beside a writer */
    BALE_STORE_UNLOCKED, /* no lock: for inspect and stat of an unmounted or foreign store */
};
/* A writer or reader is opened in the process that stays: the lock names it.
 * BALE_E_BUSY: locked; BALE_E_NOENT: not a store; BALE_E_UNSUPPORTED: newer; BALE_E_CORRUPT. */
int bale_store_open(const char *path, enum bale_store_access how, struct bale_store **store,
                    struct bale_reason *why);

int bale_store_root_fd(const struct bale_store *store);      /* O_PATH | O_DIRECTORY */
const char *bale_store_path(const struct bale_store *store); /* absolute */
/* As of now; what it points to stays until the store is closed. From any thread. */
const struct bale_store_config *bale_store_config(const struct bale_store *store);
/* Changes setting, extent and match, durably; uuid and modes stay. Only for a writer. From any
 * thread. */
int bale_store_set_config(struct bale_store *store, const struct bale_store_config *config,
                          struct bale_reason *why);

/* Session number and certainty for containers; valid as long as the store is open. */
void bale_store_container_config(struct bale_store *store, struct bale_container_config *config);
/* A sync of a container failed: every session of this mount stays uncertain for good, on disk
 * before this returns. From any thread. */
int bale_store_taint(struct bale_store *store);
/* Rolls on to the next session and makes the ones before durable (syncfs) and certain: what must be
 * verified after a power loss is what was written since. Takes as long as a sync; from any thread,
 * while containers are written. BALE_E_IO: a sync failed, now or earlier. */
int bale_store_checkpoint(struct bale_store *store);
/* Fills in what a volume needs of its store: sessions and, of a writer's, checkpoints and the
 * reserve's descriptor (made and kept empty; the volume sizes it). */
void bale_store_volume_options(struct bale_store *store, struct bale_volume_options *options);
/* Defaults for empty containers. */
void bale_store_defaults(const struct bale_store *store, struct bale_container_attr *attr);

/* What the backing file system can do, found at open (probing in .balefs). */
struct bale_store_abilities {
    bool user_xattr, posix_acl, punch, tmpfile, file_handles, flock;
    char text[160]; /* one line: what is lacking, or empty */
};
const struct bale_store_abilities *bale_store_abilities(const struct bale_store *store);
/* The same of any directory's file system. write: the directory is a new one of the caller's;
 * without it only what can be known by reading. 0 or a negative bale_err. */
int bale_store_probe_directory(const char *path, bool write, struct bale_store_abilities *can);

/* What a mount did, for last-unmount.json: as in struct bale_volume_stats. */
struct bale_store_totals {
    uint64_t written, compressed, stored; /* bytes: written; through the encoder; what it made */
    uint64_t commits, syncs;
    uint64_t throttled; /* writes that had to wait */
    uint64_t errors;
    uint64_t cpu_us;
};
/* Kept until bale_store_close writes them. */
void bale_store_set_totals(struct bale_store *store, const struct bale_store_totals *totals);

/* clean: everything written in this session was committed without error: syncfs, then the session
 * leaves the uncertain list with all others of this boot and mount. result (may be NULL; UTF-8) is
 * kept in .balefs/last-unmount.json for `balefs umount` (FORMAT.md 2), with the totals. Empties the reserve; releases the lock
 * last. The first error comes back; the store is gone in any case. */
int bale_store_close(struct bale_store *store, bool clean, const char *result);

/* Says who holds the lock, for messages: "process 123 on host H since T"; false: nobody. */
bool bale_store_locked_by(const char *path, char *who, size_t size);

/* ---- Settings by directory ------------------------------------------------------------------- */

#define BALE_XATTR_CODEC "user.balefs.codec"
#define BALE_XATTR_EXTENT "user.balefs.extent"
#define BALE_XATTR_MATCH "user.balefs.match"
#define BALE_XATTR_STAT "user.balefs.stat"

/* What a new regular file called name gets in the directory fd: the directory's match lines, else
 * its codec, else the volume's match lines, else the volume's codec; likewise the extent size.
 * attr: setting, extent and the explicit flags (set when they come from the directory); the rest as
 * bale_store_defaults. dir_fd may be O_PATH. A directory's value that this program cannot read
 * counts as absent; the first one is logged. dir_fd -1: a directory without settings. */
int bale_properties_for_new(const struct bale_store *store, int dir_fd, const char *name,
                            struct bale_container_attr *attr);
/* Copies the three attributes from a directory to a new one inside it. */
int bale_properties_inherit(int parent_fd, int child_fd);
/* Checks a value to be set: BALE_E_INVALID or BALE_E_TOOBIG, and why. name is one of the three.
 * clean: normalised text, with a NUL (room for 4096): "zstd:3", "131072", or lines "GLOB CODEC"
 * with a newline between. */
int bale_properties_check(const char *name, const char *value, size_t length, char *clean,
                          struct bale_reason *why);
bool bale_extent_parse(const char *text, uint32_t *extent); /* "128K", "1M", bytes */

#endif
