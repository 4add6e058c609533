/* What the sources of the store share. Only for fs/store and its tests. Calls go one way: volume.c,
 * properties.c, init.c and remake.c, store.c, session.c, result.c, lock_watch.c, lock_look.c,
 * session_file.c, session_list.c, lock.c, config.c and top.c, config_json.c, lock_directory.c,
 * lock_file.c, holder.c, probe.c, match.c, exists.c, log.c, touch.c, replace.c, file.c,
 * platform.c. */
#ifndef BALE_FS_STORE_INTERNAL_H
#define BALE_FS_STORE_INTERNAL_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "fs/store/platform.h"
#include "fs/store/session_list.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"

/* A version of sessions.json: any change of the file makes another one. */
struct bale_sessions_version {
    uint64_t inode, size;
    int64_t seconds; /* when it was written */
    uint32_t nanoseconds;
};

#define BALE_WRITER_SIZE 17
#define BALE_MARK_SIZE 64

struct bale_sessions {
    char identity[BALE_IDENTITY]; /* of this boot and mount */
    uint32_t first;               /* this mount's first session; 0: a reader */
    _Atomic uint32_t current;     /* 0: a reader */
    pthread_rwlock_t roll;        /* struct bale_container_config.session_roll */
    /* Guarded by lock; list changes only under bale_store.change too. */
    pthread_mutex_t lock;
    struct bale_session_list list;
    /* "writer" of sessions.json: a random number of each writer that opens the store. */
    char writer[BALE_WRITER_SIZE];
    char writer_before[BALE_WRITER_SIZE]; /* whose file it was when the store was opened */
    /* What this mount wrote or, beside a writer, read; guarded by bale_store.change. */
    struct bale_sessions_version version;
    bool present; /* sessions.json existed when the store was opened */
    bool unclean; /* the session before this mount's did not end cleanly; set when opening */
    bool tainted;
};

/* Versions of the configuration. All stay until the store is closed, because readers take no
 * lock. */
struct bale_config_version {
    struct bale_store_config config;
    struct bale_config_version *older;
};

struct bale_store_lock {
    int directory;          /* the store's directory, with its flock; -1: there is none */
    int fd;                 /* of the lock, with its flock if there is one; or -1 */
    int second;             /* of the second lock; -1: there is none */
    _Atomic int64_t looked; /* when the last look began, or the lock was taken: bale_platform_now */
    bool text;              /* the lock's text is ours, and release removes it */
    bool link;              /* the file system has no flock: the file's existence is the lock */
    int64_t touched;        /* when bale_store_touch was last called: the watch's */
    /* The watch. looking is held over a look, and locked before bale_store.change. */
    pthread_mutex_t looking;
    pthread_cond_t ended;
    bool end;     /* guarded by looking */
    bool trouble; /* was logged; guarded by looking */
    bool watched; /* watch runs */
    pthread_t watch;
};

/* What bale_store_notice tells. */
enum { BALE_NOTICE_VOLUME, BALE_NOTICE_SESSIONS, BALE_NOTICES };

/* A member without a lock here does not change after opening, or is used by one thread only. */
struct bale_store {
    char *path;
    enum bale_store_access access;
    int root_fd; /* O_PATH */
    int dir_fd;  /* .balefs, open for reading: for fsync and syncfs */
    int top_fd;  /* .balefs/top, O_PATH; -1: there is none */
    bool believes_syncfs;
    int reserve_fd;
    const char *takeover; /* of bale_store_open_takeover; only while the store is opened */
    struct bale_store_lock lock;
    atomic_bool stopped;    /* another writer has the store: nothing is written any more */
    pthread_mutex_t change; /* one change of .balefs at a time; locked before sessions.lock */
    json_t *volume;         /* volume.json as it is on disk; guarded by change */
    bool volume_missing;    /* when it was read last, only the copy was there */
    bool repair;            /* BALE_STORE_REPAIR; access is then BALE_STORE_WRITE */
    struct bale_store_notice notices[BALE_NOTICES];
    _Atomic(struct bale_config_version *) config;
    struct bale_sessions sessions;
    struct bale_store_abilities abilities;
    struct bale_store_totals totals;
    atomic_flag bad_setting_reported; /* bad attributes are logged once */
};

/* store.c */
/* A store with nothing opened. NULL: no memory. */
struct bale_store *bale_store_new(enum bale_store_access access);
/* Gives the locks back; ends no session. */
void bale_store_free(struct bale_store *store);
/* Opens the store's directory, and .balefs in it. */
int bale_store_open_root(struct bale_store *store, const char *path, struct bale_reason *why);
int bale_store_open_own(struct bale_store *store, struct bale_reason *why);

/* result.c */
int bale_store_write_result(struct bale_store *store, bool clean, const char *result);
/* Whether sessions.json is the file that the last mount left, or that is not known. */
bool bale_result_left_sessions(const struct bale_store *store);

/* config.c */
/* Reads volume.json or, if it is missing or damaged, its copy; one must be valid. */
int bale_config_read(struct bale_store *store, struct bale_reason *why);
/* For a writer, after reading: makes volume.json again if it is missing or, in a repair, damaged,
 * and otherwise brings the copy up to date. A failure is only logged. */
void bale_config_keep_both(struct bale_store *store);
/* Makes both again from what was read. Under change. */
int bale_config_restore(struct bale_store *store);
/* Makes volume.json and its copy, with a new uuid. */
int bale_config_remake(struct bale_store *store, const struct bale_store_config *config,
                       struct bale_reason *why);
void bale_config_free(struct bale_store *store);

/* config_json.c */
/* config is zeroed. The caller frees what it owns, also on failure. */
int bale_config_from_json(const json_t *json, const char *path, struct bale_store_config *config,
                          struct bale_reason *why);
/* Checks what a user may change, and puts it into json: codec, extent, whether that is chosen, and
 * match. */
int bale_config_put(json_t *json, const struct bale_store_config *config, const char *path,
                    struct bale_reason *why);
/* Makes a new volume.json with a new uuid; the caller releases it. */
int bale_config_new(const struct bale_store_config *config, const char *path, json_t **json,
                    struct bale_reason *why);

/* session_file.c */
int bale_sessions_read(struct bale_store *store, struct bale_reason *why);
/* Reads it again if it has changed. True: it has, and the list is another one. */
bool bale_sessions_read_again(struct bale_store *store);
/* errno is set on failure. Under change, except while the store is opened. */
int bale_sessions_write(struct bale_store *store, const struct bale_session_list *list);
bool bale_sessions_new_writer(struct bale_sessions *sessions); /* false: no random numbers */
/* Whether sessions.json is what this mount wrote. *changed: it is not, or is missing, and must be
 * written again. BALE_E_BUSY: another writer has written it since the store was opened. Under
 * change. */
int bale_sessions_look(struct bale_store *store, bool *changed);
/* Sets mark to what identifies the file: another file of this name, or this one with other
 * contents, has another mark. False: it cannot be found out. */
bool bale_sessions_mark(const struct bale_store *store, char mark[static BALE_MARK_SIZE]);

/* session.c */
/* Reads the list and, for a writer, starts a session. */
int bale_sessions_open(struct bale_store *store, struct bale_reason *why);
int bale_sessions_close(struct bale_store *store, bool clean); /* does not free */
void bale_sessions_free(struct bale_store *store);
/* struct bale_container_config.session_state; locks sessions.lock. */
enum bale_session_state bale_session_state(const void *store, uint32_t session);

/* touch.c */
/* What cleans up scratch space goes by the age of files: gives those of .balefs the present time.
 * For a writer, when it opens the store and once a day. */
void bale_store_touch(const struct bale_store *store);

/* lock.c; store->path and root_fd are set. */
/* Locks the store's directory, the first of the locks. Does nothing if that is done. */
int bale_lock_begin(struct bale_store *store, struct bale_reason *why);
/* Takes all of them; dir_fd is set. */
int bale_lock_take(struct bale_store *store, struct bale_reason *why);
/* Whether the directory's lock is enough to keep all other writers out. */
bool bale_lock_is_certain(const struct bale_store *store);
void bale_lock_release(struct bale_store *store);

/* top.c. Only for a store's owner or root; errno is set on failure. */
#define BALE_TOP "top"
/* Closes the store whose directory is root, open for reading, to others: makes .balefs/top, unless
 * it is there, from the owner, mode and ACLs of root, and then takes the permissions of all but the
 * owner away from root. dir: .balefs. */
int bale_top_close(int root, int dir);
/* Makes .balefs/top again from what the store has open. */
int bale_top_restore(struct bale_store *store);

/* probe.c */
/* Refuses a directory where names that differ only in case are the same file: the kernel caches
 * what it looks up in the mount, and does not know that two such names are one. */
int bale_store_check_case(const char *path, int dir, struct bale_reason *why);
void bale_store_probe(struct bale_store *store);

/* match.c */
/* Whether the setting may be a directory's, which is inherited, or the volume's: a lossy one may
 * not. BALE_E_INVALID, and why. */
int bale_setting_check_spread(struct bale_setting setting, struct bale_reason *reason);

/* Splits "GLOB CODEC": the glob is line[0, *glob). BALE_E_INVALID: it is no match line; reason is
 * set as by bale_setting_parse. */
int bale_match_parse(const char *line, size_t *glob, struct bale_setting *setting,
                     struct bale_reason *reason);

#endif
