/* Programs whose work is cut short by a power loss, for power.sh, and what they were promised.
 *
 * An actor has a directory of its own and knows for each name and each file what it may be found
 * to be after a power loss: what it was when it was last made durable, or anything since. */
#ifndef BALE_TESTS_MOUNT_POWER_H
#define BALE_TESTS_MOUNT_POWER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    POWER_NAMES = 5,    /* names that a directory can have */
    POWER_DEPTH = 2,    /* of directories below the actor's */
    POWER_PLACES = 200, /* more than names in all of them */
    POWER_HELD = 3,     /* files left open */
    POWER_PATH = 4096 + 64,
    POWER_LINES = 1000,
    POWER_LINE = 160
};
#define POWER_SIZE ((size_t)192 << 10) /* of the largest file */
#define POWER_PAGE ((size_t)4096)

/* The versions from v[first] on may be found after the loss; v[first] is durable, the last is the
 * newest. */
struct versions {
    int64_t *v;
    size_t first, count, room;
};

struct blob {
    size_t size;
    uint8_t *data;
};

struct object {
    int64_t number;
    mode_t type; /* S_IFREG, S_IFDIR or S_IFLNK; 0: gone */
    ino_t ino;
    bool promised; /* one of its names at least */
    unsigned found;
    struct versions mode, owner, attribute, mtime; /* attribute and mtime: see power_check.c */
    struct versions content;                       /* regular: numbers of blobs, or -1: any */
    struct versions names[POWER_NAMES];            /* directory: numbers of objects, or -1 */
    char target[32];                               /* symbolic link */
};

/* A possible name in a directory that exists; it may be free. */
struct place {
    struct object *dir, *object;
    unsigned name, depth;
    char path[64]; /* below the actor's directory */
};

struct actor {
    unsigned number;
    char top[POWER_PATH]; /* in the mount */
    uint64_t random;
    struct object **objects; /* the first is the actor's directory */
    size_t objects_count;
    struct blob *blobs;
    size_t blobs_count;
    struct place places[POWER_PLACES];
    size_t places_count;
    int held[POWER_HELD];
    size_t faults, lines;
    char line[POWER_LINES][POWER_LINE];
};

extern atomic_bool power_lost; /* from when on calls may fail */
extern const char *power_mnt;
extern bool power_plain; /* POWER_PLAIN is set: neither O_TMPFILE nor RENAME_EXCHANGE */
/* POWER_BTRFS is set: names as btrfs keeps them (doc/durability.md). */
extern bool power_btrfs;

uint64_t power_random(struct actor *actor, uint64_t below);
void power_note(struct actor *actor, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The first tells what the actor did. */
void power_fault(struct actor *actor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- power_promise.c ---- */

void power_push(struct versions *versions, int64_t value);
int64_t power_now(const struct versions *versions);
/* From now on only this version may be found after a loss. */
void power_set(struct versions *versions, int64_t value);
struct object *power_object(struct actor *actor, mode_t type, mode_t mode);
int64_t power_blob(struct actor *actor, size_t size);
/* Lists all places there are now. */
void power_list(struct actor *actor);

/* What a sync that succeeded promises. */
void power_promise_data(struct actor *actor, const struct place *place);
void power_promise_file(struct actor *actor, const struct place *place);
/* place: NULL for the actor's directory. */
void power_promise_dir(struct actor *actor, const struct place *place);
void power_promise_all(struct actor *actor);
/* Names of the object were removed: after a loss it may be gone. */
void power_promise_less(struct actor *actor, struct object *object);

/* ---- power_data.c, power_work.c: false: a call failed, which is no fault after the loss ---- */

struct power_path {
    char text[POWER_PATH];
};

/* place: NULL for the actor's directory. */
struct power_path power_path_of(const struct actor *actor, const struct place *place);
/* Writes somewhere in the file. */
bool power_write(struct actor *actor, struct object *object, int fd);
/* Syncs the file, or not. */
bool power_sync_some(struct actor *actor, const struct place *place, int fd);
/* Closes fd, or leaves it open for a while. good: whether all went well so far. */
bool power_leave(struct actor *actor, int fd, bool good);
/* Does something to the data of a file. kind: 0 to 33, which operation. */
bool power_data(struct actor *actor, const struct place *place, unsigned kind);
/* balefs sync of the mount */
bool power_sync(void);
/* Does one operation at random. */
bool power_step(struct actor *actor);

/* ---- power_check.c ---- */

/* Checks that everything promised is there, and begins the next round with what was found. killed:
 * only the daemon was killed, nothing was lost, and what is found need not be durable. */
void power_check(struct actor *actor, bool killed);

#endif
