/* A random model test: the same operations in a mount and in a plain directory, which must stay
 * alike. */
#ifndef BALE_TESTS_MOUNT_MODEL_H
#define BALE_TESTS_MOUNT_MODEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOUNT = 0, PLAIN = 1, SIDES = 2 };
enum { MODEL_HANDLES = 4, MODEL_NAMES = 9, MODEL_SHARED = 3, MODEL_LINES = 60, MODEL_LINE = 200 };

#define MODEL_BUFFER ((size_t)1 << 20)
#define MODEL_PAST 1500000000 /* times that are set lie before, seconds */

/* One open file, on both sides. */
struct model_handle {
    int fd[SIDES]; /* -1: closed */
    bool append;
};

struct model_actor {
    unsigned number;
    uint64_t random;
    int root[SIDES];
    struct model_handle handles[MODEL_HANDLES];
    char names[MODEL_NAMES][32];
    uint8_t *buffer[SIDES];
    char lines[MODEL_LINES][MODEL_LINE]; /* what it did last */
    uint64_t line;
};

/* Shared files: whole-file operations hold the lock exclusively, writes inside one region hold
 * it shared and the region's lock. */
enum { MODEL_REGIONS = 24, MODEL_REGION = 50021 };
struct model_shared {
    pthread_rwlock_t lock;
    pthread_mutex_t regions[MODEL_REGIONS];
    char name[32];
};

extern atomic_bool model_failed;
extern struct model_shared model_shared[MODEL_SHARED];

uint64_t model_random(struct model_actor *actor, uint64_t below);
bool model_chance(struct model_actor *actor, unsigned percent);

/* Remembers what is about to be done, for the report of a failure. */
void model_note(struct model_actor *actor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports a difference, with what the actor did last; every actor stops. */
void model_fail(struct model_actor *actor, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- model_data.c: operations on an open file ---- */

bool model_handle_open(struct model_actor *actor, struct model_handle *handle, const char *name,
                       int flags);
void model_handle_close(struct model_actor *actor, struct model_handle *handle);
/* The length of the plain file. */
uint64_t model_size(const struct model_handle *handle);
/* Any of the operations below, by chance. */
void model_data(struct model_actor *actor, struct model_handle *handle);
/* A write or a read inside [from, from + length), for files that several actors change. */
void model_region(struct model_actor *actor, struct model_handle *handle, uint64_t from,
                  uint64_t length);

/* ---- model_seek.c ---- */

void model_seek(struct model_actor *actor, struct model_handle *handle);

/* ---- model_names.c: operations on names ---- */

void model_names(struct model_actor *actor);

/* ---- model_compare.c ---- */

/* Compares two trees: names, types, sizes, modes, links, contents, holes, extended attributes
 * and, with times, modification times that were set. The number of differences, each printed. */
unsigned model_compare(int mount, int plain, bool times);

#endif
