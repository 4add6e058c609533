/* A store: the directory, its volume.json, sessions, lock and reserve (FORMAT.md section 2). No
 * FUSE here. */
#ifndef BALE_FS_STORE_STORE_H
#define BALE_FS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "format/codecs.h"
#include "format/reason.h"
#include "fs/container/container.h"

#define BALE_STORE_DIR ".balefs"

struct bale_store_config {
    char uuid[37];
    bool modes_in_container; /* "modes": "container" instead of "inode" */
    struct bale_setting setting;
    uint32_t extent;
    bool extent_chosen; /* by a user, though it may be the default */
    char **match;       /* "GLOB CODEC", NULL-terminated */
};

struct bale_store;
struct bale_volume_options;

/* Makes a store of an empty or new directory: creates path and .balefs/volume.json in it, fsynced.
 * Takes setting, extent, match and modes_in_container from config; makes the uuid. The store of an
 * ordinary user always has its modes in the containers: otherwise the user could not reopen their
 * own 0444 files. Refuses a directory that is not empty or lies inside a store.
 *
 * All functions here that have a why (may be NULL) set it on failure, to one line "PATH: what
 * happened: what to do". */
int bale_store_init(const char *path, const struct bale_store_config *config,
                    struct bale_reason *why);
/* The same with the default settings, unless path has a .balefs already: then opening the store
 * tells whether it is valid. */
int bale_store_init_missing(const char *path, struct bale_reason *why);

enum bale_store_access {
    BALE_STORE_WRITE,    /* takes the lock, starts a session */
    BALE_STORE_READONLY, /* takes the lock shared: refused beside a writer, and refuses one */
    BALE_STORE_BESIDE,   /* no lock: reads what a writer, if there is one, has committed */
    BALE_STORE_UNLOCKED, /* no lock: for inspect and stat of an unmounted or foreign store */
    BALE_STORE_REPAIR,   /* as BALE_STORE_WRITE, and replaces damaged files of .balefs */
};
/* The lock names the calling process, so a daemon opens its store after it has forked. BALE_E_BUSY:
 * locked; BALE_E_NOENT: not a store; BALE_E_UNSUPPORTED: newer; BALE_E_CORRUPT. */
int bale_store_open(const char *path, enum bale_store_access access, struct bale_store **store,
                    struct bale_reason *why);
/* The same; replaces a lock that was left behind by a process of the boot takeover (its boot id, as
 * the message of BALE_E_BUSY gives it; NULL: none), although it cannot be told whether that process
 * has ended. */
int bale_store_open_takeover(const char *path, enum bale_store_access access, const char *takeover,
                             struct bale_store **store, struct bale_reason *why);
/* For a writer that stays: starts a thread that makes again what others remove from .balefs, each
 * second, and stops all writing if another writer has taken the store. BALE_E_NOMEM. */
int bale_store_watch(struct bale_store *store);
/* Whether another writer has the store, or had it meanwhile: nothing is written to it any more, and
 * what would is to fail with EIO. Call it before each change. If this process or its machine was
 * suspended, so that nobody has looked for 2 s, looks first, which may wait for the store's file
 * system; true also while that does not tell whose the store is. Any thread, without the store's
 * locks. */
bool bale_store_is_stopped(struct bale_store *store);
/* Whether it would look first. */
bool bale_store_must_look(const struct bale_store *store);

/* What was found wrong with one of the store's own files when it was opened. */
struct bale_store_notice {
    const char *below; /* the file, relative to the store; NULL: nothing */
    char text[160];    /* "what happened: what to do", or what was done */
    bool repaired;
};
/* NULL: nothing more. i counts from 0. */
const struct bale_store_notice *bale_store_notice(const struct bale_store *store, unsigned i);

/* Whether path is a store, or the remains of one: a file of .balefs is there. closed (may be NULL)
 * is set if that cannot be found out. */
bool bale_store_exists(const char *path, bool *closed);
/* Whether both volume.json and its copy are lost or damaged: BALE_OK: one of them serves;
 * BALE_E_CORRUPT: bale_store_remake is needed; else another error, and why. */
int bale_store_check_volume(const char *path, struct bale_reason *why);
/* Makes both again, and .balefs if it is missing, with the values of config and a new uuid. Takes
 * the lock meanwhile. */
int bale_store_remake(const char *path, const struct bale_store_config *config,
                      struct bale_reason *why);

int bale_store_root_fd(const struct bale_store *store); /* O_PATH | O_DIRECTORY */
/* .balefs/top, whose owner, mode and ACLs are those of the mount's root. O_PATH | O_DIRECTORY; -1:
 * there is none, and those of the store's directory count. */
int bale_store_top_fd(const struct bale_store *store);
const char *bale_store_path(const struct bale_store *store); /* absolute */
/* The present configuration; everything it points to stays until the store is closed. Any
 * thread. */
const struct bale_store_config *bale_store_config(const struct bale_store *store);
/* Changes setting, extent and match durably, but not uuid and modes. Only for a writer. Any
 * thread. */
int bale_store_set_config(struct bale_store *store, const struct bale_store_config *config,
                          struct bale_reason *why);

/* The config for this store's containers; valid as long as the store is open. */
void bale_store_container_config(struct bale_store *store, struct bale_container_config *config);
/* Call it when the sync of a container has failed: every session of this mount stays uncertain for
 * good, and this is on disk when the function returns. Any thread. */
int bale_store_taint(struct bale_store *store);
/* Whether syncfs() makes the whole store durable. Where it does not, the writer syncs each file. */
bool bale_store_believes_syncfs(const struct bale_store *store);
/* Whether a mount before this one may have left what was not synced, and nothing has synced it
 * since: it did not end cleanly, and syncfs() is not believed. Only for a writer. */
bool bale_store_has_unsynced(const struct bale_store *store);
/* Makes everything written to the store durable, with syncfs(). BALE_E_UNSUPPORTED: that is not
 * believed here. Any thread. */
int bale_store_sync(struct bale_store *store);
/* Begins the next session and makes the earlier ones durable (bale_store_sync) and certain, so that
 * after a power loss only data written since must be verified. Takes as long as a sync. Any thread,
 * also while containers are written. BALE_E_IO: a sync failed, now or earlier. */
int bale_store_checkpoint(struct bale_store *store);
/* The same in two steps, where the caller syncs each file between them: after begin, roots have the
 * new session's number. end: everything that earlier sessions of this mount wrote is durable. */
int bale_store_checkpoint_begin(struct bale_store *store, uint32_t *session);
int bale_store_checkpoint_end(struct bale_store *store, uint32_t session);
/* Fills in the options of a volume that come from its store: the container config and, for a
 * writer, checkpoints and the descriptor of the reserve (which is empty; the volume sizes it). */
void bale_store_volume_options(struct bale_store *store, struct bale_volume_options *options);
/* The attributes of empty containers. */
void bale_store_defaults(const struct bale_store *store, struct bale_container_attr *attr);

/* What the backing file system can do; a writer finds out in .balefs when it opens the store. */
struct bale_store_abilities {
    bool user_xattr, posix_acl, allocate, punch, tmpfile, file_handles, flock;
    char text[200]; /* lists in one line what it cannot do; empty: nothing */
};
const struct bale_store_abilities *bale_store_abilities(const struct bale_store *store);
/* The same for the file system of any directory. write: the directory is a new one of the caller's,
 * where files may be made; without it only reading is tried. 0 or a negative bale_err. */
int bale_store_probe_directory(const char *path, bool write, struct bale_store_abilities *can);

/* The key of the mounts' file handles (FORMAT.md 2), which a writer makes if there is none. Only in
 * a store of root's, as root: BALE_E_PERM otherwise, and if others may know the key, which only a
 * reader leaves so; BALE_E_NOENT: there is none. */
int bale_store_handle_key(struct bale_store *store, uint8_t *key, size_t size);

/* Totals of a mount, for last-unmount.json; as in struct bale_volume_stats. */
struct bale_store_totals {
    uint64_t read;                        /* bytes that programs read */
    uint64_t written, compressed, stored; /* bytes: written; given to the encoder; its output */
    uint64_t commits, syncs;
    uint64_t throttled; /* writes that had to wait */
    uint64_t errors;
    uint64_t cpu_us;
};
/* bale_store_close writes them. */
void bale_store_set_totals(struct bale_store *store, const struct bale_store_totals *totals);

/* clean: everything written in this session was committed without error and, where syncfs() is not
 * believed, synced file by file. Then calls syncfs where it is, and removes this session, and all
 * others of this boot and mount, from the list of uncertain ones. Writes result (may be NULL;
 * UTF-8) and the totals to .balefs/last-unmount.json for `balefs umount` (FORMAT.md 2). Empties the
 * reserve; releases the lock last. Frees the store in any case, and returns the first error. NULL
 * is fine. */
int bale_store_close(struct bale_store *store, bool clean, const char *result);

/* What the last daemon of the store at path wrote when it ended (FORMAT.md 2), which the caller
 * releases; NULL: nothing, or somebody else than the store's owner, root or the caller wrote it. */
struct json_t *bale_store_last_unmount(const char *path);

/* Whether the store at path is locked; then sets name to its holder, for messages: "process 123 on
 * host H since T". */
bool bale_store_locked_by(const char *path, char *name, size_t size);
/* The process that has locked it for writing, if it runs in this boot and pid namespace; or 0. */
pid_t bale_store_locked_here(const char *path);
/* The same, of a writer. */
bool bale_store_written_by(const char *path, char *name, size_t size);

/* ---- Who may reach the containers ------------------------------------------------------------ */

/* Whether others than the owner of the store's directory may look into it, beside any mount. Such a
 * store is open: its containers are guarded by their own permissions alone. */
bool bale_store_is_open(const struct bale_store *store);
/* What is wrong with the reach of a store of root's: a constant text that completes "STORE: ";
 * bale_store_shut cures it. NULL: nothing, or it is a user's store, which is the user's affair. */
const char *bale_store_reach(const struct bale_store *store);
/* Replaces owner and mode in *st, the store's directory's, by those of .balefs/top if there is one,
 * and the ctime if that of .balefs/top is later. 0 or an errno. */
int bale_store_top_attributes(const struct bale_store *store, struct stat *st);
/* Gives the store's directory what new names in it inherit from .balefs/top: group, set-group-ID
 * and default ACL; not in a user's store if somebody else owns .balefs/top. Call it after each
 * change of .balefs/top. 0 or an errno. */
int bale_store_top_inherit(const struct bale_store *store);
/* Makes owner, mode and ACLs of .balefs/top durable, unless this process may not read it. 0 or an
 * errno. */
int bale_store_top_sync(const struct bale_store *store);
/* Closes an open store, which nobody may have mounted: from then on the permissions of its
 * directory are those of the mount's root, and the directory is its owner's alone. */
int bale_store_shut(const char *path, struct bale_reason *why);

/* ---- The log of its daemon ------------------------------------------------------------------- */

#define BALE_STORE_LOG "log" /* in .balefs */
/* .balefs of a store that is open for writing, which the caller closes; -1: of another, or there is
 * no descriptor. */
int bale_store_log_directory(const struct bale_store *store);
/* Opens a file for appending that only its owner can read, or makes it. dir: where nobody else
 * makes files, or .balefs; what is not such a file is removed. renew: begins a new file, and the
 * one that was there gets the suffix ".1". errno is set on failure. */
int bale_store_log_open(int dir, const char *name, bool renew, int *fd);

/* ---- Settings by directory ------------------------------------------------------------------- */

#define BALE_XATTR_CODEC "user.balefs.codec"
#define BALE_XATTR_EXTENT "user.balefs.extent"
#define BALE_XATTR_MATCH "user.balefs.match"
#define BALE_XATTR_STAT "user.balefs.stat"

/* Sets attr to the attributes of a new regular file called name in the directory dir_fd. Its codec
 * comes from the directory's match lines, else the directory's codec, else the volume's match
 * lines, else the volume's codec; likewise the extent size. The explicit flags are set for those
 * that come from the directory; the rest is as from bale_store_defaults, but for
 * bale_properties_fit_extent. dir_fd may be O_PATH; -1: a directory without settings. A value that
 * this program cannot read counts as absent; the first one is logged. */
int bale_properties_for_new(const struct bale_store *store, int dir_fd, const char *name,
                            struct bale_container_attr *attr);
/* Makes the extents of a file without data larger where nobody chose their size, neither for the
 * directory nor for the volume, and its codec stores what the chunks of an extent share. */
void bale_properties_fit_extent(const struct bale_store *store, struct bale_container_attr *attr);
/* Copies the three setting attributes from a directory to a new one inside it, without match lines
 * that are lossy: these are for files of their own directory alone. */
int bale_properties_inherit(int parent_fd, int child_fd);
/* Whether one of the directory's match lines is lossy, or they cannot be read. */
bool bale_properties_has_bound(int dir_fd);
/* Checks a value for one of the three setting attributes of a directory: BALE_E_INVALID or
 * BALE_E_TOOBIG, and why. clean gets the normalised text with a NUL (room for 4096 bytes):
 * "zstd:3", "131072", or lines "GLOB CODEC" with a newline between. */
int bale_properties_check(const char *name, const char *value, size_t length, char *clean,
                          struct bale_reason *why);
/* The same for a codec setting of a file, which may be lossy. */
int bale_properties_check_codec(const char *value, size_t length, struct bale_setting *setting,
                                struct bale_reason *why);
/* The value of the extent attribute: "128K", "1M" or bytes. Stricter than sizes on the command line
 * (bale_size_parse), because it is stored. */
bool bale_extent_parse(const char *text, uint32_t *extent);

#endif
