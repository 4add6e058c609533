/* What the parts of the store share. Not for use outside fs/store*.c, fs/store/properties.c and their tests.
 * */
#ifndef BALE_FS_STORE_INTERNAL_H
#define BALE_FS_STORE_INTERNAL_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"

/* ---- The machine (store_world.c) ------------------------------------------------------------- */

#define BALE_IDENTITY 96 /* room for BOOT:MOUNT */
#define BALE_HOST 72

/* What a store believes about the machine it runs on. Tests set it before any thread starts. */
struct bale_store_platform {
    const char *boot; /* NULL: the kernel's boot id */
    const char *host; /* NULL: the node name */
    bool network;     /* take every file system for a network's */
    int (*syncfs)(int fd);
    int (*flock)(int fd, int operation);
};
extern struct bale_store_platform bale_store_platform;

void bale_platform_boot(char boot[static BALE_IDENTITY]); /* empty: unknown */
void bale_platform_host(char host[static BALE_HOST]);
/* BOOT:MOUNT of the page cache that fd's file system writes to (FORMAT.md 2); empty: unknown. */
void bale_platform_identity(int fd, char identity[static BALE_IDENTITY]);
/* In clock ticks since the boot; 0: there is no such process. */
uint64_t bale_platform_process_start(pid_t pid);
uint64_t bale_platform_pid_namespace(void);
/* True if other machines may have fd's file system mounted too. */
bool bale_platform_is_network(int fd);

/* ---- Files inside .balefs (store_file.c) ----------------------------------------------------- */

#define BALE_JSON_MAX (1u << 20) /* bytes of a JSON file that is read */

void bale_text_printable(char *text); /* control characters become '?' */

/* Fills why (may be NULL) with one printable line and returns err. */
int bale_store_fail(struct bale_reason *why, int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same for a failed call: "WHERE/NAME: cannot be WHAT: ERRNO'S TEXT", with advice where there
 * is some. */
int bale_store_fail_errno(struct bale_reason *why, const char *path, const char *name,
                          const char *what);

/* Opens an existing regular file of the directory dir; anything else there is refused unopened. On
 * failure errno tells: ELOOP a symbolic link, EISDIR a directory, EINVAL another thing that is not
 * a file. */
int bale_store_file_open(int dir, const char *name, int flags, int *fd);
/* Makes a file, 0644, owned by the directory's owner if we may; EEXIST. Open for reading and
 * writing. */
int bale_store_file_create(int dir, const char *name, int *fd);
/* Opens .balefs of the directory root: a real directory on the same mount. */
int bale_store_directory_open(int root, int *fd);
/* Reads a file of at most max bytes; *text is NUL-terminated, the caller frees it. EFBIG: it is
 * longer. */
int bale_store_file_read(int dir, const char *name, size_t max, char **text, size_t *length);
/* Replaces a file atomically and durably. One caller at a time for each name. errno is set on
 * failure. */
int bale_store_file_replace(int dir, const char *name, const char *text, size_t length);
int bale_store_file_replace_json(int dir, const char *name, const json_t *json);
int bale_write_all(int fd, const char *text,
                   size_t length); /* at position 0; errno is set on failure */
/* fsync of a directory; file systems that cannot do that are trusted to need none. */
int bale_sync_directory(int fd);
/* Reads a JSON object. path is the store's, for why. */
int bale_store_file_read_json(int dir, const char *path, const char *name, json_t **json,
                              struct bale_reason *why);

/* ---- The store ------------------------------------------------------------------------------- */

struct bale_session_entry {
    uint32_t session;
    char boot[BALE_IDENTITY]; /* FORMAT.md 2; empty: a sync failed */
};

struct bale_session_list {
    uint32_t last;
    size_t count;
    struct bale_session_entry *entries;
};

struct bale_sessions {
    char identity[BALE_IDENTITY]; /* of this boot and mount */
    uint32_t first;               /* this mount's first session; 0: a reader */
    _Atomic uint32_t current;     /* 0: a reader */
    pthread_rwlock_t roll;        /* struct bale_container_config.session_roll */
    pthread_mutex_t checkpoint;   /* one at a time; taken before the store's change */
    pthread_mutex_t lock;         /* guards what follows */
    struct bale_session_list list;
    bool present; /* sessions.json existed when the store was opened */
    bool tainted;
};

/* Kept until the store is closed: readers hold no lock. */
struct bale_config_version {
    struct bale_store_config config;
    struct bale_config_version *older;
};

struct bale_store_lock {
    int fd;    /* holds the flock, or -1 */
    bool text; /* the text is ours: it is removed at release */
    bool link; /* no flock here: the name itself is the lock */
};

struct bale_store {
    char *path;
    enum bale_store_access how;
    int root_fd; /* O_PATH */
    int dir_fd;  /* .balefs, open for reading: for fsync and syncfs */
    int reserve_fd;
    struct bale_store_lock lock;
    pthread_mutex_t change; /* one change of .balefs at a time; taken before sessions.lock */
    json_t *volume;         /* volume.json as it is on disk; guarded by change */
    _Atomic(struct bale_config_version *) config;
    struct bale_sessions sessions;
    struct bale_store_abilities abilities;
    struct bale_store_totals totals;
    atomic_flag bad_setting_reported; /* one line about bad attributes is enough */
};

/* store_config.c */
int bale_config_read(struct bale_store *store, struct bale_reason *why);
void bale_config_free(struct bale_store *store);
/* A new volume.json's text as JSON; uuid is made. */
int bale_config_new(const struct bale_store_config *config, const char *path, json_t **json,
                    struct bale_reason *why);

/* store_session.c */
int bale_sessions_open(struct bale_store *store,
                       struct bale_reason *why); /* reads; starts a session for a writer */
int bale_sessions_close(struct bale_store *store, bool clean); /* does not free */
void bale_sessions_free(struct bale_store *store);
bool bale_session_certain(const void *store, uint32_t session);

/* store_lock.c: store->path and dir_fd are set. */
int bale_lock_take(struct bale_store *store, struct bale_reason *why);
void bale_lock_release(struct bale_store *store);

/* store_probe.c */
/* Refuses a directory where names that differ in case are the same: the store's own directory would have others,
 * and the kernel, which keeps what it looked up, does not know of it. */
int bale_store_check_case(const char *path, int dir, struct bale_reason *why);
void bale_store_probe(struct bale_store *store);

/* props.c. Splits "GLOB CODEC": the glob is line[0, *glob). Reason as bale_setting_parse gives it.
 * */
int bale_match_parse(const char *line, size_t *glob, struct bale_setting *setting,
                     struct bale_reason *reason);

#endif
