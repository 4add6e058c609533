/* Reading what a container holds past the damage in it: for commands that bring data out of a store
 * without a mount. */
#ifndef BALE_TOOLS_COMMON_CONTENTS_H
#define BALE_TOOLS_COMMON_CONTENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/reason.h"
#include "fs/base/pool.h"
#include "fs/container/container.h"
#include "tools/common/reader.h"

#define BALE_PIECE (1u << 20) /* bytes read at once, at most */

/* Ranges of a file that cannot be had, from any thread. */
struct bale_damage {
    pthread_mutex_t lock;
    struct bale_fault *faults;
    size_t count, room;
    bool overflow; /* there was no memory to note them all */
};

void bale_damage_init(struct bale_damage *damage);
void bale_damage_clear(struct bale_damage *damage);
bool bale_damage_any(struct bale_damage *damage);
/* A message for each range, ranges that touch as one: "PATH: bytes A to B are damaged (WHAT)END". */
void bale_damage_report(struct bale_damage *damage, const char *path, const char *end);

/* A file of the store, open for reading. A container that is being written meanwhile shows the
 * commit it was opened at; where that was written over, reading finds damage, and
 * bale_contents_moved tells it from true damage. */
struct bale_contents {
    const struct bale_reader *reader;
    struct bale_container *container;
    struct bale_container_attr attr;
};

/* fd is owned from here on, also on failure. why as bale_reader_open_container. */
int bale_contents_open(const struct bale_reader *reader, int fd, struct bale_contents *contents,
                       struct bale_reason *why);
void bale_contents_close(struct bale_contents *contents); /* zeroed is fine */

/* True if the container has another commit by now. */
bool bale_contents_moved(const struct bale_contents *contents);

/* The first data at or after at: [*from, *to), *to at most BALE_PIECE later; false: there is none.
 * What lies in a part of the index that cannot be read counts as data. */
bool bale_contents_next(const struct bale_contents *contents, uint64_t at, uint64_t *from,
                        uint64_t *to);

/* Reads [from, from + length) into raw; holes and what cannot be had are zeros. What cannot be had
 * is noted. 0, or BALE_E_NOMEM. From any thread. */
int bale_contents_read(const struct bale_contents *contents, struct bale_scratch *scratch,
                       uint64_t from, size_t length, uint8_t *raw, struct bale_damage *damage);

/* Reads the whole file in order with the pool's threads, ahead, and hands the pieces to take; a
 * hole comes as a piece without data. take returns 0 to go on; something else ends it and comes
 * back. take may be NULL. Not for a thread of the pool. */
typedef int bale_contents_take(void *arg, uint64_t from, const uint8_t *data, uint64_t length);
int bale_contents_stream(const struct bale_contents *contents, struct bale_pool *pool,
                         unsigned threads, struct bale_damage *damage, bale_contents_take *take,
                         void *arg);

#endif
